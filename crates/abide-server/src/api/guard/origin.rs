//! A server without tokens is for those who sit at its machine. A web page that they look at must not
//! drive it: it can send requests, but it can't hide its `Origin`, name another `Host` than its own, or
//! send JSON without being asked for permission first.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};

use crate::api::body::{is_json, media_type, unsupported};
use crate::api::error::ApiError;
use crate::settings::Settings;

/// Refuses what a web page could have sent.
pub(super) fn check(request: &Request, settings: &Settings) -> Result<(), ApiError> {
    let hosts = hosts(request);
    if !settings.insecure && (hosts.is_empty() || !hosts.iter().all(|host| is_loopback(host))) {
        return Err(forbidden(
            "without tokens the server is only for its own machine: call it as localhost, or make a \
             token with `abide token new`",
        ));
    }
    let headers = request.headers();
    for origin in headers.get_all(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        let is_own = hosts.contains(&host.to_ascii_lowercase());
        if !is_own && !is_loopback(host) && !settings.cors.iter().any(|known| known == origin) {
            return Err(forbidden(
                "the page's origin is not allowed; `server.cors` names those that are",
            ));
        }
    }
    if has_body(headers) && !is_declared(headers) {
        return Err(unsupported(
            "application/json, application/yaml or application/cloudevents+json",
        ));
    }
    Ok(())
}

fn forbidden(message: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
}

/// Everything that says whom the request is for, in lower case.
fn hosts(request: &Request) -> Vec<String> {
    let named = request.headers().get_all(header::HOST).iter();
    let named = named.map(|host| host.to_str().unwrap_or_default());
    let addressed = request.uri().authority().map(|authority| authority.as_str());
    named.chain(addressed).map(str::to_ascii_lowercase).collect()
}

/// Whether a host, with or without a port, is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else { return false };
            return is_port(port) && address.parse().is_ok_and(|ip: Ipv6Addr| ip.is_loopback());
        }
        None => match host.split_once(':') {
            Some((name, port)) if is_port(&format!(":{port}")) => name,
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback())
}

/// Nothing, or a colon and digits.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).map(|length| length.as_bytes() != b"0");
    length.unwrap_or(headers.contains_key(header::TRANSFER_ENCODING))
}

/// Whether the body is of a kind that a page may not send without being allowed to.
fn is_declared(headers: &HeaderMap) -> bool {
    let media = media_type(headers);
    let is_yaml = matches!(
        media.as_str(),
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml"
    ) || media.ends_with("+yaml");
    is_json(headers) || is_yaml || headers.contains_key("ce-specversion")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for host in ["localhost", "LOCALHOST:7878", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:80"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "localhost.example.com",
            "localhost:80@evil",
            "127.0.0.1.nip.io",
            "0.0.0.0",
            "[::]",
            "[::1",
            "[::1]x",
            "10.0.0.1:7878",
            "evil:localhost",
            "128.0.0.1",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
