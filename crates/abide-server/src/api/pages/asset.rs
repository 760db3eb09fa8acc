//! A file that is part of the program.

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};

/// Pages may load what this server has and nothing else, run no script that stands in a page, and be
/// shown in no other page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file and what it is.
#[derive(Clone, Copy)]
pub(super) struct Asset {
    media: &'static str,
    text: &'static str,
}

impl Asset {
    pub(super) const fn html(text: &'static str) -> Self {
        Self { media: "text/html; charset=utf-8", text }
    }

    pub(super) const fn script(text: &'static str) -> Self {
        Self { media: "text/javascript; charset=utf-8", text }
    }

    pub(super) const fn style(text: &'static str) -> Self {
        Self { media: "text/css; charset=utf-8", text }
    }
}

impl IntoResponse for Asset {
    fn into_response(self) -> Response {
        let headers: [(HeaderName, &str); 4] = [
            (header::CONTENT_TYPE, self.media),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-cache"),
        ];
        (headers, self.text).into_response()
    }
}
