//! The store on SQLite: one file, owned by one process, as durable as its disk.
//!
//! ```text
//!   verbs that write ──▶ queue ──▶ writer thread ──▶ one transaction per batch ──▶ hints, answers
//!   verbs that read  ──▶ pool of reader threads, each with a read-only connection
//! ```
//!
//! Speed comes from group commit: whatever is queued while one transaction syncs becomes the next
//! one. A step of a claimed instance costs one `INSERT` and no look-up, because the lock on the
//! file makes this process the only owner, and claims with their sequence numbers live in memory.
//!
//! No runtime is needed: answers are plain futures that any executor may poll.

mod census;
mod chunks;
mod claims;
mod documents;
mod failure;
mod fanouts;
mod file;
mod inbox;
mod log;
mod look;
mod lookbacks;
mod options;
mod outputs;
mod paths;
mod queue;
mod reader;
mod row;
mod schema;
mod search;
mod shapes;
mod stats;
mod store;
mod tail;
mod waiting;
mod waits;
mod writer;

pub use look::Look;
pub use options::Options;
pub use stats::Stats;
pub use store::SqliteStore;
