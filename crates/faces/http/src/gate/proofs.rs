//! Who a client is: from what it has shown to a user of this machine.

use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

use trawl_identity::attempts::{Attempts, Key};
use trawl_identity::credentials::{Credentials, Grant, Kind, MAX_TEXT_BYTES, New, Scopes};
use trawl_model::sync::lock;
use trawl_remote::tls::users::Users;
use trawl_sys::become_user::{User, UserError};
use trawl_sys::identity::effective_uid;

use super::messages::{NAME_BYTES, Proof, Refusal, Told, Who};
use super::openid::login::OpenId;
use super::password::Passwords;
use super::rates::Rates;
use crate::limits::IDLE;

/// What is said of a wrong name, of a wrong password, and of the superuser.
pub const WRONG: &str = "the user name or the password is wrong";

/// Everything that decides who a client is.
#[derive(Debug)]
pub struct Proofs {
    /// Sessions and tokens.
    pub credentials: Credentials,
    /// Failed logins.
    pub attempts: Attempts,
    /// Questions of each user.
    pub rates: Mutex<Rates>,
    /// How passwords are checked, if they are.
    pub passwords: Option<Passwords>,
    /// The users of certificates, if those are asked for.
    pub users: Option<Users>,
    /// Users of the provider of OpenID Connect, if there is one.
    pub openid: Option<OpenId>,
    /// Whether there is a socket for proxies.
    pub has_proxies: bool,
    /// Number of the user that the front runs as.
    pub front: u32,
}

impl Proofs {
    /// Returns the user behind a proof, if this user may ask now.
    ///
    /// # Errors
    /// Says why not.
    pub fn known(&self, proof: &Proof) -> Result<(Who, User), Refusal> {
        let unknown = |why: &str| Refusal::new(401, why);
        let (by, name, scopes) = match proof {
            Proof::Secret(secret) => {
                let grant = self.grant(secret)?.ok_or_else(|| {
                    unknown("this session or token does not hold, or no longer: log in again")
                })?;
                self.rule_holds(&grant)?;
                let by = format!("{} {}", grant.kind.name(), grant.id);
                (by, grant.user, grant.scopes)
            }
            Proof::Certificate(identities) => {
                let Some(users) = &self.users else {
                    return Err(unknown("this server asks for no certificates"));
                };
                let name = users
                    .name(identities)
                    .map_err(|why| Refusal::new(403, why))?;
                ("certificate".to_owned(), name, Scopes::all())
            }
            Proof::Proxy(_) if !self.has_proxies => {
                return Err(unknown("this server knows no proxies"));
            }
            Proof::Proxy(name) => ("proxy".to_owned(), name.clone(), Scopes::all()),
        };
        self.may_ask(&name)?;
        let (account, user) = self.user(&name)?;
        // However it is spelled, it is one user's bucket.
        if account != name {
            self.may_ask(&account)?;
        }
        let who = Who {
            user: account,
            uid: user.uid,
            by,
            scopes: scopes.to_string(),
        };
        Ok((who, user))
    }

    /// Takes a question out of a user's bucket, before anything is looked up.
    fn may_ask(&self, name: &str) -> Result<(), Refusal> {
        let taken = lock(&self.rates).take(name, Instant::now());
        let often = "you ask too often: wait a moment";
        taken.map_err(|wait| Refusal::until(429, often, wait.as_secs() + 1))
    }

    /// Returns the user of this name with all groups, as they are now, and the account's own name.
    fn user(&self, name: &str) -> Result<(String, User), Refusal> {
        let found = User::account(name).map_err(|why| Refusal::new(403, why.to_string()))?;
        let (_, user) = &found;
        let own = effective_uid();
        let why = match () {
            () if own != 0 && own != user.uid => {
                "this server does not run as the superuser, and serves its own user only"
            }
            // This user may do something to the process that strangers speak to.
            () if own == 0 && user.uid == self.front => "the user of the server itself may not ask",
            () => return Ok(found),
        };
        Err(Refusal::new(403, why))
    }

    fn grant(&self, secret: &str) -> Result<Option<Grant>, Refusal> {
        let now = SystemTime::now();
        if secret.len() > NAME_BYTES {
            return Ok(None);
        }
        let grant = self.credentials.find(secret, now).map_err(broken)?;
        if let Some(grant) = grant.as_ref().filter(|grant| grant.kind == Kind::Session) {
            // It holds all the same, for as long as it would have.
            if let Err(error) = self.credentials.used(&grant.id, now) {
                eprintln!("trawl: {error}");
            }
        }
        Ok(grant)
    }

