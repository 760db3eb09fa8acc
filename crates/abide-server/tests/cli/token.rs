//! Tokens: made in a store or by a server, and asked for from then on.

use crate::program::{abide, refusal, stdout};
use crate::server::{GREET, Place};

#[test]
fn the_first_token_is_made_in_a_store_and_opens_the_server() {
    let place = Place::with(&[GREET]);
    let store = place.store();
    let said = refusal(&["token", "new", "--store", &store, "--scopes", "read"]);
    assert!(said.contains("admin"), "{said}");
    let made = stdout(&abide(&["token", "new", "--store", &store, "--name", "me"]));
    let admin = made.trim();
    assert!(admin.starts_with("abd_"), "{made}");
    let server = place.serve();
    assert!(server.refused(&["list"]).contains("UNAUTHORIZED"));
    assert!(server.refused(&["list", "--token", "abd_wrong"]).contains("UNAUTHORIZED"));
    server.told(&["list", "--token", admin]);
    let of = |scopes: &str| {
        let new = ["token", "new", "--scopes", scopes, "--expires-in", "1 hour", "--token", admin];
        server.told(&new).trim().to_owned()
    };
    let (read, write) = (of("read"), of("read,write"));
    let start = ["start", "greet", "--input", "{\"name\": 1}", "--token"];
    assert!(server.refused(&[&start[..], &[&read]].concat()).contains("FORBIDDEN"));
    server.told(&[&start[..], &[&write]].concat());
    server.told(&["list", "--token", &read]);
    assert!(server.refused(&["token", "new", "--token", &write]).contains("FORBIDDEN"));
    let json = server.json(&["token", "new", "--token", admin]);
    assert!(json["token"].as_str().unwrap().starts_with("abd_"), "{json}");
    assert!(server.refused(&["token", "new", "--scopes", "all"]).contains("read, write or admin"));
}

#[test]
fn a_token_can_not_be_made_in_a_store_that_a_server_has_open() {
    let place = Place::with(&[GREET]);
    let _server = place.serve();
    let said = refusal(&["token", "new", "--store", &place.store()]);
    assert!(said.contains("in use by another process"), "{said}");
}
