//! The memory of this process, as the kernel counts it.

/// Resident memory in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    pub(crate) peak: u64,
}

impl Memory {
    /// `None` where there is no `/proc`.
    pub(crate) fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/self/status").ok()?)
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
