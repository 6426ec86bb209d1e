//! From what the provider says to a user of this machine, and to a session that ends with the rule.

use std::net::IpAddr;

use trawl_identity::attempts::Key;
use trawl_identity::credentials::{Grant, Scopes};
use trawl_model::escape::escape;
use trawl_remote::tls::users::{Users, claim};
use trawl_sys::become_user::{User, UserError};

use super::line::Line;
use super::{Asked, Refused, Shown, Told as Said, Why};
use crate::gate::messages::{Refusal, Told};
use crate::gate::proofs::{Proofs, broken};

/// Everything that decides about users of the provider.
#[derive(Debug)]
pub struct OpenId {
    /// The way to the process that speaks with the provider.
    pub line: Line,
    /// The rules.
    pub users: Users,
}

impl OpenId {
    /// Returns the identity and the name of the user for what the provider says.
    fn user(&self, shown: Shown) -> Result<(String, String), Refusal> {
        let issuer = &self.line.settings.issuer;
        let names = self.users.claims(issuer).map_err(broken)?;
        let asked = Asked::Finish {
            shown,
            claims: names.clone(),
        };
        let claims = match self.line.ask(asked).map_err(refusal)? {
            Said::Claims(claims) => claims,
            Said::Address(_) => return Err(Refusal::new(500, "the answer is lost")),
        };
        // Each is checked again here, and what nobody asked for is left out.
        let identity = |name: &String| claim(issuer, name, claims.get(name)?);
        let identities: Vec<String> = names.iter().filter_map(identity).collect();
        if let Some(found) = self.users.line(&identities).map_err(broken)? {
            return Ok(found);
        }
        let own = identities.first().cloned();
        let shown = own.or_else(|| identity(&"sub".to_owned()));
        let line = shown.map_or_else(
            || format!("oidc:{issuer}#sub=…=USER"),
            |identity| format!("{identity}=USER"),
        );
        let file = self.users.path().display();
        Err(Refusal::new(
            403,
            format!(
                "you are logged in at {}, and belong to no user here: ask the administrator for \
                 the line {line} in {file}",
                self.line.settings.name
            ),
        ))
    }
}

impl Proofs {
    /// Begins a login at the provider.
    ///
    /// # Errors
    /// Returns the refusal if none begins.
    pub fn begin_openid(&self, hash: String, address: Option<IpAddr>) -> Result<Told, Refusal> {
        match self.openid()?.line.ask(Asked::Begin { hash, address }) {
            Ok(Said::Address(address)) => Ok(Told::Address(address)),
            Ok(Said::Claims(_)) => Err(Refusal::new(500, "the answer is lost")),
            Err(refused) => Err(refusal(refused)),
        }
    }

    /// Begins a session by what the provider says.
    ///
    /// # Errors
    /// Returns the refusal if no session begins.
    pub fn finish_openid(&self, shown: Shown, address: Option<IpAddr>) -> Result<Told, Refusal> {
        let openid = self.openid()?;
        let keys: Vec<Key> = address.map(Key::address).into_iter().collect();
        self.begin(&keys)?;
        let (identity, name) = openid.user(shown)?;
        if let Err(UserError::Superuser) = User::named(&name) {
            let why = "the line for you names the superuser, who cannot log in";
            return Err(Refusal::new(403, why));
        }
        let begun = self.session(&name, Scopes::all(), None, Some(&identity))?;
        self.forget(&keys);
        Ok(begun)
    }

    /// Checks that a session's rule still is there, and names the same user.
    ///
    /// # Errors
    /// Says that it is not; then the session is ended.
    pub(in crate::gate) fn rule_holds(&self, grant: &Grant) -> Result<(), Refusal> {
        let Some(identity) = &grant.identity else {
            return Ok(());
        };
        let holds = match &self.openid {
            None => false,
            Some(openid) => {
                let before = format!("oidc:{}#", openid.line.settings.issuer);
                let own = std::slice::from_ref(identity);
                let found = openid.users.line(own).map_err(broken)?;
                match found.filter(|_| identity.starts_with(&before)) {
                    None => false,
                    Some((_, name)) if name == grant.user => true,
                    Some((_, name)) => match User::account(&name) {
                        Ok((account, _)) => account == grant.user,
                        // Whoever cannot be looked up now may be there later.
                        Err(error @ UserError::Database(_)) => return Err(broken(error)),
                        Err(_) => false,
                    },
                }
            }
        };
        if holds {
            return Ok(());
        }
        self.credentials.revoke(&grant.id).map_err(broken)?;
        let why = "this session has ended: the line by which it began is gone; log in again";
        Err(Refusal::new(401, why))
    }

    fn openid(&self) -> Result<&OpenId, Refusal> {
        let none = || Refusal::new(403, "this server knows no provider of OpenID Connect");
        self.openid.as_ref().ok_or_else(none)
    }
}

/// Returns what a client is told; the details are for the administrator.
fn refusal(refused: Refused) -> Refusal {
    let Refused { why, cause } = refused;
    if why != Why::NotBegun {
        let shown = escape(cause.as_bytes());
        eprintln!("trawl: OpenID Connect: {shown}");
    }
    match why {
        Why::NotBegun => Refusal::new(
            403,
            "this login did not begin in this tab, was used, or took longer than 10 minutes: log \
             in again",
        ),
        Why::NotBelieved => Refusal::new(
            403,
            "what the provider says cannot be believed, or it refuses: log in again, or tell the \
             administrator",
        ),
        Why::NoProvider => Refusal::new(
            503,
            "the provider cannot be asked right now: try again, or tell the administrator",
        ),
        Why::Busy => Refusal::until(503, "the server is busy: try again", 1),
    }
}
