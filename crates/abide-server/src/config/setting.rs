//! One setting: its name, what it takes, and where its value lives. Reading, writing, showing and
//! documenting all go by the same place, so they can't disagree.

use std::time::Duration;

use abide_server::ConfiguredToken;

use super::Configuration;
use super::secret::without_secrets;
use super::telemetry::show_headers;
use super::written::{NONE, Written, show_bytes, show_duration, show_tokens};

/// See the module.
pub(super) struct Setting {
    /// `table.key`, camelCase.
    pub(super) name: &'static str,
    /// What it is for, and why one would change it.
    pub(super) about: &'static str,
    pub(super) takes: Takes,
}

/// Where a value lives.
type At<T> = fn(&mut Configuration) -> &mut T;

/// What a setting takes, and where it goes.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    Duration(At<Duration>),
    DurationOrNone(At<Option<Duration>>),
    Bytes(At<usize>),
    BytesOrNone(At<Option<u64>>),
    Count(At<usize>),
    Small(At<u32>),
    Rows(At<i64>),
    CountOrNone(At<Option<u64>>),
    Flag(At<bool>),
    Text(At<String>),
    AddressOrNone(At<Option<String>>),
    List(At<Vec<String>>),
    /// A list whose items hold secrets.
    Headers(At<Vec<String>>),
    Tokens(At<Vec<ConfiguredToken>>),
}

impl Takes {
    /// What a person has to write.
    pub(super) fn wanted(self) -> &'static str {
        match self {
            Self::Duration(_) => "duration",
            Self::DurationOrNone(_) => "duration or `\"none\"`",
            Self::Bytes(_) => "size",
            Self::BytesOrNone(_) => "size or `\"none\"`",
            Self::Count(_) | Self::Small(_) | Self::Rows(_) => "number",
            Self::CountOrNone(_) => "number or `\"none\"`",
            Self::Flag(_) => "`true` or `false`",
            Self::Text(_) => "text",
            Self::AddressOrNone(_) => "address or `\"none\"`",
            Self::List(_) | Self::Headers(_) => "list of texts",
            Self::Tokens(_) => "list of `{name, hash, scopes}`",
        }
    }

    /// Whether what is written may not be repeated.
    pub(super) fn is_secret(self) -> bool {
        matches!(self, Self::Headers(_))
    }

    /// Sets it.
    pub(super) fn set(self, to: &mut Configuration, written: &Written) -> Result<(), String> {
        let too_large = |_| "it is too large".to_owned();
        match self {
            Self::Duration(at) => *at(to) = written.duration()?,
            Self::DurationOrNone(at) => *at(to) = or_none(written, Written::duration)?,
            Self::Bytes(at) => *at(to) = written.bytes()?.try_into().map_err(too_large)?,
            Self::BytesOrNone(at) => *at(to) = or_none(written, Written::bytes)?,
            Self::Count(at) => *at(to) = written.count()?.try_into().map_err(too_large)?,
            Self::Small(at) => *at(to) = written.count()?.try_into().map_err(too_large)?,
            Self::Rows(at) => *at(to) = written.count()?.try_into().map_err(too_large)?,
            Self::CountOrNone(at) => *at(to) = or_none(written, Written::count)?,
            Self::Flag(at) => *at(to) = written.flag()?,
            Self::Text(at) => *at(to) = written.text()?,
            Self::AddressOrNone(at) => *at(to) = or_none(written, Written::text)?,
            Self::List(at) | Self::Headers(at) => *at(to) = written.list()?,
            Self::Tokens(at) => *at(to) = written.tokens()?,
        }
        Ok(())
    }

    /// What it is set to, as TOML.
    pub(super) fn show(self, of: &mut Configuration) -> String {
        let none = || format!("{NONE:?}");
        let quoted = |text: String| format!("{text:?}");
        match self {
            Self::Duration(at) => quoted(show_duration(*at(of))),
            Self::DurationOrNone(at) => at(of).map_or_else(none, |it| quoted(show_duration(it))),
            Self::Bytes(at) => quoted(show_bytes(*at(of) as u64)),
            Self::BytesOrNone(at) => at(of).map_or_else(none, |it| quoted(show_bytes(it))),
            Self::Count(at) => at(of).to_string(),
            Self::Small(at) => at(of).to_string(),
            Self::Rows(at) => at(of).to_string(),
            Self::CountOrNone(at) => at(of).map_or_else(none, |it| it.to_string()),
            Self::Flag(at) => at(of).to_string(),
            Self::Text(at) => format!("{:?}", at(of)),
            Self::AddressOrNone(at) => {
                let shown = at(of).as_deref().map(without_secrets);
                shown.map_or_else(none, quoted)
            }
            Self::List(at) => format!("{:?}", at(of)),
            Self::Headers(at) => show_headers(at(of)),
            Self::Tokens(at) => show_tokens(at(of)),
        }
    }
}

fn or_none<T>(
    written: &Written,
    read: fn(&Written) -> Result<T, String>,
) -> Result<Option<T>, String> {
    if written.is_none() { Ok(None) } else { read(written).map(Some) }
}

impl Setting {
    /// `ABIDE_SERVER_MAX_BODY` for `server.maxBody`.
    pub(super) fn variable(&self) -> String {
        let mut name = "ABIDE_".to_owned();
        for c in self.name.chars() {
            match c {
                '.' => name.push('_'),
                c if c.is_ascii_uppercase() => name.extend(['_', c]),
                c => name.push(c.to_ascii_uppercase()),
            }
        }
        name
    }

    /// `server` and `maxBody` of `server.maxBody`.
    pub(super) fn parts(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or(("", self.name))
    }
}
