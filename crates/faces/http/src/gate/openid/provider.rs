//! The provider: its addresses and keys, and what is checked of the tokens that it gives for codes.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreClientAuthMethod,
    CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm as Algorithm, CoreProviderMetadata, CoreRevocableToken,
    CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AdditionalClaims, AuthType, AuthorizationCode, ClaimsVerificationError, Client, ClientId,
    ClientSecret, CsrfToken, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet,
    IdToken, IdTokenClaims, IdTokenFields, IssuerUrl, Nonce, PkceCodeChallenge, RedirectUrl,
    RequestTokenError, Scope, SignatureVerificationError, StandardErrorResponse,
    StandardTokenResponse, TokenResponse,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_model::sync::lock;

use super::fetch::{Fetch, FetchError};
use super::pending::{Logins, Pending, is_hash};
use super::settings::{Settings, may_ask};
use super::{CODE_BYTES, Refused, Shown, Told, Why};
use crate::gate::places::network;

/// Time after which the provider's description and keys are fetched again.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// Most times that they are fetched in a minute, however many unknown keys there are.
pub const FETCHES_A_MINUTE: usize = 6;
/// Longest time since the provider made a token.
const TOKEN_AGE: Duration = Duration::from_secs(10 * 60);
/// How far the provider's clock may be ahead.
const CLOCKS: Duration = Duration::from_secs(60);

/// The algorithms of signatures that are believed: those with a public key.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::RsaSsaPssSha384,
    Algorithm::RsaSsaPssSha512,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// Claims that the standard does not name.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Others {
    #[serde(flatten)]
    all: BTreeMap<String, Value>,
}

impl AdditionalClaims for Others {}

type Token = IdToken<Others, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, Algorithm>;
type Claims = IdTokenClaims<Others, CoreGenderClaim>;
type Fields = IdTokenFields<
    Others,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    Algorithm,
>;
/// The crate's client, with all claims.
type Asker = Client<
    Others,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<Fields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The provider.
#[derive(Debug)]
pub struct Provider {
    settings: Settings,
    issuer: IssuerUrl,
    redirect: RedirectUrl,
    fetch: Fetch,
    known: Mutex<Known>,
    logins: Mutex<Logins>,
}

/// What is known of the provider.
#[derive(Debug, Default)]
struct Known {
    described: Option<(Arc<CoreProviderMetadata>, Instant)>,
    /// When its description was fetched last.
    fetched: VecDeque<Instant>,
}

impl Provider {
    /// Returns the provider of these settings. It is asked when that is needed.
    ///
    /// # Errors
    /// Fails if an address is invalid.
    pub fn new(settings: Settings) -> Result<Provider, String> {
        Ok(Provider {
            issuer: IssuerUrl::new(settings.issuer.clone()).map_err(|error| error.to_string())?,
            redirect: RedirectUrl::new(settings.redirect.clone())
                .map_err(|error| error.to_string())?,
            fetch: Fetch::new(settings.is_local()),
            settings,
            known: Mutex::default(),
            logins: Mutex::default(),
        })
    }

    /// Begins a login, and returns the address at which the user logs in.
    ///
    /// # Errors
    /// Fails if the hash is none, or the provider cannot be asked.
    pub fn begin(&self, hash: &str, address: Option<IpAddr>) -> Result<Told, Refused> {
        if !is_hash(hash) {
            return Err(Refused::new(Why::NotBegun, "the page shows no hash"));
        }
        let asker = self.asker(&*self.described(None)?);
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let scopes = self.settings.scopes.iter().cloned().map(Scope::new);
        let (url, state, nonce) = asker
            .authorize_url(
                flow,
                || CsrfToken::new_random_len(32),
                || Nonce::new_random_len(32),
            )
            .add_scopes(scopes)
            .set_pkce_challenge(challenge)
            .url();
        if !may_ask(&url, self.settings.is_local()) {
            return Err(no_provider("its address to log in is not https://"));
        }
        lock(&self.logins).add(Pending {
            state: state.secret().clone(),
            hash: hash.to_owned(),
            network: address.map(network),
            begun: Instant::now(),
            nonce,
            verifier,
        });
        Ok(Told::Address(url.into()))
    }

