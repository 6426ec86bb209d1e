//! Requests to the provider: without redirects, and with bounds on the time and size of answers.

use std::sync::OnceLock;
use std::time::Duration;

use openidconnect::url::Url;
use openidconnect::{HttpRequest, HttpResponse};
use ureq::Agent;

use super::settings::may_ask;

/// Time until an answer must have come as a whole.
pub const ANSWER: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
pub const ANSWER_BYTES: u64 = 256 << 10;
/// Most bytes of the headers of an answer.
const HEAD_BYTES: usize = 64 << 10;

/// Sends requests.
#[derive(Debug)]
pub struct Fetch {
    /// Whether the provider is on this machine and speaks without TLS.
    is_local: bool,
    agent: OnceLock<Agent>,
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The address is not one that may be asked.
    #[error("{url} is no address with https://")]
    Address {
        /// The address.
        url: String,
    },
    /// The system trusts no authority.
    #[error("the system has no certificates of authorities: install ca-certificates")]
    NoCertificates,
    /// The answer names another place.
    #[error("{url} sends the request elsewhere, which is not followed")]
    Redirect {
        /// The address.
        url: String,
    },
    /// It cannot be reached, or its answer breaks a limit.
    #[error("{url}: {source}")]
    Failed {
        /// The address.
        url: String,
        /// The reason.
        source: ureq::Error,
    },
}

impl Fetch {
    /// Returns a client, which connects when it is asked for something.
    pub fn new(is_local: bool) -> Fetch {
        Fetch {
            is_local,
            agent: OnceLock::new(),
        }
    }

    /// Sends a request, and returns the whole answer.
    ///
    /// # Errors
    /// Says why there is none.
    pub fn send(&self, request: HttpRequest) -> Result<HttpResponse, FetchError> {
        let url = request.uri().to_string();
        let parsed = Url::parse(&url).ok();
        if !parsed.is_some_and(|parsed| may_ask(&parsed, self.is_local)) {
            return Err(FetchError::Address { url });
        }
        let failed = |source| FetchError::Failed {
            url: url.clone(),
            source,
        };
        let response = self.agent()?.run(request).map_err(failed)?;
        if response.status().is_redirection() {
            return Err(FetchError::Redirect { url });
        }
        let (head, body) = response.into_parts();
        let body = body.into_with_config().limit(ANSWER_BYTES).read_to_vec();
        Ok(HttpResponse::from_parts(head, body.map_err(failed)?))
    }

    fn agent(&self) -> Result<&Agent, FetchError> {
        if let Some(agent) = self.agent.get() {
            return Ok(agent);
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_response_header_size(HEAD_BYTES)
            .user_agent(concat!("trawl/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .proxy(None)
            .timeout_global(Some(ANSWER));
        if !self.is_local {
            config = config
                .https_only(true)
                .tls_config(trawl_web::encryption().ok_or(FetchError::NoCertificates)?);
        }
        Ok(self.agent.get_or_init(|| config.build().new_agent()))
    }
}
