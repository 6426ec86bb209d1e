//! Logins that have begun: each holds once, for a short time, and for the tab that began it.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use openidconnect::{Nonce, PkceCodeChallenge, PkceCodeVerifier};
use subtle::ConstantTimeEq;

/// Time that a user has for logging in at the provider.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// Most logins that have begun; one more ends the oldest.
pub const MOST: usize = 4096;
/// Most logins of one address; one more ends the oldest of this address, and none of others.
pub const MOST_OF_ONE: usize = 64;
/// Most logins through proxies, whose clients have no addresses here; one more ends the oldest of these.
pub const MOST_OF_PROXIES: usize = MOST / 2;

/// Length of a hash in base64url.
const HASH_BYTES: usize = 43;

/// A login that has begun.
#[derive(Debug)]
pub struct Pending {
    /// Names it; the provider sends it back.
    pub state: String,
    /// The hash of the tab's secret.
    pub hash: String,
    /// Where the client is.
    pub network: Option<IpAddr>,
    /// When it began.
    pub begun: Instant,
    /// What the provider's token must contain.
    pub nonce: Nonce,
    /// What shows the provider that whoever has the code also began the login (PKCE).
    pub verifier: PkceCodeVerifier,
}

/// All logins that have begun, the oldest first.
#[derive(Debug, Default)]
pub struct Logins(VecDeque<Pending>);

impl Logins {
    /// Adds a login.
    pub fn add(&mut self, login: Pending) {
        let now = login.begun;
        self.0.retain(|known| !is_over(known, now));
        let network = login.network;
        let most = network.map_or(MOST_OF_PROXIES, |_| MOST_OF_ONE);
        let is_same = |known: &Pending| known.network == network;
        if self.0.iter().filter(|known| is_same(known)).count() >= most
            && let Some(oldest) = self.0.iter().position(is_same)
        {
            self.0.remove(oldest);
        }
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(login);
    }

    /// Takes a login out, for whoever has the secret of its tab.
    pub fn take(&mut self, state: &str, secret: &str, now: Instant) -> Option<Pending> {
        // The texts are random: that comparing takes longer for a longer beginning tells nobody more.
        let at = self.0.iter().position(|known| known.state == state)?;
        let hash = hash_of(secret)?;
        let known = self.0.get(at)?;
        let is_ours = bool::from(known.hash.as_bytes().ct_eq(hash.as_bytes()));
        match is_ours && !is_over(known, now) {
            true => self.0.remove(at),
            false => None,
        }
    }
}

fn is_over(login: &Pending, now: Instant) -> bool {
    now.saturating_duration_since(login.begun) >= PATIENCE
}

/// Returns whether a text is a hash as the page makes it.
pub fn is_hash(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    text.len() == HASH_BYTES && text.bytes().all(is_digit)
}

/// Returns the hash of a secret, if that is one as the page makes it: it is made as that of PKCE.
fn hash_of(secret: &str) -> Option<String> {
    let secret = is_hash(secret).then(|| PkceCodeVerifier::new(secret.to_owned()))?;
    let hash = PkceCodeChallenge::from_code_verifier_sha256(&secret);
    Some(hash.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(state: usize, secret: &str, network: &str, begun: Instant) -> Pending {
        Pending {
            state: state.to_string(),
            hash: hash_of(secret).expect("a secret"),
            network: Some(network.parse().expect("an address")),
            begun,
            nonce: Nonce::new_random(),
            verifier: PkceCodeChallenge::new_random_sha256().1,
        }
    }

    #[test]
    fn a_login_holds_once_for_its_tab_and_for_a_while() {
        let (own, other) = ("a".repeat(43), "b".repeat(43));
        let (mut logins, now) = (Logins::default(), Instant::now());
        logins.add(login(1, &own, "192.0.2.1", now));
        assert!(logins.take("1", &other, now).is_none());
        assert!(logins.take("1", "", now).is_none());
        assert!(logins.take("2", &own, now).is_none());
        assert!(logins.take("1", &own, now + PATIENCE).is_none());
        let hash = hash_of(&own).expect("a secret");
        assert!(
            logins.take("1", &hash, now).is_none(),
            "the hash is no secret"
        );
        assert!(logins.take("1", &own, now).is_some());
        assert!(logins.take("1", &own, now).is_none());
    }

    #[test]
    fn the_hash_is_sha256_in_base64url() {
        // RFC 7636, appendix B.
        let hash = hash_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(
            hash.as_deref(),
            Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        );
        assert!(is_hash("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
        assert!(!is_hash("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM"));
    }

    #[test]
    fn memory_is_bounded_and_nobody_ends_the_logins_of_others() {
        let own = "a".repeat(43);
        let (mut logins, now) = (Logins::default(), Instant::now());
        logins.add(login(0, &own, "192.0.2.1", now));
        for state in 1..1000 {
            logins.add(login(state, &own, "192.0.2.2", now));
        }
        assert_eq!(logins.0.len(), 1 + MOST_OF_ONE);
        assert!(logins.take("0", &own, now).is_some());
        assert!(logins.take("1", &own, now).is_none());
        logins.add(login(0, &own, "192.0.2.1", now));
        for state in 1000..10_000_usize {
            let network = None;
            logins.add(Pending {
                network,
                ..login(state, &own, "192.0.2.3", now)
            });
        }
        assert_eq!(logins.0.len(), 1 + MOST_OF_ONE + MOST_OF_PROXIES);
        assert!(logins.take("0", &own, now).is_some());
        for state in 1000..10_000_usize {
            let network = format!("10.0.{}.{}", state / 256, state % 256);
            logins.add(login(state, &own, &network, now));
        }
        assert_eq!(logins.0.len(), MOST);
        logins.add(login(1, &own, "192.0.2.1", now + PATIENCE));
        assert_eq!(logins.0.len(), 1, "what is over is forgotten");
    }
}
