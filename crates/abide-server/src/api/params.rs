//! What routes take in their query.

use std::time::Duration;

use abide::Status;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::app::App;
use super::error::ApiError;

/// The query of a request, refused with the name of what is wrong.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        Query::try_from_uri(&parts.uri)
            .map(|Query(params)| Self(params))
            .map_err(|refused| ApiError::invalid(refused.body_text()))
    }
}

/// The parts of a path.
pub(super) struct At<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for At<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let path = Path::from_request_parts(parts, app).await;
        path.map(|Path(path)| Self(path)).map_err(|refused| ApiError::invalid(refused.body_text()))
    }
}

/// A duration such as `30s` or `5 minutes`, or a number of milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpanVisitor)
    }
}

struct SpanVisitor;

impl serde::de::Visitor<'_> for SpanVisitor {
    type Value = Span;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a duration such as \"30s\", or a number of milliseconds, 0 or more")
    }

    fn visit_u64<E: serde::de::Error>(self, ms: u64) -> Result<Span, E> {
        Ok(Span(Duration::from_millis(ms)))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Span, E> {
        abide::parse_duration(text).map(Span).map_err(E::custom)
    }
}

/// A duration in a query, where a number can't be told from a text: digits alone are milliseconds.
/// `#[serde(default, deserialize_with = "params::span_in_query")]`
pub(super) fn span_in_query<'de, D>(deserializer: D) -> Result<Option<Span>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    let span = match text.parse() {
        Ok(ms) => Duration::from_millis(ms),
        Err(_) => abide::parse_duration(&text).map_err(serde::de::Error::custom)?,
    };
    Ok(Some(Span(span)))
}

/// How many of a list, within bounds.
pub(super) fn limit(asked: Option<usize>, default: usize) -> Result<usize, ApiError> {
    const MOST: usize = 1000;
    match asked {
        None => Ok(default),
        Some(limit @ 1..=MOST) => Ok(limit),
        Some(other) => Err(ApiError::invalid(format!("limit is {other}; it must be 1 to {MOST}"))),
    }
}

/// A number that an earlier answer gave as `nextCursor`.
pub(super) fn cursor(asked: Option<&str>) -> Result<Option<i64>, ApiError> {
    let wrong = || ApiError::invalid("cursor is not one that an answer gave as `nextCursor`");
    asked.map(|text| text.parse().map_err(|_| wrong())).transpose()
}

/// What older systems call a status; `docs/coming-from.md` has the same table.
const OLDER_WORDS: &[(&[Status], &[&str])] = &[
    (&[Status::Completed], &["complete", "success"]),
    (
        &[Status::Errored],
        &[
            "error",
            "failed",
            "failure",
            "timedout",
            "timed_out",
            "max_recovery_attempts_exceeded",
            "retries_exceeded",
        ],
    ),
    (&[Status::Terminated], &["cancelled", "canceled"]),
    (&[Status::Queued], &["created", "enqueued", "pending"]),
    (
        &[Status::Waiting],
        &[
            "waiting_for_event",
            "waitingforevent",
            "waiting_for_signal",
            "waiting_for_message",
            "suspended",
        ],
    ),
    (&[Status::Paused], &["waitingforpause"]),
    (&[Status::Queued, Status::Running, Status::Waiting, Status::Sleeping], &["active"]),
];

