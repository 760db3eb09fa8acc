//! Lines of a process, as they come.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than anything takes here; whoever waits so long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// See the module.
pub(crate) struct Lines {
    coming: Receiver<String>,
    /// Those that were read, for whoever wants to know why something did not come.
    seen: Vec<String>,
}

impl Lines {
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, coming) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { coming, seen: Vec::new() }
    }

    /// The next line that has this in it.
    #[track_caller]
    pub(crate) fn until(&mut self, part: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.coming.recv_timeout(left) else {
                panic!("{part:?} did not come after\n{}", self.seen.join("\n"));
            };
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Everything up to the end of the process.
    pub(crate) fn rest(mut self) -> Vec<String> {
        while let Ok(line) = self.coming.recv_timeout(PATIENCE) {
            self.seen.push(line);
        }
        self.seen
    }
}
