//! What a request needs.

use axum::http::Method;

use super::scope::Scope;

/// What a request has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: it tells nothing and changes nothing.
    Nothing,
    /// A signature, which the route checks itself.
    Signature,
    /// A token.
    Token(Scope),
}

/// Pages and probes, which say nothing about instances.
const OPEN: &[&str] = &[
    "/",
    "/home.js",
    "/pages.css",
    "/docs",
    "/docs/docs.js",
    "/healthz",
    "/readyz",
    "/openapi.json",
];

/// What only an administrator changes.
const DEFINED: &[&str] =
    &["/v1/workflows", "/v1/event-definitions", "/v1/triggers", "/v1/webhooks", "/v1/sinks"];

/// What a request needs, by its method and the route that it reached. Whatever is not known needs a
/// token too, so that nobody learns which routes there are.
pub(super) fn need(method: &Method, route: Option<&str>) -> Need {
    let route = route.unwrap_or_default();
    let reads = *method == Method::GET || *method == Method::HEAD;
    if reads && OPEN.contains(&route) {
        return Need::Nothing;
    }
    if *method == Method::POST && route == "/v1/hooks/{name}" {
        return Need::Signature;
    }
    let is_under = |part: &str| {
        route.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let changes_definitions = *method != Method::POST || is_under("/v1/sinks");
    let scope = if is_under("/v1/tokens") {
        Scope::Admin
    } else if reads || matches!(route, "/v1/access-tokens" | "/v1/workflows/validate") {
        Scope::Read
    } else if changes_definitions && DEFINED.iter().any(|part| is_under(part)) {
        Scope::Admin
    } else {
        Scope::Write
    };
    Need::Token(scope)
}

/// Whether a route may be asked with a short-lived token in its address.
pub(super) fn is_stream(method: &Method, route: Option<&str>) -> bool {
    let is_one = |route: &str| route.ends_with("/stream") || route.ends_with("/streams");
    *method == Method::GET && route.is_some_and(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_route_needs_what_it_does() {
        let token = Need::Token;
        for (method, route, expect) in [
            (Method::GET, "/healthz", Need::Nothing),
            (Method::HEAD, "/", Need::Nothing),
            (Method::POST, "/healthz", token(Scope::Write)),
            (Method::GET, "/metrics", token(Scope::Read)),
            (Method::POST, "/v1/hooks/{name}", Need::Signature),
            (Method::GET, "/v1/hooks/{name}", token(Scope::Read)),
            (Method::GET, "/v1/instances", token(Scope::Read)),
            (Method::POST, "/v1/workflows/{name}/instances", token(Scope::Write)),
            (Method::POST, "/v1/workflows/validate", token(Scope::Read)),
            (Method::PUT, "/v1/workflows/{name}", token(Scope::Admin)),
            (Method::DELETE, "/v1/triggers/{name}", token(Scope::Admin)),
            (Method::POST, "/v1/triggers/{name}/replay", token(Scope::Write)),
            (Method::POST, "/v1/sinks/{name}/pause", token(Scope::Admin)),
            (Method::PATCH, "/v1/subscriptions/{id}", token(Scope::Write)),
            (Method::GET, "/v1/tokens", token(Scope::Admin)),
            (Method::POST, "/v1/tokens", token(Scope::Admin)),
            (Method::POST, "/v1/access-tokens", token(Scope::Read)),
            (Method::GET, "", token(Scope::Read)),
            (Method::POST, "", token(Scope::Write)),
        ] {
            assert_eq!(need(&method, Some(route)), expect, "{method} {route}");
        }
        assert_eq!(need(&Method::GET, None), token(Scope::Read));
    }
}