/// Statuses separated by commas, in any case. The words of older systems are understood.
pub(super) fn statuses(asked: Option<&str>) -> Result<Vec<Status>, ApiError> {
    let mut statuses = Vec::new();
    for word in asked.into_iter().flat_map(|text| text.split(',')).map(str::trim) {
        let word = word.to_ascii_lowercase();
        if word.is_empty() {
            return Err(ApiError::invalid("status is empty"));
        }
        match OLDER_WORDS.iter().find(|(_, words)| words.contains(&&*word)) {
            Some((meant, _)) => statuses.extend_from_slice(meant),
            None => statuses.push(word.parse()?),
        }
    }
    Ok(statuses)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of each system, and what they mean where that is another word.
    const SYSTEMS: &[&str] = &[
        "Cloudflare: queued running paused errored terminated waiting complete=completed \
         waitingForPause=paused",
        "ablauf: created=queued running completed errored paused sleeping waiting terminated",
        "bullmq-workflows: queued running paused complete=completed errored terminated waiting",
        "deco: pending=queued enqueued=queued running completed success=completed error=errored \
         cancelled=terminated sleeping waiting_for_signal=waiting waiting_for_message=waiting",
        "durable-effect: Pending=queued Queued=queued Running=running Completed=completed \
         Failed=errored Cancelled=terminated",
        "augmented-os: CREATED=queued RUNNING=running COMPLETED=completed FAILED=errored \
         CANCELLED=terminated WAITING_FOR_EVENT=waiting",
        "DBOS: ENQUEUED=queued SUCCESS=completed ERROR=errored CANCELLED=terminated \
         MAX_RECOVERY_ATTEMPTS_EXCEEDED=errored RETRIES_EXCEEDED=errored",
        "Inngest: Running=running Completed=completed Failed=errored Cancelled=terminated",
        "Temporal: Running=running Completed=completed Failed=errored Canceled=terminated \
         Terminated=terminated TimedOut=errored timed_out=errored",
        "others: failure=errored suspended=waiting WaitingForEvent=waiting",
    ];

    #[test]
    fn each_word_of_older_systems_is_understood() {
        let mut tried = vec!["active".to_owned()];
        for system in SYSTEMS {
            for pair in system.split(' ').skip(1) {
                let (word, meant) = pair.split_once('=').unwrap_or((pair, pair));
                let read = statuses(Some(word)).unwrap();
                assert_eq!(read, [meant.parse::<Status>().unwrap()], "{word} of {system}");
                tried.push(word.to_ascii_lowercase());
            }
        }
        let living = [Status::Queued, Status::Running, Status::Waiting, Status::Sleeping];
        assert_eq!(statuses(Some("active")).unwrap(), living);
        for word in OLDER_WORDS.iter().flat_map(|(_, words)| *words) {
            assert!(tried.iter().any(|tried| tried == word), "{word} is not tried");
        }
    }

    #[test]
    fn several_statuses_are_separated_by_commas_and_what_is_none_is_refused() {
        let both = statuses(Some("completed, FAILED")).unwrap();
        assert_eq!(both, [Status::Completed, Status::Errored]);
        assert!(statuses(None).unwrap().is_empty());
        for none in ["done", "", "completed,", "unknown"] {
            assert!(statuses(Some(none)).is_err(), "{none:?}");
        }
    }

    #[test]
    fn the_guide_has_the_same_words() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path.join("../../docs/coming-from.md")).unwrap();
        let section = text.split_once("\n## Words for statuses\n").unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let quoted = |cell: &str| -> Vec<String> {
            cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let mut told: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
            told.push((quoted(cells[1]), quoted(cells[0])));
        }
        let known: Vec<(Vec<String>, Vec<String>)> = OLDER_WORDS
            .iter()
            .map(|(meant, words)| {
                let meant = meant.iter().map(|status| status.as_str().to_owned()).collect();
                (meant, words.iter().map(|word| (*word).to_owned()).collect())
            })
            .collect();
        assert_eq!(told, known);
    }

    #[test]
    fn a_span_is_text_or_milliseconds() {
        let read = |text: &str| serde_json::from_str::<Span>(text).map(|span| span.0);
        assert_eq!(read("\"5s\"").unwrap(), Duration::from_secs(5));
        assert_eq!(read("\"1 minute\"").unwrap(), Duration::from_secs(60));
        assert_eq!(read("250").unwrap(), Duration::from_millis(250));
        for wrong in ["\"soon\"", "\"250\"", "-1", "\"-1s\"", "1.5", "null", "[]"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let refused = read("-1").unwrap_err().to_string();
        assert!(
            refused.contains("-1") && refused.contains("a number of milliseconds"),
            "{refused}"
        );
    }

    #[test]
    fn a_span_in_a_query_may_be_digits() {
        #[derive(Deserialize)]
        struct Asked {
            #[serde(default, deserialize_with = "span_in_query")]
            timeout: Option<Span>,
        }
        let read = |query: &str| {
            let uri = format!("/?{query}").parse().unwrap();
            Query::<Asked>::try_from_uri(&uri).map(|Query(asked)| asked.timeout)
        };
        assert_eq!(read("timeout=5s").unwrap(), Some(Span(Duration::from_secs(5))));
        assert_eq!(read("timeout=250").unwrap(), Some(Span(Duration::from_millis(250))));
        assert_eq!(read("").unwrap(), None);
        assert!(read("timeout=").is_err() && read("timeout=-1").is_err());
    }
}
