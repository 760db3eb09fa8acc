//! The layers in front of routes that misbehave or are asked by `EventSource`.

use std::sync::{Arc, Mutex, PoisonError};

use abide::Engine;
use abide_flow::{Equipment, Flows};
use abide_sqlite::SqliteStore;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, Uri};
use axum::routing::get;
use tower::ServiceExt;

use super::{ConfiguredToken, NewToken, Scope, before};
use crate::api::app::App;
use crate::settings::Settings;

async fn app(tokens: Vec<ConfiguredToken>) -> App {
    let store = SqliteStore::open_temporary().await.unwrap();
    let engine = Engine::builder(store).start().await.unwrap();
    let flows = Flows::new(engine.clone(), Arc::new(Equipment::new().unwrap()));
    App::new(engine, flows, Settings { tokens, ..Settings::default() })
}

async fn panics() -> &'static str {
    panic!("on purpose")
}

/// Routes that tell the address they saw, and one that panics.
fn routes(app: &App) -> Router {
    let seen = |uri: Uri| async move { uri.to_string() };
    let routes = Router::new()
        .route("/v1/instances/{id}/stream", get(seen).post(seen))
        .route("/v1/instances/{id}/streams", get(seen))
        .route("/v1/stream", get(seen))
        .route("/v1/instances", get(seen))
        .route("/v1/panics", get(panics));
    before(routes, app).with_state(app.clone())
}

async fn ask(routes: &Router, method: &str, uri: &str) -> (StatusCode, String) {
    let request = Request::builder().method(method).uri(uri).header("host", "localhost");
    let response = routes.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn guarded() -> (App, String) {
    let token = NewToken::generate().unwrap();
    let admin = ConfiguredToken { name: "a".into(), hash: token.hash, scopes: vec![Scope::Admin] };
    let app = app(vec![admin]).await;
    let access = {
        let keys = &app.guard().ready(&app).await.unwrap().keys;
        keys.access_token(app.engine().now().after(std::time::Duration::from_secs(60)))
    };
    (app, access)
}

#[tokio::test]
async fn an_access_token_opens_streams_and_nothing_else_and_no_route_sees_it() {
    let (app, access) = guarded().await;
    let routes = routes(&app);
    for path in ["/v1/instances/a/stream", "/v1/instances/a/streams", "/v1/stream"] {
        let (status, seen) =
            ask(&routes, "GET", &format!("{path}?x=1&access_token={access}")).await;
        assert_eq!((status, seen), (StatusCode::OK, format!("{path}?x=1")));
        let (status, _) = ask(&routes, "GET", &format!("{path}?access_token={access}x")).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
    }
    for (method, path) in [("GET", "/v1/instances"), ("POST", "/v1/instances/a/stream")] {
        let (status, _) = ask(&routes, method, &format!("{path}?access_token={access}")).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path}");
    }
}

#[tokio::test]
async fn a_panic_is_answered_and_the_next_request_served() {
    let app = app(Vec::new()).await;
    let routes = routes(&app);
    let (status, body) = ask(&routes, "GET", "/v1/panics").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(body.contains("INTERNAL_ERROR") && !body.contains("on purpose"), "{body}");
    assert_eq!(ask(&routes, "GET", "/v1/instances").await.0, StatusCode::OK);
}

/// Everything that is logged, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_token_is_ever_logged() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // For all threads: one without a subscriber would switch off, for everybody, what it meets first.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let (app, access) = guarded().await;
    let routes = routes(&app);
    ask(&routes, "GET", &format!("/v1/stream?access_token={access}")).await;
    ask(&routes, "GET", &format!("/v1/nothing?access_token={access}")).await;
    let secret = NewToken::generate().unwrap().secret;
    let request = Request::builder().uri("/v1/instances").header("host", "localhost");
    let request = request.header("authorization", format!("Bearer {secret}"));
    routes.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("/v1/stream") && logged.contains("answered"), "{logged}");
    assert!(!logged.contains(&access) && !logged.contains(&secret), "{logged}");
}
