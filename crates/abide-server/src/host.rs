//! A store, an engine on it and a server in front: what `serve` and `dev` have in common.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use abide::Engine;
use abide_flow::{Flows, RegisterError, Registered};
use abide_server::{App, Listening, listen, may_listen, router};
use abide_sqlite::SqliteStore;
use tokio::net::TcpListener;

use crate::config::Configuration;
use crate::error::Error;
use crate::store_at::StoreAt;

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
        may_listen(address, false, set.insecure).map_err(Error::Refused)?;
        // Before anything runs: who can't be reached should not have begun either.
        let bound = TcpListener::bind(address).await;
        let socket = bound.map_err(|source| Error::Listen { address, source })?;
        let engine = set.engine.clone();
        let builder = Engine::on(store.clone()).configure(|config| *config = engine);
        let builder = Flows::load(&*store, builder, &equipment).await?;
        let engine = builder.start().await?;
        let flows = Flows::new(engine.clone(), equipment);
        let app = App::new(engine, flows, set.server.clone());
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
        self.listening.shutdown().await;
        self.app.engine().shutdown().await;
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
