//! Who may do what, and from where.

use abide_server::{ConfiguredToken, NewToken, Scope};
use reqwest::{Method, header};
use serde_json::{Value, json};

use crate::instances::APPROVE;
use crate::world::{Answer, World, answer};

/// A world whose settings have a token of each scope.
struct Guarded {
    world: World,
    read: NewToken,
    write: NewToken,
    admin: NewToken,
}

impl Guarded {
    async fn new() -> Self {
        let make = || NewToken::generate().unwrap();
        let (read, write, admin) = (make(), make(), make());
        let configured = |token: &NewToken, scope| ConfiguredToken {
            name: "test".into(),
            hash: token.hash.clone(),
            scopes: vec![scope],
        };
        let tokens = vec![
            configured(&read, Scope::Read),
            configured(&write, Scope::Write),
            configured(&admin, Scope::Admin),
        ];
        let world = World::set_up(&[APPROVE], |settings| settings.tokens = tokens).await;
        Self { world, read, write, admin }
    }

    async fn as_who(
        &self,
        who: Option<&NewToken>,
        method: Method,
        path: &str,
        body: Value,
    ) -> Answer {
        let mut request = self.world.request(method, path);
        if let Some(token) = who {
            request = request.bearer_auth(&token.secret);
        }
        let request = request.header("content-type", "application/json");
        answer(request.body(body.to_string())).await
    }
}

/// Every operation of the API: method, path with names in place of parameters.
pub(crate) fn operations() -> Vec<(Method, String)> {
    let described = serde_json::to_value(abide_server::openapi()).unwrap();
    let mut all = Vec::new();
    for (path, item) in described["paths"].as_object().unwrap() {
        let path: String = path
            .split('/')
            .map(|part| if part.starts_with('{') { "x" } else { part })
            .collect::<Vec<_>>()
            .join("/");
        for method in item.as_object().unwrap().keys() {
            if let Ok(method) = method.to_uppercase().parse() {
                all.push((method, path.clone()));
            }
        }
    }
    assert!(all.len() > 20, "{all:?}");
    all
}

fn reads(method: &Method, path: &str) -> bool {
    method == Method::GET || matches!(path, "/v1/access-tokens" | "/v1/workflows/validate")
}

#[tokio::test]
async fn no_route_serves_a_stranger_and_no_write_serves_a_reader() {
    let guarded = Guarded::new().await;
    let stranger = NewToken::generate().unwrap();
    for (method, path) in operations() {
        if path == "/v1/hooks/x" {
            continue;
        }
        let path_in_v1 = path.strip_prefix("/v1").unwrap();
        for who in [None, Some(&stranger)] {
            let refused = guarded.as_who(who, method.clone(), path_in_v1, json!({})).await;
            refused.refused(401, "UNAUTHORIZED");
            assert_eq!(refused.headers[header::WWW_AUTHENTICATE], "Bearer", "{method} {path}");
        }
        if !reads(&method, &path) || path.starts_with("/v1/tokens") {
            let refused =
                guarded.as_who(Some(&guarded.read), method.clone(), path_in_v1, json!({}));
            refused.await.refused(403, "FORBIDDEN");
        }
        if method == Method::PUT || method == Method::DELETE {
            let refused =
                guarded.as_who(Some(&guarded.write), method.clone(), path_in_v1, json!({}));
            refused.await.refused(403, "FORBIDDEN");
        }
    }
    let nothing_came_of_it =
        guarded.as_who(Some(&guarded.admin), Method::GET, "/instances", json!({}));
    assert_eq!(nothing_came_of_it.await.with(200), json!({"instances": []}));
}

