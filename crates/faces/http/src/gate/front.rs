//! The process that strangers speak to: it ends TLS and HTTP, and relays questions.
//!
//! It runs as an ordinary user and starts no programs. Because it holds the server's key, other
//! processes of its user can never trace it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, TcpListener as StdTcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower_service::Service as _;
use trawl_model::sync::lock;
use trawl_remote::tls::files::{ServerFiles, browsers};
use trawl_remote::tls::identity::identities;
use trawl_sys::become_user::become_untraced;
use trawl_sys::message::{Waiting, send};
use trawl_sys::process::descriptor_limit;

use super::activity::{Activity, Watched};
use super::door::{self, Door};
use super::messages::{Answer, Asked, Kind, Refusal, Request, Setup, Told, hear, tell};
use super::places::{Places, network};
use crate::limits::{
    CONNECTIONS_OF_ONE_ADDRESS, CONNECTIONS_OF_PROXIES, HANDSHAKE, HEAD, HEAD_BYTES, QUIET,
    STREAMS, connections_within,
};
use crate::metrics::{Connected, Metrics};

/// The message that tells that this process has become its user, and nobody can trace it.
pub const READY: &[u8] = b"ready";

/// Most requests that wait to be sent to the keeper.
const QUEUE: usize = 1024;

/// Time to wait after a connection could not be accepted, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// The name of HTTP/2 in TLS (RFC 9113).
const HTTP2: &str = "h2";

/// A client, as its connection shows it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address, if it came over a network.
    pub address: Option<IpAddr>,
    /// The identities in its certificate, if it showed one.
    pub identities: Arc<[String]>,
    /// Whether it is a proxy, which is believed.
    pub is_proxy: bool,
}

/// What the keeper tells, and the connection that comes with it.
pub type Answered = (Told, Option<OwnedFd>);

/// The way to the keeper.
pub struct Keeper {
    /// What a thread sends: it may have to wait, and nothing is lost meanwhile.
    outgoing: SyncSender<Request>,
    number: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Answered>>>,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl Keeper {
    /// Asks the keeper something.
    ///
    /// # Errors
    /// Returns its refusal; also if it cannot be asked.
    pub async fn ask(&self, address: Option<IpAddr>, asked: Asked) -> Result<Answered, Refusal> {
        let (sender, receiver) = oneshot::channel();
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        lock(&self.waiting).insert(number, sender);
        let request = Request {
            number,
            address,
            asked,
        };
        if self.outgoing.try_send(request).is_err() {
            lock(&self.waiting).remove(&number);
            return Err(Refusal::until(503, "the server is busy: ask again", 1));
        }
        match receiver.await {
            Ok((Told::Refused(refusal), _)) => Err(refusal),
            Ok(told) => Ok(told),
            // The request was too long, or the keeper has ended.
            Err(_) => Err(Refusal::new(503, "the request cannot be answered")),
        }
    }

    /// Tells the keeper something that has no answer. Waits if it is busy.
    pub fn tell(&self, address: Option<IpAddr>, asked: Asked) {
        // If the keeper has ended, so does this process.
        let _ = self.outgoing.send(Request {
            number: 0,
            address,
            asked,
        });
    }

    /// Sends requests to the keeper, until it ends.
    fn send(&self, requests: &Receiver<Request>, control: &OwnedFd) {
        for request in requests {
            match tell(control, &request, None, Waiting::Allowed) {
                Ok(()) => {}
                // Too long for a message: nobody has such a name or secret.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    lock(&self.waiting).remove(&request.number);
                }
                Err(_) => return,
            }
        }
    }

    /// Passes answers on to those who wait, until the keeper ends. Other certificates are offered to
    /// new connections.
    fn listen(&self, control: &OwnedFd, offered: Option<&Offered>) {
        while let Ok(Some((answer, connection))) = hear::<Answer>(control, Waiting::Allowed) {
            if let (Told::Certificate, Some(offered)) = (&answer.told, offered) {
                // The keeper has tried the files.
                let _ = offered.renew(connection);
                continue;
            }
            if let Some(waiting) = lock(&self.waiting).remove(&answer.number) {
                // It may wait no longer.
                let _ = waiting.send((answer.told, connection));
            }
        }
    }
}

/// The server's side of TLS, as new connections are offered it.
#[derive(Clone)]
struct Offered(Arc<Mutex<Arc<ServerConfig>>>);

