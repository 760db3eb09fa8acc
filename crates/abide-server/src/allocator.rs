//! The allocator, and how it is made to give memory back.
//!
//! Many small allocations on many threads: the system's allocator is slower and keeps more. Left to
//! itself mimalloc also keeps what one thread allocated and another freed, until the first has been
//! through its slow path ten thousand times: after a crowd of instances has left memory, the process
//! would stay as large as it ever was. The settings that change this are read from the environment
//! only, at the very start.

use std::env;
use std::process::Command;

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Look for what others freed often, give it back soon, and don't ask for huge pages, which can be
/// given back only as a whole. No step/s are lost by it.
const SETTINGS: [(&str, &str); 3] = [
    ("MIMALLOC_GENERIC_COLLECT", "200"),
    ("MIMALLOC_PURGE_DELAY", "100"),
    ("MIMALLOC_ALLOW_THP", "0"),
];

/// Starts this program once more, in place, with the settings that are missing. Whatever the user
/// set stays. If that is not possible, the program goes on as it is: it only takes more memory.
pub(crate) fn apply_settings() {
    let missing: Vec<_> =
        SETTINGS.into_iter().filter(|(name, _)| env::var_os(name).is_none()).collect();
    if missing.is_empty() {
        return;
    }
    #[cfg(unix)]
    if let Ok(program) = env::current_exe() {
        use std::os::unix::process::CommandExt;
        let mut arguments = env::args_os();
        let mut again = Command::new(program);
        if let Some(name) = arguments.next() {
            again.arg0(name);
        }
        // Answers only if it failed.
        let _ = again.args(arguments).envs(missing).exec();
    }
}
