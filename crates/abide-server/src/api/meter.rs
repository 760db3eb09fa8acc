//! How many requests were answered, by route and status.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use axum::http::{Method, StatusCode};
use parking_lot::Mutex;

/// Counts by `(method, route, status)`. Routes are patterns, so there are few; whatever fits none is
/// counted as one.
#[derive(Default)]
pub(super) struct Meter(Mutex<BTreeMap<(&'static str, String, u16), u64>>);

impl Meter {
    pub(super) fn count(&self, method: &Method, route: Option<&str>, status: StatusCode) {
        let key = (known(method), route.unwrap_or("none").to_owned(), status.as_u16());
        *self.0.lock().entry(key).or_default() += 1;
    }

    /// Adds them to a page of metrics.
    pub(super) fn write(&self, page: &mut String) {
        page.push_str("# HELP abide_http_requests_total Requests answered.\n");
        page.push_str("# TYPE abide_http_requests_total counter\n");
        for ((method, route, status), count) in self.0.lock().iter() {
            let _ = writeln!(
                page,
                "abide_http_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"
            );
        }
    }
}

/// A client may invent methods; they are not worth a line each.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