    /// Begins a session by a password.
    ///
    /// # Errors
    /// Returns the refusal if no session begins.
    pub fn log_in(
        &self,
        user_name: &str,
        password: &str,
        address: Option<IpAddr>,
    ) -> Result<Told, Refusal> {
        let Some(passwords) = &self.passwords else {
            return Err(Refusal::new(403, "this server checks no passwords"));
        };
        let wrong = || Refusal::new(403, WRONG);
        let is_sound = |text: &str| !text.contains('\0') && text.len() <= NAME_BYTES;
        if !is_sound(user_name) || !is_sound(password) {
            return Err(wrong());
        }
        let of_address: Vec<Key> = address.map(Key::address).into_iter().collect();
        self.begin(&of_address)?;
        // Attempts are counted for the account, however its name is spelled.
        let found = User::account(user_name);
        let account = match &found {
            Ok((account, _)) => account.as_str(),
            Err(_) => user_name,
        };
        let of_user = Key::user(account);
        self.begin(std::slice::from_ref(&of_user))
            .inspect_err(|_| self.forget(&of_address))?;
        let keys = [of_address, vec![of_user]].concat();
        // Nobody learns whether a password is the superuser's.
        if let Err(UserError::Superuser) = found {
            return Err(wrong());
        }
        let name = passwords.check(user_name, password, address)?;
        if let Err(UserError::Superuser) = User::named(&name) {
            return Err(wrong());
        }
        let begun = self.session(&name, Scopes::all(), None, None)?;
        self.forget(&keys);
        Ok(begun)
    }

    /// Begins a session by a token; it may ask what the token may, and ends with it.
    ///
    /// # Errors
    /// Returns the refusal if no session begins.
    pub fn exchange(&self, token: &str, address: Option<IpAddr>) -> Result<Told, Refusal> {
        let keys: Vec<Key> = address.map(Key::address).into_iter().collect();
        self.begin(&keys)?;
        let grant = self.grant(token)?;
        let Some(grant) = grant.filter(|grant| grant.kind == Kind::Token) else {
            return Err(Refusal::new(403, "this token does not hold, or no longer"));
        };
        let begun = self.session(&grant.user, grant.scopes, Some(&grant.id), None)?;
        self.forget(&keys);
        Ok(begun)
    }

    /// Counts an attempt, which fails until [`Proofs::forget`] says otherwise.
    pub(super) fn begin(&self, keys: &[Key]) -> Result<(), Refusal> {
        let now = Instant::now();
        let waits = keys.iter().filter_map(|key| self.attempts.wait(key, now));
        // Where one of them has to wait, none is counted.
        let wait = waits
            .max()
            .or_else(|| keys.iter().find_map(|key| self.attempts.begin(key, now)));
        wait.map_or(Ok(()), |wait| {
            let why = "too many attempts failed: wait before the next one";
            Err(Refusal::until(429, why, wait.as_secs() + 1))
        })
    }

    /// Takes back an attempt that was right. It forgets the failures at the user's name, and not those
    /// of others at the same address.
    pub(super) fn forget(&self, keys: &[Key]) {
        for key in keys {
            match key.is_user() {
                true => self.attempts.succeeded(key),
                false => self.attempts.take_back(key),
            }
        }
    }

    /// Begins a session; it ends with the token, or the rule for the identity, by which it began.
    pub(super) fn session(
        &self,
        name: &str,
        scopes: Scopes,
        token: Option<&str>,
        identity: Option<&str>,
    ) -> Result<Told, Refusal> {
        self.may_ask(name)?;
        // A session of somebody who may not ask would only puzzle its owner.
        let (account, _) = self.user(name)?;
        let new = New {
            kind: Kind::Session,
            user: &account,
            scopes,
            lifetime: IDLE,
            // Lists show how it began.
            note: identity
                .filter(|text| text.len() <= MAX_TEXT_BYTES)
                .unwrap_or(""),
            token,
            identity,
        };
        let created = self.credentials.create(new, SystemTime::now());
        let (secret, grant) = created.map_err(broken)?;
        Ok(Told::Session {
            secret,
            user: grant.user,
        })
    }

    /// Ends a session. Tokens stay.
    ///
    /// # Errors
    /// Says why it cannot be ended.
    pub fn end(&self, secret: &str) -> Result<(), Refusal> {
        match self.grant(secret)? {
            Some(grant) if grant.kind == Kind::Session => {
                self.credentials.revoke(&grant.id).map_err(broken)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Returns what a client is told if something is wrong here; the details are for the administrator.
pub(super) fn broken(error: impl std::fmt::Display) -> Refusal {
    eprintln!("trawl: {error}");
    Refusal::new(
        503,
        "sessions cannot be looked up right now; tell the administrator",
    )
}
