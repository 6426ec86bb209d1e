//! The process that speaks with the provider. It runs as the user of the front and starts no programs.
//! Because it holds the client's secret, other processes of its user can never trace it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use trawl_sys::become_user::become_untraced;
use trawl_sys::message::{Waiting, send};

use super::provider::Provider;
use super::settings::Settings;
use super::{Answer, Asked, Refused, Request, Told, Why};
use crate::gate::front::READY;
use crate::gate::messages::{hear, tell};

/// The word that makes this program speak with the provider.
pub const WORD: &str = "--openid";

/// Most logins that are begun or ended at a time.
const MOST: usize = 64;

/// Answers the keeper, until the other end of standard input is closed.
///
/// # Errors
/// Says what is invalid of what the keeper gives.
pub fn serve() -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot speak with the provider: {error}");
    let control = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let settings = given(&control).map_err(failed)?;
    let provider = Arc::new(Provider::new(settings)?);
    let control = Arc::new(control);
    // Each thread holds a copy.
    let count = Arc::new(());
    while let Some((request, _)) = hear::<Request>(&*control, Waiting::Allowed).map_err(failed)? {
        let (provider, to, place) = (
            Arc::clone(&provider),
            Arc::clone(&control),
            Arc::clone(&count),
        );
        let number = request.number;
        let is_room = Arc::strong_count(&count) <= MOST + 1;
        let work = move || {
            let _place = place;
            let told = answer(&provider, request.asked);
            // A keeper that has ended needs no answer.
            let _ = tell(&*to, &Answer { number, told }, None, Waiting::Allowed);
        };
        let thread = std::thread::Builder::new().name("login".into());
        if !is_room || thread.spawn(work).is_err() {
            let told = Err(Refused::new(Why::Busy, "too many logins at a time"));
            let _ = tell(&*control, &Answer { number, told }, None, Waiting::Allowed);
        }
    }
    Ok(())
}

fn given(control: &OwnedFd) -> io::Result<Settings> {
    become_untraced()?;
    send(control, READY, None, Waiting::Allowed)?;
    let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (settings, _) = hear::<Settings>(control, Waiting::Allowed)?.ok_or_else(missing)?;
    Ok(settings)
}

fn answer(provider: &Provider, asked: Asked) -> Result<Told, Refused> {
    match asked {
        Asked::Begin { hash, address } => provider.begin(&hash, address),
        Asked::Finish { shown, claims } => provider.finish(shown, &claims),
    }
}