impl Offered {
    fn new(files: OwnedFd) -> io::Result<Offered> {
        Ok(Offered(Arc::new(Mutex::new(configuration(files)?))))
    }

    fn renew(&self, files: Option<OwnedFd>) -> io::Result<()> {
        let files = files.ok_or(io::ErrorKind::InvalidData)?;
        *lock(&self.0) = configuration(files)?;
        Ok(())
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&lock(&self.0)))
    }
}

fn configuration(files: OwnedFd) -> io::Result<Arc<ServerConfig>> {
    let files = ServerFiles::from_memory(files)?;
    browsers(&files, &[HTTP2, "http/1.1"]).map_err(io::Error::other)
}

/// What the keeper gives at the start.
struct Given {
    setup: Setup,
    tls: Option<Offered>,
    tls_sockets: Vec<StdTcpListener>,
    proxy_sockets: Vec<StdUnixListener>,
}

/// Serves until the other end of standard input is closed.
///
/// # Errors
/// Says what is invalid of what the keeper gives, or why connections cannot be served.
pub fn serve() -> Result<(), String> {
    let control = io::stdin().as_fd().try_clone_to_owned();
    let begun = control.and_then(|control| {
        become_untraced()?;
        allow_descriptors();
        let given = given(&control)?;
        Ok((control, given))
    });
    let (control, given) = begun.map_err(|error| format!("cannot end TLS: {error}"))?;
    let (outgoing, requests) = sync_channel(QUEUE);
    let keeper = Arc::new(Keeper {
        outgoing,
        number: AtomicU64::new(1),
        waiting: Mutex::default(),
    });
    // Whichever of the two threads ends, the keeper is gone.
    let ended = Arc::new(Notify::new());
    let control = Arc::new(control);
    let (sending, sender, end) = (
        Arc::clone(&control),
        Arc::clone(&keeper),
        Arc::clone(&ended),
    );
    start(move || {
        sender.send(&requests, &sending);
        end.notify_one();
    })?;
    let (listener, end) = (Arc::clone(&keeper), Arc::clone(&ended));
    let offered = given.tls.clone();
    start(move || {
        listener.listen(&control, offered.as_ref());
        end.notify_one();
    })?;
    crate::server::run(async {
        let served = serve_all(given, keeper)?;
        ended.notified().await;
        drop(served);
        Ok(())
    })
}

fn start(work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let thread = std::thread::Builder::new().name("keeper".into());
    let started = thread.spawn(work).map(drop);
    started.map_err(|error| format!("cannot start a thread: {error}"))
}

/// Allows as many descriptors as this process may have: a question needs two.
fn allow_descriptors() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    // Otherwise fewer clients are served at a time.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
}

fn given(control: &OwnedFd) -> io::Result<Given> {
    send(control, READY, None, Waiting::Allowed)?;
    let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (setup, files) = hear::<Setup>(control, Waiting::Allowed)?.ok_or_else(missing)?;
    let tls = files.map(Offered::new).transpose()?;
    let (mut tls_sockets, mut proxy_sockets) = (Vec::new(), Vec::new());
    for _ in 0..setup.sockets {
        let (kind, socket) = hear::<Kind>(control, Waiting::Allowed)?.ok_or_else(missing)?;
        let socket = socket.ok_or_else(missing)?;
        match kind {
            Kind::Tls => tls_sockets.push(StdTcpListener::from(socket)),
            Kind::Proxy => proxy_sockets.push(StdUnixListener::from(socket)),
        }
    }
    Ok(Given {
        setup,
        tls,
        tls_sockets,
        proxy_sockets,
    })
}

/// Starts to accept connections at all sockets. They are served until the value is dropped.
fn serve_all(given: Given, keeper: Arc<Keeper>) -> Result<tokio::task::JoinSet<()>, String> {
    let failed = |error: io::Error| format!("cannot use a socket: {error}");
    let door = Door::new(keeper, given.setup).map_err(|error| error.to_string())?;
    let door = Arc::new(door);
    let metrics = Arc::clone(&door.metrics);
    let router = door::router(door);
    let all = |connections| All {
        metrics: Arc::clone(&metrics),
        router: router.clone(),
        room: Arc::new(Semaphore::new(connections)),
        places: Places::new(CONNECTIONS_OF_ONE_ADDRESS),
    };
    // Proxies have places of their own, which strangers cannot take.
    let most = connections_within(descriptor_limit());
    let (strangers, proxies) = (all(most), all(most.min(CONNECTIONS_OF_PROXIES)));
    let mut accepting = tokio::task::JoinSet::new();
    for socket in given.tls_sockets {
        socket.set_nonblocking(true).map_err(failed)?;
        let socket = TcpListener::from_std(socket).map_err(failed)?;
        let tls = given.tls.clone().ok_or("there is no certificate")?;
        accepting.spawn(accept_tls(socket, tls, strangers.clone()));
    }
    for socket in given.proxy_sockets {
        socket.set_nonblocking(true).map_err(failed)?;
        let socket = UnixListener::from_std(socket).map_err(failed)?;
        accepting.spawn(accept_proxies(socket, proxies.clone()));
    }
    Ok(accepting)
}