#[tokio::test]
async fn a_token_allows_what_its_scope_says() {
    let guarded = Guarded::new().await;
    let start = json!({"id": "a-1", "input": {"amount": 1}});
    let path = "/workflows/approve/instances";
    guarded.as_who(Some(&guarded.write), Method::POST, path, start).await.with(201);
    guarded.as_who(Some(&guarded.read), Method::GET, "/instances/a-1", json!({})).await.with(200);
    let trigger = json!({"workflow": "approve", "eventPattern": "a"});
    let put = |who| guarded.as_who(Some(who), Method::PUT, "/triggers/t", trigger.clone());
    put(&guarded.write).await.refused(403, "FORBIDDEN");
    put(&guarded.admin).await.with(200);
    // A path that no route has tells a stranger nothing.
    guarded.as_who(None, Method::GET, "/nothing", json!({})).await.refused(401, "UNAUTHORIZED");
    guarded
        .as_who(Some(&guarded.read), Method::GET, "/nothing", json!({}))
        .await
        .refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn only_a_single_well_formed_bearer_token_counts() {
    let guarded = Guarded::new().await;
    let secret = guarded.admin.secret.clone();
    let with = |values: Vec<String>| {
        let mut request = guarded.world.request(Method::GET, "/instances");
        for value in values {
            request = request.header(header::AUTHORIZATION, value);
        }
        answer(request)
    };
    with(vec![format!("bearer {secret}")]).await.with(200);
    for wrong in [
        vec![],
        vec![String::new()],
        vec![secret.clone()],
        vec![format!("Basic {secret}")],
        vec![format!("Bearer {secret}x")],
        vec![format!("Bearer {}", &secret[4..])],
        vec![format!("Bearer {}", guarded.admin.hash)],
        vec![format!("Bearer {secret}"), "Bearer other".to_owned()],
    ] {
        with(wrong).await.refused(401, "UNAUTHORIZED");
    }
    let in_address = guarded.world.get(format!("/instances?access_token={secret}")).await;
    in_address.refused(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn tokens_are_made_listed_and_revoked() {
    let world = World::with(&[]).await;
    let lowly = world.post("/tokens", json!({"scopes": ["write"]})).await;
    lowly.refused(400, "VALIDATION_ERROR");
    let made = world.post("/tokens", json!({"name": "ops", "scopes": ["admin"]})).await;
    assert_eq!(made.headers[header::CACHE_CONTROL], "no-store");
    let made = made.with(201);
    let secret = made["token"].as_str().unwrap();
    assert!(secret.starts_with("abd_") && secret.len() == 47, "{secret}");
    world.get("/tokens").await.refused(401, "UNAUTHORIZED");
    let ask = |method, path: &str, body: Value| {
        let request = world.request(method, path).bearer_auth(secret);
        answer(request.header("content-type", "application/json").body(body.to_string()))
    };
    let listed = ask(Method::GET, "/tokens", json!({})).await;
    assert!(!listed.text.contains(secret) && !listed.text.contains("hash"), "{}", listed.text);
    let listed = listed.with(200);
    assert_eq!(
        (&listed["tokens"][0]["id"], &listed["tokens"][0]["name"]),
        (&made["id"], &json!("ops"))
    );
    let second = json!({"scopes": ["read"], "expiresIn": "1 hour"});
    let second = ask(Method::POST, "/tokens", second).await.with(201);
    assert!(second["expiresAt"].as_str().unwrap() > second["createdAt"].as_str().unwrap());
    let read = |token: &Value| {
        answer(world.request(Method::GET, "/events").bearer_auth(token.as_str().unwrap()))
    };
    read(&second["token"]).await.with(200);
    let id = second["id"].as_str().unwrap();
    let revoked = ask(Method::DELETE, &format!("/tokens/{id}"), json!({})).await;
    assert_eq!(revoked.status.as_u16(), 204);
    read(&second["token"]).await.refused(401, "UNAUTHORIZED");
    ask(Method::DELETE, &format!("/tokens/{id}"), json!({})).await.refused(404, "NOT_FOUND");
    let last = format!("/tokens/{}", made["id"].as_str().unwrap());
    ask(Method::DELETE, &last, json!({})).await.refused(409, "INVALID_TRANSITION");
    for wrong in [
        json!({}),
        json!({"scopes": []}),
        json!({"scopes": ["root"]}),
        json!({"scopes": ["read"], "expiresIn": "soon"}),
    ] {
        ask(Method::POST, "/tokens", wrong).await.refused(400, "VALIDATION_ERROR");
    }
    assert!(world.app.has_tokens().await.unwrap());
    let again = world.restarted().await;
    again.get("/tokens").await.refused(401, "UNAUTHORIZED");
    answer(again.request(Method::GET, "/tokens").bearer_auth(secret)).await.with(200);
}

#[tokio::test]
async fn a_token_that_is_over_opens_nothing_and_the_server_stays_closed() {
    let world = World::with(&[]).await;
    let brief = json!({"scopes": ["admin"], "expiresIn": 0});
    let made = world.post("/tokens", brief).await.with(201);
    let shown = world.request(Method::GET, "/events").bearer_auth(made["token"].as_str().unwrap());
    answer(shown).await.refused(401, "UNAUTHORIZED");
    world.get("/events").await.refused(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn without_tokens_only_this_machine_is_served() {
    let world = World::with(&[]).await;
    assert!(!world.app.has_tokens().await.unwrap());
    let with = |name: &'static str, value: &'static str| {
        answer(world.request(Method::GET, "/events").header(name, value))
    };
    for host in ["localhost:1234", "127.0.0.1", "[::1]:80"] {
        with("host", host).await.with(200);
    }
    for host in ["example.com", "127.0.0.1.evil.com:7878", "10.0.0.1", "evil"] {
        with("host", host).await.refused(403, "FORBIDDEN");
    }
    for origin in ["http://localhost:3000", "http://127.0.0.1:1"] {
        with("origin", origin).await.with(200);
    }
    for origin in ["https://evil.com", "null", "http://localhost.evil.com", "file://", ""] {
        with("origin", origin).await.refused(403, "FORBIDDEN");
    }
}

#[tokio::test]
async fn without_tokens_a_body_has_to_say_what_it_is() {
    let world = World::with(&[]).await;
    let send = |media: Option<&'static str>, body: &'static str| {
        let mut request = world.request(Method::POST, "/events").body(body);
        if let Some(media) = media {
            request = request.header("content-type", media);
        }
        answer(request)
    };
    let event = r#"{"type": "a"}"#;
    for media in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
    ] {
        send(media, event).await.refused(415, "VALIDATION_ERROR");
    }
    send(Some("application/json"), event).await.with(202);
    send(None, "").await.refused(400, "EVENT_INVALID");
}

#[tokio::test]
async fn an_insecure_server_serves_other_hosts_but_no_foreign_pages() {
    let world = World::set_up(&[], |settings| settings.insecure = true).await;
    let with = |origin: Option<&'static str>| {
        let mut request = world.request(Method::GET, "/events").header("host", "abide.lan:7878");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        answer(request)
    };
    with(None).await.with(200);
    with(Some("http://abide.lan:7878")).await.with(200);
    with(Some("http://evil.com")).await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn allowed_origins_get_their_headers_and_others_none() {
    let own = "https://app.example.com";
    let world = World::set_up(&[], |settings| settings.cors = vec![own.to_owned()]).await;
    let ask = |method, origin: &'static str| {
        let request = world.request(method, "/events").header("origin", origin);
        answer(
            request
                .header("access-control-request-method", "POST")
                .header("access-control-request-headers", "content-type, authorization"),
        )
    };
    let permitted = ask(Method::OPTIONS, own).await;
    assert_eq!(permitted.status.as_u16(), 204);
    assert_eq!(permitted.headers["access-control-allow-origin"], own);
    assert_eq!(permitted.headers["access-control-allow-headers"], "content-type, authorization");
    assert!(permitted.headers["access-control-allow-methods"].to_str().unwrap().contains("PATCH"));
    let served = ask(Method::GET, own).await;
    assert_eq!(served.headers["access-control-allow-origin"], own);
    assert_eq!(served.headers["vary"], "origin");
    served.with(200);
    let refused = ask(Method::OPTIONS, "https://evil.example.com").await;
    assert!(!refused.headers.contains_key("access-control-allow-origin"));
    refused.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn every_answer_has_the_id_of_its_request() {
    let world = World::with(&[]).await;
    let with = |id: &'static str| {
        answer(world.request(Method::GET, "/nothing").header("x-request-id", id))
    };
    assert_eq!(with("r-1").await.headers["x-request-id"], "r-1");
    let made = with("not sane").await;
    assert!(made.headers["x-request-id"].to_str().unwrap().starts_with("req_"));
    made.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn requests_that_only_wait_take_no_room() {
    let world = World::set_up(&[APPROVE], |settings| settings.max_requests = 0).await;
    world.get("/events").await.refused(429, "RATE_LIMITED");
    let busy = world.get("/instances").await;
    assert_eq!(busy.headers["retry-after"], "1");
    world.get("/instances/x/result?timeout=1ms").await.refused(404, "WORKFLOW_NOT_FOUND");
}

#[tokio::test]
async fn a_short_lived_token_in_the_address_reads_a_stream() {
    let guarded = Guarded::new().await;
    let start = json!({"id": "a-1", "input": {"amount": 1}});
    let path = "/workflows/approve/instances";
    guarded.as_who(Some(&guarded.write), Method::POST, path, start).await.with(201);
    let made = guarded.as_who(Some(&guarded.read), Method::POST, "/access-tokens", json!({})).await;
    assert_eq!(made.headers[header::CACHE_CONTROL], "no-store");
    let token = made.with(201)["accessToken"].as_str().unwrap().to_owned();
    for path in ["/instances/a-1/stream", "/instances/a-1/streams", "/stream"] {
        let get = |query: String| guarded.world.request(Method::GET, &format!("{path}?{query}"));
        // These go on as long as the instance does: their beginning is enough.
        let opened = get(format!("access_token={token}")).send().await.unwrap();
        assert_eq!(opened.status().as_u16(), 200, "{path}");
        answer(get(String::new())).await.refused(401, "UNAUTHORIZED");
        answer(get(format!("access_token={token}0"))).await.refused(401, "UNAUTHORIZED");
    }
    let elsewhere = guarded.world.get(format!("/instances/a-1?access_token={token}")).await;
    elsewhere.refused(401, "UNAUTHORIZED");
    let too_long = guarded.as_who(
        Some(&guarded.read),
        Method::POST,
        "/access-tokens",
        json!({"ttl": "1 day"}),
    );
    too_long.await.refused(400, "VALIDATION_ERROR");
}
