//! What expressions promise, by tables.