    /// Ends a login: exchanges the code for a token, and returns these claims of it, and `sub`.
    ///
    /// # Errors
    /// Fails if the login has not begun, the provider cannot be asked, or its token is not to be
    /// believed.
    pub fn finish(&self, shown: Shown, claims: &[String]) -> Result<Told, Refused> {
        let taken = lock(&self.logins).take(&shown.state, &shown.secret, Instant::now());
        let Some(login) = taken else {
            return Err(Refused::new(Why::NotBegun, "no such login has begun"));
        };
        if shown
            .issuer
            .is_some_and(|issuer| issuer != self.settings.issuer)
        {
            return Err(not_believed("another provider has sent the browser back"));
        }
        if shown.code.is_empty() || shown.code.len() > CODE_BYTES {
            return Err(not_believed("the code is too short or too long"));
        }
        let described = self.described(None)?;
        let seen = Instant::now();
        let token = self.token(&described, shown.code, &login)?;
        let unknown_key = ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey,
        );
        let checked = match self.checked(&described, &token, &login.nonce) {
            // The provider has a new key.
            Err(error) if error == unknown_key => {
                let described = self.described(Some(seen))?;
                self.checked(&described, &token, &login.nonce)
            }
            checked => checked,
        };
        let checked = checked.map_err(|error| not_believed(text(&error)))?;
        wanted(&checked, claims).map(Told::Claims)
    }

    /// Exchanges a code for a token.
    fn token(
        &self,
        described: &CoreProviderMetadata,
        code: String,
        login: &Pending,
    ) -> Result<Token, Refused> {
        let asker = self.asker(described);
        let request = asker
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| no_provider(text(&error)))?;
        let verifier = openidconnect::PkceCodeVerifier::new(login.verifier.secret().clone());
        let send = |request| self.fetch.send(request);
        let answer = request.set_pkce_verifier(verifier).request(&send);
        let answer = answer.map_err(|error| match &error {
            RequestTokenError::Request(_) => no_provider(text(&error)),
            _ => not_believed(text(&error)),
        })?;
        let token = answer.id_token().cloned();
        token.ok_or_else(|| not_believed("its answer has no ID token"))
    }

    /// Checks a token: issuer, audience, authorised party, signature, times and nonce.
    fn checked(
        &self,
        described: &CoreProviderMetadata,
        token: &Token,
        nonce: &Nonce,
    ) -> Result<Claims, ClaimsVerificationError> {
        let asker = self.asker(described);
        let verifier = asker
            .id_token_verifier()
            .set_allowed_algs(ALGORITHMS)
            .set_issue_time_verifier_fn(|issued| is_recent(issued.into(), SystemTime::now()));
        let claims = token.claims(&verifier, nonce)?;
        // The crate leaves this to its users.
        match claims.authorized_party() {
            Some(party) if party.as_str() != self.settings.client_id => {
                let why = "the token is for another party".to_owned();
                Err(ClaimsVerificationError::Other(why))
            }
            _ => Ok(claims.clone()),
        }
    }

    fn asker(&self, described: &CoreProviderMetadata) -> Asker {
        let id = ClientId::new(self.settings.client_id.clone());
        let secret = ClientSecret::new(self.settings.client_secret.clone());
        let methods = described.token_endpoint_auth_methods_supported();
        let can = |method| methods.is_none_or(|methods| methods.contains(&method));
        let auth = match can(CoreClientAuthMethod::ClientSecretBasic) {
            true => AuthType::BasicAuth,
            false => AuthType::RequestBody,
        };
        Asker::from_provider_metadata(described.clone(), id, Some(secret))
            .set_redirect_uri(self.redirect.clone())
            .set_auth_type(auth)
    }

    /// Returns the provider's description and keys, fetched again if they are old, or not younger than
    /// `than`. That is bounded, so that tokens with unknown keys do not make requests.
    fn described(&self, than: Option<Instant>) -> Result<Arc<CoreProviderMetadata>, Refused> {
        let mut known = lock(&self.known);
        let now = Instant::now();
        let old = known.described.clone();
        let is_young = |(_, at): &&(_, Instant)| {
            now.saturating_duration_since(*at) < FRESH && than.is_none_or(|than| *at > than)
        };
        if let Some((described, _)) = old.as_ref().filter(is_young) {
            return Ok(Arc::clone(described));
        }
        // Old keys still hold if the provider cannot be asked right now.
        let old = old
            .filter(|_| than.is_none())
            .map(|(described, _)| described);
        if !known.may_fetch(now) {
            return old.ok_or_else(|| no_provider("it was asked too often within a minute"));
        }
        let send = |request| -> Result<_, FetchError> { self.fetch.send(request) };
        match CoreProviderMetadata::discover(&self.issuer, &send) {
            Ok(described) => {
                let described = Arc::new(described);
                known.described = Some((Arc::clone(&described), Instant::now()));
                Ok(described)
            }
            Err(error) => old.ok_or_else(|| no_provider(text(&error))),
        }
    }
}

