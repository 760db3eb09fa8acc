//! What an instance is doing.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal, { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),*
        }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word used in SQL, HTTP and logs.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;
            fn from_str(word: &str) -> Result<Self, $crate::Error> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::Error::Invalid {
                        what: $what.into(),
                        message: format!("{word:?} is not one of {}", [$($word),*].join(", ")),
                    }),
                }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// The status of an instance: the first of these that holds.
    Status, "status", {
        /// The function returned a result.
        Completed = "completed",
        /// The function failed, or a limit ended it.
        Errored = "errored",
        /// It was ended from outside.
        Terminated = "terminated",
        /// It was paused and moves on when resumed.
        Paused = "paused",
        /// It has not begun: `start_at`, a limit, or no node knows its version.
        Queued = "queued",
        /// An attempt runs or a poll is due.
        Running = "running",
        /// It waits for an event, signal, message, child or output.
        Waiting = "waiting",
        /// It sleeps, or waits before a retry.
        Sleeping = "sleeping",
    }
}

impl Status {
    /// Whether the instance has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Errored | Self::Terminated)
    }
}

words! {
    /// What an instance is doing underneath a pause. [`Status`] is this, or `paused`.
    Phase, "phase", {
        /// See [`Status::Completed`].
        Completed = "completed",
        /// See [`Status::Errored`].
        Errored = "errored",
        /// See [`Status::Terminated`].
        Terminated = "terminated",
        /// See [`Status::Queued`].
        Queued = "queued",
        /// See [`Status::Running`].
        Running = "running",
        /// See [`Status::Waiting`].
        Waiting = "waiting",
        /// See [`Status::Sleeping`].
        Sleeping = "sleeping",
    }
}

impl Phase {
    /// The status this phase shows as.
    #[must_use]
    pub fn status(self, paused: bool) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Errored => Status::Errored,
            Self::Terminated => Status::Terminated,
            _ if paused => Status::Paused,
            Self::Queued => Status::Queued,
            Self::Running => Status::Running,
            Self::Waiting => Status::Waiting,
            Self::Sleeping => Status::Sleeping,
        }
    }

    /// Whether the instance has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self.status(false).is_terminal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse::<Status>().unwrap(), *status);
        }
        let message = "done".parse::<Status>().unwrap_err().to_string();
        assert!(message.contains("done") && message.contains("completed"), "{message}");
    }

    #[test]
    fn a_pause_hides_everything_but_the_end() {
        for phase in Phase::ALL {
            let shown = phase.status(true);
            assert!(shown == Status::Paused || (shown.is_terminal() && phase.is_terminal()));
        }
    }
}
