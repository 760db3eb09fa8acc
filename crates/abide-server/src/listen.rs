//! The sockets: accepts connections, bounds what each may cost, and lets go of them in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use crate::settings::Settings;

/// A server that listens. Dropping it stops it at once.
pub struct Listening {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Listening {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts nothing more and waits for what is under way, as long as `server.drain` allows.
    pub async fn shutdown(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let _ = (&mut self.serving).await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Serves routes on a socket.
///
/// # Errors
/// When the socket has no address.
pub fn listen(socket: TcpListener, routes: Router, settings: &Settings) -> io::Result<Listening> {
    let address = socket.local_addr()?;
    let (stop, stopped) = oneshot::channel();
    let serving = tokio::spawn(serve(socket, routes, settings.clone(), stopped));
    Ok(Listening { address, stop: Some(stop), serving })
}

async fn serve(
    socket: TcpListener,
    routes: Router,
    settings: Settings,
    mut stopped: oneshot::Receiver<()>,
) {
    let connections = Arc::new(Semaphore::new(settings.max_connections));
    let under_way = GracefulShutdown::new();
    loop {
        let Ok(place) = Arc::clone(&connections).acquire_owned().await else { break };
        let stream = tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file handles, most likely: let some connections end.
                    tracing::warn!(%error, "a connection can't be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
        };
        let connection = under_way.watch(connection(stream, &routes, &settings).into_owned());
        tokio::spawn(async move {
            // A client that hangs up or talks nonsense is no news.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended badly");
            }
            drop(place);
        });
    }
    drop(socket);
    tokio::select! {
        () = under_way.shutdown() => {}
        () = tokio::time::sleep(settings.drain) => {
            tracing::warn!("requests were still under way when server.drain was over");
        }
    }
}

type Connection<'b> =
    auto::UpgradeableConnection<'b, TokioIo<TcpStream>, TowerToHyperService<Router>, TokioExecutor>;

fn connection(stream: TcpStream, routes: &Router, settings: &Settings) -> Connection<'static> {
    // Small answers go out at once.
    let _ = stream.set_nodelay(true);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_timeout)
        .max_buf_size(64 * 1024);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .keep_alive_interval(Some(Duration::from_secs(30)));
    let service = TowerToHyperService::new(routes.clone());
    builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned()
}
