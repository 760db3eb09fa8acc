//! Answers that are bytes as they come.

use std::io;

use ::bytes::Bytes;
use axum::body::Body;
use axum::http::header::{self, HeaderName};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, StreamExt};

use crate::api::app::App;

/// Sends the pieces of a text as they come. An error ends the response abnormally: whoever reads can't be
/// told in another way.
pub(super) fn answer(
    app: &App,
    pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let reader = app.readers().bytes.one_more();
    let until_error = pieces.scan((false, reader), |(broken, _), piece| {
        let over = std::mem::replace(broken, piece.is_err());
        std::future::ready((!over).then_some(piece))
    });
    (headers, Body::from_stream(until_error)).into_response()
}
