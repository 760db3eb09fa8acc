//! Tests of what only the writer itself can provoke.
