//! The sockets: accepts connections, bounds what each may cost, and lets go of them in order.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service;
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
        // Also while there is no room for anybody it has to hear that it should stop.
        let place = tokio::select! {
            place = Arc::clone(&connections).acquire_owned() => place,
            _ = &mut stopped => break,
        };
        let Ok(place) = place else { break };
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
        let heard = Arc::new(AtomicBool::new(false));
        let served = Heard { routes: TowerToHyperService::new(routes.clone()), heard };
        let silence = served.silence(settings.header_timeout);
        let connection = under_way.watch(connection(stream, served, &settings).into_owned());
        tokio::spawn(async move {
            tokio::select! {
                // A client that hangs up or talks nonsense is no news.
                ended = connection => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended badly");
                },
                () = silence => tracing::debug!("a connection asked for nothing"),
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

/// The routes, and whether a request has come. Which version of HTTP a client speaks is found out from
/// its first bytes, without a limit in time: a client that never says enough is let go by us.
struct Heard {
    routes: TowerToHyperService<Router>,
    heard: Arc<AtomicBool>,
}

impl Heard {
    /// Over once this time has passed without a request, and never if one came.
    fn silence(&self, longest: Duration) -> impl Future<Output = ()> + use<> {
        let heard = Arc::clone(&self.heard);
        async move {
            tokio::time::sleep(longest).await;
            if heard.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Service<Request<Incoming>> for Heard {
    type Response = Response;
    type Error = Infallible;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.heard.store(true, Ordering::Relaxed);
        self.routes.call(request)
    }
}

type Connection<'b> = auto::UpgradeableConnection<'b, TokioIo<TcpStream>, Heard, TokioExecutor>;

fn connection(stream: TcpStream, served: Heard, settings: &Settings) -> Connection<'static> {
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
    builder.serve_connection_with_upgrades(TokioIo::new(stream), served).into_owned()
}