impl Known {
    /// Counts a fetch, if one more may begin.
    fn may_fetch(&mut self, now: Instant) -> bool {
        let minute = Duration::from_secs(60);
        self.fetched
            .retain(|at| now.saturating_duration_since(*at) < minute);
        let may = self.fetched.len() < FETCHES_A_MINUTE;
        if may {
            self.fetched.push_back(now);
        }
        may
    }
}

/// Checks when a token was made.
fn is_recent(issued: SystemTime, now: SystemTime) -> Result<(), String> {
    match now.duration_since(issued) {
        Ok(age) if age > TOKEN_AGE => Err("the token was made too long ago".to_owned()),
        Err(ahead) if ahead.duration() > CLOCKS => Err("the token was made later than now".into()),
        _ => Ok(()),
    }
}

/// Returns the claims with these names that are texts, and `sub`. An address of mail counts only if
/// the provider has checked it.
fn wanted(claims: &Claims, names: &[String]) -> Result<BTreeMap<String, String>, Refused> {
    let all = serde_json::to_value(claims).map_err(|error| not_believed(error.to_string()))?;
    let is_verified = all.get("email_verified") == Some(&Value::Bool(true));
    let names = names.iter().map(String::as_str).chain(["sub"]);
    let found = names.filter(|name| *name != "email" || is_verified);
    let found = found.filter_map(|name| {
        let value = all.get(name)?.as_str()?;
        Some((name.to_owned(), value.to_owned()))
    });
    Ok(found.collect())
}

fn no_provider(cause: impl Into<String>) -> Refused {
    Refused::new(Why::NoProvider, cause)
}

fn not_believed(cause: impl Into<String>) -> Refused {
    Refused::new(Why::NotBelieved, cause)
}

/// Returns an error with its causes.
fn text(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        let next = one.to_string();
        // Some errors repeat their cause.
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = one.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_recent() {
        let now = SystemTime::now();
        let second = Duration::from_secs(1);
        for (issued, is_good) in [
            (now, true),
            (now - TOKEN_AGE, true),
            (now - TOKEN_AGE - second, false),
            (now + CLOCKS, true),
            (now + CLOCKS + second, false),
        ] {
            assert_eq!(is_recent(issued, now).is_ok(), is_good, "{issued:?}");
        }
    }

    #[test]
    fn fetches_are_bounded() {
        let (mut known, now) = (Known::default(), Instant::now());
        let fetched = (0..100).filter(|_| known.may_fetch(now)).count();
        assert_eq!(fetched, FETCHES_A_MINUTE);
        assert!(known.may_fetch(now + Duration::from_secs(60)));
    }
}
