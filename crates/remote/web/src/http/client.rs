//! The client: a pool of connections with limits, and requests that follow redirects.

use std::io::{self, Read};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ureq::tls::TlsConfig;
use ureq::{Agent, BodyReader, Proxy};

use super::address::Address;
use super::encryption;
use crate::error::WebError;

/// Limits of a client.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Time for looking up a host name, and for connecting, each.
    pub connect: Duration,
    /// Time from sending a request to the headers of the answer.
    pub answer: Duration,
    /// Time that a server may be silent within a body.
    pub silence: Duration,
    /// Time until all bytes that are fetched ahead, or all of a page, must have arrived.
    pub head: Duration,
    /// Maximum number of redirects.
    pub redirects: u32,
    /// Number of idle connections that are kept for each server.
    pub idle: usize,
    /// Maximum number of bytes of an object that is held in memory.
    pub memory_bytes: u64,
    /// Maximum number of bytes of an HTML page that are read.
    pub page_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            silence: Duration::from_secs(30),
            head: Duration::from_secs(120),
            redirects: 10,
            idle: 32,
            memory_bytes: 8 << 20,
            page_bytes: 32 << 20,
        }
    }
}

/// Whether the environment's proxies are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proxies {
    /// Those of `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, except for hosts in `NO_PROXY`.
    OfEnvironment,
    /// None.
    None,
}

/// A client. Clones share connections.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    limits: Limits,
    proxies: Proxies,
    /// For plain connections, which need no certificates.
    plain: OnceLock<Agent>,
    encrypted: OnceLock<Agent>,
}

/// The answer to a request.
pub(crate) struct Response {
    /// The address that answered, after redirects.
    pub(crate) address: Address,
    /// The media type without parameters, in lower case; `None` if the server does not name one.
    pub(crate) media_type: Option<String>,
    /// Size of the body, if the server names it.
    pub(crate) size_bytes: Option<u64>,
    /// The body, which fails if it breaks off.
    pub(crate) body: Body,
}

/// The body of an answer.
pub(crate) struct Body {
    reader: BodyReader<'static>,
}

impl Client {
    /// Returns a client that uses the proxies that the environment names (`HTTPS_PROXY`,
    /// `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`). It connects when it is asked for something.
    pub fn new(limits: Limits) -> Client {
        Client::with(limits, Proxies::OfEnvironment)
    }

    /// Returns a client that connects to servers directly.
    pub fn without_proxy(limits: Limits) -> Client {
        Client::with(limits, Proxies::None)
    }

    fn with(limits: Limits, proxies: Proxies) -> Client {
        Client(Arc::new(Inner {
            limits,
            proxies,
            plain: OnceLock::new(),
            encrypted: OnceLock::new(),
        }))
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Asks for an object, following redirects.
    ///
    /// # Errors
    /// If there is no answer with status 2xx.
    pub(crate) fn get(&self, address: &Address) -> Result<Response, WebError> {
        let mut address = address.clone();
        for _ in 0..=self.0.limits.redirects {
            match self.ask(address)? {
                Answer::Object(response) => return Ok(*response),
                Answer::Elsewhere(next) => address = next,
            }
        }
        Err(WebError::Redirects {
            most: self.0.limits.redirects,
            url: address.text(),
        })
    }

    /// Sends one request.
    fn ask(&self, address: Address) -> Result<Answer, WebError> {
        let response = self.agent(&address)?.get(address.url().as_str()).call()?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).map(|value| value.as_bytes());
        if matches!(status, 301 | 302 | 303 | 307 | 308) {
            let location = header("location").ok_or(WebError::NoTarget { status })?;
            return Ok(Answer::Elsewhere(address.follow(location)?));
        }
        // 206 answers only requests for a part.
        if !(200..300).contains(&status) || status == 206 {
            return Err(WebError::Status { status });
        }
        if let Some(encoding) = header("content-encoding").filter(|name| *name != b"identity") {
            let name = String::from_utf8_lossy(encoding).into_owned();
            return Err(WebError::Encoding(name));
        }
        let body = response.body();
        let media_type = body.mime_type().map(str::to_ascii_lowercase);
        let size_bytes = body.content_length();
        let reader = response.into_body().into_with_config();
        Ok(Answer::Object(Box::new(Response {
            address,
            media_type,
            size_bytes,
            body: Body {
                reader: reader.limit(u64::MAX).reader(),
            },
        })))
    }

    fn agent(&self, address: &Address) -> Result<&Agent, WebError> {
        if !address.is_https() {
            return Ok(self.0.plain.get_or_init(|| self.make(None)));
        }
        if let Some(agent) = self.0.encrypted.get() {
            return Ok(agent);
        }
        let agent = self.make(Some(encryption().ok_or(WebError::NoCertificates)?));
        Ok(self.0.encrypted.get_or_init(|| agent))
    }

    fn make(&self, encryption: Option<TlsConfig>) -> Agent {
        let Limits {
            connect,
            answer,
            silence,
            idle,
            ..
        } = self.0.limits;
        let proxy = match self.0.proxies {
            Proxies::OfEnvironment => Proxy::try_from_env(),
            Proxies::None => None,
        };
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // Redirects are checked here.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy)
            .user_agent(concat!("trawl/", env!("CARGO_PKG_VERSION")))
            .accept("*/*")
            .accept_encoding("identity")
            .max_idle_connections(8 * idle)
            .max_idle_connections_per_host(idle)
            .timeout_resolve(Some(connect))
            .timeout_connect(Some(connect))
            .timeout_recv_response(Some(answer))
            .timeout_per_read(Some(silence))
            .timeout_per_write(Some(silence));
        if let Some(encryption) = encryption {
            config = config.tls_config(encryption);
        }
        config.build().new_agent()
    }
}

/// What a server answered.
enum Answer {
    /// An object.
    Object(Box<Response>),
    /// A redirect.
    Elsewhere(Address),
}

impl Body {
    /// Reads until `wanted` bytes have arrived or the body ends. Returns the bytes, and whether the
    /// body has ended.
    ///
    /// # Errors
    /// If the body breaks off, or the bytes do not arrive within `most`.
    pub(crate) fn begin(
        &mut self,
        wanted: u64,
        most: Duration,
    ) -> Result<(Vec<u8>, bool), WebError> {
        let begun = Instant::now();
        let mut bytes = Vec::new();
        let mut piece = vec![0; 64 << 10];
        while (bytes.len() as u64) < wanted {
            let left = usize::try_from(wanted - bytes.len() as u64).unwrap_or(usize::MAX);
            let room = piece.len().min(left);
            match self.read_some(&mut piece[..room])? {
                0 => return Ok((bytes, true)),
                count => bytes.extend_from_slice(&piece[..count]),
            }
            if begun.elapsed() > most {
                return Err(WebError::Slow(most));
            }
        }
        Ok((bytes, false))
    }

    /// Reads some bytes; 0 only at the end of the body.
    ///
    /// # Errors
    /// If the body breaks off.
    pub(crate) fn read_some(&mut self, piece: &mut [u8]) -> Result<usize, WebError> {
        loop {
            match self.reader.read(piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other.map_err(WebError::of_io),
            }
        }
    }
}
