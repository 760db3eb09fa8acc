//! The memory of a process, as the kernel counts it.

use std::time::{Duration, Instant};

use crate::error::Error;

/// The memory of a process counts as settled when it has not changed for this long.
const CALM: Duration = Duration::from_secs(2);

/// Less than this is no change.
const NOISE_BYTES: u64 = 64 * 1024;

/// How long memory may take to settle.
const PATIENCE: Duration = Duration::from_secs(120);

/// Resident memory in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    pub(crate) peak: u64,
}

impl Memory {
    /// `None` where there is no `/proc`.
    pub(crate) fn now() -> Option<Self> {
        Self::of("self")
    }

    fn of(process: &str) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?)
    }

    /// Lets the peak begin anew at what is resident now. Where that can't be done, it is the peak of
    /// the whole process.
    pub(crate) fn forget_peak() {
        const PEAK: &str = "5";
        let _ = std::fs::write("/proc/self/clear_refs", PEAK);
    }

    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kib * 1024)
        };
        Some(Self { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}

/// The memory of this process, without which there is nothing to measure.
pub(crate) fn needed() -> Result<Memory, Error> {
    needed_of("self")
}

fn needed_of(process: &str) -> Result<Memory, Error> {
    let unreadable = || Error::Refused("memory is read from /proc, so this needs Linux".into());
    Memory::of(process).ok_or_else(unreadable)
}

/// Waits until memory no longer changes.
pub(crate) async fn settled() -> Result<Memory, Error> {
    settled_of("self").await
}

/// The same of another process.
pub(crate) async fn settled_as(process: Option<u32>) -> Result<Memory, Error> {
    let gone = || Error::Unexpected("the process has ended".to_owned());
    settled_of(&process.ok_or_else(gone)?.to_string()).await
}

async fn settled_of(process: &str) -> Result<Memory, Error> {
    let began = Instant::now();
    let mut calm_since = began;
    let mut known = needed_of(process)?;
    while calm_since.elapsed() < CALM && began.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = needed_of(process)?;
        if now.resident.abs_diff(known.resident) > NOISE_BYTES {
            (known, calm_since) = (now, Instant::now());
        }
    }
    needed_of(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kib_of_the_kernel_become_bytes() {
        let status = "Name:\tabide\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\nThreads:\t4\n";
        let memory = Memory::parse(status).unwrap();
        assert_eq!((memory.resident, memory.peak), (1 << 20, 2 << 20));
        assert!(Memory::parse("VmRSS:\t1024 kB\n").is_none());
    }
}
