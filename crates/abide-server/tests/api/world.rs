//! A server on a free port with an embedded store, and a client that talks to it.

use std::sync::Arc;
use std::time::Duration;

use abide::store::Store;
use abide::{Builder, Engine};
use abide_flow::{Equipment, Flows};
use abide_server::{App, Listening, Settings, listen, router};
use abide_sqlite::SqliteStore;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;

/// See the module. Everything ends when it is dropped.
pub(crate) struct World {
    pub(crate) app: App,
    pub(crate) base: String,
    pub(crate) client: reqwest::Client,
    pub(crate) listening: Listening,
}

/// What the server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn with(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }

    /// The refusal must have this status and code; answers with its message.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> String {
        let error = &self.with(status)["error"];
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(error["status"], status, "{error}");
        assert!(error["details"].is_object(), "{error}");
        error["message"].as_str().unwrap().to_owned()
    }
}

impl World {
    /// A server that knows these documents.
    pub(crate) async fn with(documents: &[&str]) -> Self {
        Self::set_up(documents, |_| {}).await
    }

    /// With other settings.
    pub(crate) async fn set_up(documents: &[&str], change: impl FnOnce(&mut Settings)) -> Self {
        Self::build(documents, |builder| builder, change).await
    }

    /// A server that knows these workflows, written in Rust.
    pub(crate) async fn coded(code: impl FnOnce(Builder) -> Builder) -> Self {
        Self::build(&[], code, |settings| settings.heartbeat = Duration::from_millis(50)).await
    }

    /// A server that knows these workflows and has these settings.
    pub(crate) async fn observed(
        code: impl FnOnce(Builder) -> Builder,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        Self::build(&[], code, change).await
    }

    async fn build(
        documents: &[&str],
        code: impl FnOnce(Builder) -> Builder,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let store = Arc::new(SqliteStore::open_temporary().await.unwrap());
        Self::on(store, documents, code, change).await
    }

    /// Another server on the same store, as if the first had been stopped.
    pub(crate) async fn restarted(&self) -> Self {
        Self::on(Arc::clone(self.app.engine().store()), &[], |builder| builder, |_| {}).await
    }

    pub(crate) async fn on(
        store: Arc<dyn Store>,
        documents: &[&str],
        code: impl FnOnce(Builder) -> Builder,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let equipment = Arc::new(Equipment::new().unwrap());
        let engine = code(Engine::on(store)).start().await.unwrap();
        let flows = Flows::new(engine.clone(), equipment);
        for document in documents {
            flows.register(document).await.unwrap();
        }
        let mut settings = Settings::default();
        change(&mut settings);
        let app = App::new(engine, flows, settings.clone());
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listening = listen(socket, router(app.clone()), &settings).unwrap();
        let base = format!("http://{}", listening.address());
        Self { app, base, client: reqwest::Client::new(), listening }
    }

    /// A request without `/v1` in front is one of the API.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}/v1{path}", self.base))
    }

    pub(crate) async fn get(&self, path: impl AsRef<str>) -> Answer {
        answer(self.request(Method::GET, path.as_ref())).await
    }

    pub(crate) async fn post(&self, path: impl AsRef<str>, body: Value) -> Answer {
        self.send(Method::POST, path, body).await
    }

    pub(crate) async fn send(&self, method: Method, path: impl AsRef<str>, body: Value) -> Answer {
        let request =
            self.request(method, path.as_ref()).header("content-type", "application/json");
        answer(request.body(body.to_string())).await
    }
}

pub(crate) async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    Answer { status, headers, text: response.text().await.unwrap() }
}
