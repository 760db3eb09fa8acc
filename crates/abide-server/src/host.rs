//! A store, an engine on it and a server in front: what `serve` and `dev` have in common.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use abide::store::Store;
use abide::{DocumentKind, Engine};
use abide_flow::{Flows, RegisterError, Registered};
use abide_server::{App, Listening, listen, may_listen, router};
use abide_sqlite::SqliteStore;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::config::Configuration;
use crate::error::Error;
use crate::store_at::StoreAt;

/// How long requests that do something are waited for. Those that only wait or stream end with the
/// engine: they would hold up every shutdown for as long as they may.
const ORDINARY: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Host {
    store: Arc<SqliteStore>,
    app: App,
    listening: Listening,
}

impl Host {
    /// Opens the store, binds the address, and goes on with everything that the store has.
    pub(crate) async fn open(set: &Configuration) -> Result<Self, Error> {
        let at: StoreAt = set.store.parse().map_err(Error::Refused)?;
        let store = set.store_options().open(&at.file).await?;
        Self::on(set, store).await
    }

    /// The same on a store that is open.
    pub(crate) async fn on(set: &Configuration, store: SqliteStore) -> Result<Self, Error> {
        let store = Arc::new(store);
        let equipment = Arc::new(set.equipment()?);
        let address = resolve(&set.listen)?;
        let has_tokens = !set.server.tokens.is_empty()
            || !store.documents(DocumentKind::Token).await?.is_empty();
        may_listen(address, has_tokens, set.server.insecure).map_err(Error::Refused)?;
        // Before anything runs: who can't be reached should not have begun either.
        let bound = TcpListener::bind(address).await;
        let socket = bound.map_err(|source| Error::Listen { address, source })?;
        let engine = set.engine.clone();
        let builder = Engine::on(store.clone()).configure(|config| *config = engine);
        let mut builder = Flows::load(&*store, builder, &equipment).await?;
        let mut server = set.server.clone();
        server.sinks = set.trackers()?;
        for tracker in &server.sinks {
            builder = builder.observe(tracker.clone());
        }
        let engine = builder.start().await?;
        let flows = Flows::new(engine.clone(), equipment);
        let app = App::new(engine, flows, server);
        // A token that can't be read is told now, not with the first request.
        app.has_tokens().await.map_err(Error::Refused)?;
        let listening = listen(socket, router(app.clone()), &set.server)
            .map_err(Error::io(format!("listening on {address}")))?;
        Ok(Self { store, app, listening })
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.app.engine()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Where a client on this machine reaches it.
    pub(crate) fn url(&self) -> String {
        let address = self.address();
        if address.ip().is_unspecified() {
            return format!("http://localhost:{}", address.port());
        }
        format!("http://{address}")
    }

    /// Registers the document in a file. The error says what is wrong with it, and where.
    pub(crate) async fn register(&self, file: &Path) -> Result<Registered, Error> {
        let shown = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(Error::io(shown.as_str()))?;
        self.app.flows().register(&text).await.map_err(|refused| match refused {
            RegisterError::Invalid { text, problems } => {
                Error::Document(abide_flow::report(&shown, &text, &problems).trim_end().to_owned())
            }
            RegisterError::Engine(error) => error.into(),
        })
    }

    /// Accepts nothing more, answers what is under way, lets steps finish or parks them.
    pub(crate) async fn shutdown(self) -> Result<(), Error> {
        let mut draining = pin!(self.listening.shutdown());
        let is_drained = timeout(ORDINARY, &mut draining).await.is_ok();
        self.app.engine().shutdown().await;
        if !is_drained {
            draining.await;
        }
        Ok(self.store.close().await?)
    }
}

/// `ADDRESS:PORT` or `NAME:PORT`.
fn resolve(listen: &str) -> Result<SocketAddr, Error> {
    let wrong = |why: String| {
        let right = "write ADDRESS:PORT, like 127.0.0.1:7878 or [::1]:7878";
        Error::Refused(format!("{listen:?} is no address to listen on: {why}; {right}"))
    };
    let mut found = listen.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    found.next().ok_or_else(|| wrong("it has none".to_owned()))
}
