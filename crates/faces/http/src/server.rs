//! Listens, accepts connections, and ends on a signal.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use trawl_questions::child::Program;
use trawl_questions::desk::Desk;

use crate::limits::{CONNECTIONS, HEAD, HEAD_BYTES};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::service::{App, router};
use crate::sessions::Sessions;

/// Time to wait after a connection could not be accepted, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Threads that handle connections. The questions are processes of their own.
const THREADS: usize = 2;

/// Time that the end waits for threads that read files.
const END: Duration = Duration::from_millis(500);

/// Runs the work of a process that serves connections.
///
/// # Errors
/// Returns the error of the work; also if no thread can be started.
pub fn run(work: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(THREADS).enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let done = runtime.block_on(work);
    // A read that a file system does not answer must not keep the process.
    runtime.shutdown_timeout(END);
    done
}

/// Serves until a signal ends it: SIGINT, SIGTERM or SIGHUP.
///
/// # Errors
/// Says why it cannot listen, or give a link.
pub async fn serve(options: Options) -> Result<(), String> {
    let sessions = Sessions::new(options.token_file.as_deref());
    let sessions = sessions.map_err(|error| error.to_string())?;
    let program = Program {
        path: options.program,
        index: options.index,
    };
    let app = Arc::new(App {
        desk: Desk::new(program, options.limits),
        sessions,
        metrics: Arc::new(Metrics::default()),
    });
    let listener = TcpListener::bind(options.listen).await;
    let listener =
        listener.map_err(|error| format!("cannot listen on {}: {error}", options.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let ends_with =
        |kind| signal(kind).map_err(|error| format!("cannot wait for signals: {error}"));
    let mut interrupt = ends_with(SignalKind::interrupt())?;
    let mut terminate = ends_with(SignalKind::terminate())?;
    let mut hangup = ends_with(SignalKind::hangup())?;
    announce(&app, address)?;
    tokio::select! {
        () = accept(listener, Arc::clone(&app)) => Ok(()),
        result = give_links(&app, address) => result,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        _ = hangup.recv() => Ok(()),
    }
}

/// Prints a one-time link.
fn announce(app: &App, address: SocketAddr) -> Result<(), String> {
    use std::io::Write as _;

    let secret = app
        .sessions
        .link()
        .map_err(|error| format!("no random numbers: {error}"))?;
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "http://{address}/#token={secret}").and_then(|()| out.flush());
    written.map_err(|error| format!("cannot write to standard output: {error}"))
}

/// On a terminal, says what to do, and prints a further link for each line that is entered.
async fn give_links(app: &App, address: SocketAddr) -> Result<(), String> {
    if !std::io::stdin().is_terminal() {
        return std::future::pending().await;
    }
    eprintln!(
        "trawl: open this link in a browser within 10 minutes; it holds once\n\
         trawl: press Enter for another link, Ctrl-C to end"
    );
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(_)) = lines.next_line().await {
        announce(app, address)?;
    }
    std::future::pending().await
}

/// Accepts connections.
async fn accept(listener: TcpListener, app: Arc<App>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let router = router(Arc::clone(&app));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Small answers should not wait for each other.
        let _ = stream.set_nodelay(true);
        let counted = app.metrics.connected();
        let router = router.clone();
        tokio::spawn(async move {
            let _here = (place, counted);
            answer(stream, router).await;
        });
    }
}

/// Answers the requests of a connection until it ends. It is HTTP/1.1: browsers speak HTTP/2 only over
/// TLS, and a server that waits to see which of the two comes has no limit of time for that.
pub async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) {
    let mut builder = Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES);
    let connection =
        builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // Clients leave as they like: that is no error of the server.
    let _ = connection.await;
}