/// What all connections share.
#[derive(Clone)]
struct All {
    router: Router,
    metrics: Arc<Metrics>,
    /// Places for connections.
    room: Arc<Semaphore>,
    /// Those of each address.
    places: Places<IpAddr>,
}

impl All {
    /// Waits for a place, which a connection has until it is dropped; `None` if there will be none.
    async fn place(&self) -> Option<(OwnedSemaphorePermit, Connected)> {
        let place = Arc::clone(&self.room).acquire_owned().await.ok()?;
        Some((place, self.metrics.connected()))
    }
}

async fn accept_tls(listener: TcpListener, tls: Offered, all: All) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                // Another connection of an address that has too many is closed.
                let Some(own) = all.places.take(network(address.ip())) else {
                    continue;
                };
                let Some(place) = all.place().await else {
                    return;
                };
                let (tls, router) = (tls.acceptor(), all.router.clone());
                tokio::spawn(async move {
                    let _places = (place, own);
                    answer_tls(stream, address.ip(), &tls, router).await;
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn accept_proxies(listener: UnixListener, all: All) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Some(place) = all.place().await else {
                    return;
                };
                let router = all.router.clone();
                tokio::spawn(async move {
                    let _place = place;
                    let peer = Peer {
                        address: None,
                        identities: Arc::new([]),
                        is_proxy: true,
                    };
                    answer_http1(stream, router, peer).await;
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn answer_tls(stream: TcpStream, address: IpAddr, tls: &TlsAcceptor, router: Router) {
    // Small answers should not wait for each other.
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = timeout(HANDSHAKE, tls.accept(stream)).await else {
        return;
    };
    let (_, session) = stream.get_ref();
    let shown = session.peer_certificates().and_then(|chain| chain.first());
    let peer = Peer {
        address: Some(address.to_canonical()),
        identities: shown.map_or_else(Vec::new, |own| identities(own)).into(),
        is_proxy: false,
    };
    let is_http2 = session.alpn_protocol() == Some(HTTP2.as_bytes());
    // Futures that pass a stream on have room for it several times, for as long as the connection lasts.
    let stream = Box::new(stream);
    match is_http2 {
        true => answer_http2(stream, router, peer).await,
        false => answer_http1(stream, router, peer).await,
    }
}

/// Answers a request of this peer, and notes what happens on the connection.
macro_rules! service {
    ($router:expr, $peer:expr, $activity:expr) => {{
        let (router, peer, activity): (Router, Peer, Activity) = ($router, $peer, $activity);
        service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            let answered = router.clone().call(request);
            let (activity, awaited) = (activity.clone(), activity.wait());
            async move {
                let response = answered.await?;
                drop(awaited);
                Ok::<_, Infallible>(response.map(|body| Watched::new(body, activity)))
            }
        })
    }};
}

async fn answer_http1(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router, peer: Peer) {
    let activity = Activity::default();
    let mut builder = hyper::server::conn::http1::Builder::new();
    // A proxy keeps connections for later requests, and must not meet one that is being closed.
    let head = if peer.is_proxy { QUIET } else { HEAD };
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(HEAD_BYTES);
    let service = service!(router, peer, activity.clone());
    // Clients leave as they like: that is no error of the server.
    let answers = Box::pin(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = answers => {}
        () = activity.idle() => {}
    }
}

async fn answer_http2(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router, peer: Peer) {
    let activity = Activity::default();
    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(HEAD)
        .keep_alive_timeout(HEAD);
    let service = service!(router, peer, activity.clone());
    let answers = Box::pin(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = answers => {}
        () = activity.idle() => {}
    }
}
