//! The server that is measured: a process of its own, so that its memory is its own too.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use abide::Engine;
use abide_flow::{Equipment, Flows};
use abide_server::{App, Settings, listen, router};
use abide_sqlite::SqliteStore;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use super::super::memory::{Memory, settled_as};
use super::super::steps::five;
use super::super::waiter::{WAITER, waiter};
use crate::error::Error;

/// A server in a process of its own.
pub(crate) struct Served {
    child: Child,
    address: SocketAddr,
    ready_in: Duration,
}

impl Served {
    /// Starts it, and waits until it answers.
    pub(crate) async fn spawn(file: &Path) -> Result<Self, Error> {
        let began = Instant::now();
        let this = std::env::current_exe().map_err(Error::io("the path of this program"))?;
        let mut child = Command::new(this)
            .arg("bench-server")
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(Error::io("starting a server"))?;
        let silent = || Error::Unexpected("the server did not say where it listens".to_owned());
        let mut said = String::new();
        let out = child.stdout.take().ok_or_else(silent)?;
        BufReader::new(out).read_line(&mut said).await.map_err(Error::io("a server"))?;
        let address = said.trim().parse().map_err(|_| silent())?;
        Ok(Self { child, address, ready_in: began.elapsed() })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From the start of the process until it listened.
    pub(crate) fn ready_in(&self) -> Duration {
        self.ready_in
    }

    /// Its memory, once that no longer changes.
    pub(crate) async fn memory(&self) -> Result<Memory, Error> {
        settled_as(self.child.id()).await
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<(), Error> {
        drop(self.child.stdin.take());
        let status = self.child.wait().await.map_err(Error::io("stopping a server"))?;
        match status.success() {
            true => Ok(()),
            false => Err(Error::Process { what: "the server".to_owned(), status }),
        }
    }
}

/// The process itself: serves until its input is closed.
pub(crate) async fn serve(file: &Path) -> Result<(), Error> {
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder(store.clone())
        .workflow("five", five)
        .workflow(WAITER, waiter)
        .start()
        .await?;
    let equipment = Equipment::new().map_err(|error| Error::Unexpected(error.to_string()))?;
    let flows = Flows::new(engine.clone(), Arc::new(equipment));
    let app = App::new(engine.clone(), flows, Settings::default());
    let socket = TcpListener::bind("127.0.0.1:0").await.map_err(Error::io("a socket"))?;
    let listening =
        listen(socket, router(app), &Settings::default()).map_err(Error::io("a socket"))?;
    println!("{}", listening.address());
    let mut nothing = Vec::new();
    let _ = tokio::io::stdin().read_to_end(&mut nothing).await;
    engine.shutdown().await;
    listening.shutdown().await;
    store.close().await?;
    Ok(())
}
