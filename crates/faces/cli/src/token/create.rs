//! `trawl token create`.

use std::time::Duration;

use trawl_identity::credentials::{Credentials, Kind, New, Scopes};
use trawl_sys::become_user::{User, UserError};
use trawl_sys::identity::effective_uid;

use super::list::minute;
use super::{PlaceArgs, now};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::{Output, say};

/// Options of `trawl token create`.
#[derive(Debug, clap::Args)]
pub(super) struct CreateArgs {
    /// Ask as USER of this machine
    #[arg(long, value_name = "USER")]
    user: String,
    /// Allow only these questions: names (and attributes), contents, sql
    #[arg(
        long,
        value_name = "SCOPES",
        value_parser = str::parse::<Scopes>,
        default_value = "names,contents,sql"
    )]
    scope: Scopes,
    /// End the token after TIME, such as 12h, 90d or 1y
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "90d")]
    expires: Duration,
    /// Show TEXT in lists, such as what the token is for
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    note: String,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Makes a token and prints it.
pub(super) fn run(args: &CreateArgs) -> Result<Exit, Failure> {
    let named = shown(args.user.as_bytes());
    // Groups are looked up again at each question.
    let (account, user) = User::account(&args.user).map_err(|error| {
        Failure::Usage(match error {
            UserError::Superuser => "no token stands for the superuser".to_owned(),
            UserError::Unknown => format!("there is no user {named} on this machine"),
            error => format!("{named}: {error}"),
        })
    })?;
    let credentials = Credentials::open(&args.place.directory)?;
    if effective_uid() != 0 && user.uid != effective_uid() {
        return Err(Failure::Usage(format!(
            "a server that does not run as the superuser serves its own user only, and not {named}"
        )));
    }
    let new = New {
        kind: Kind::Token,
        user: &account,
        scopes: args.scope,
        lifetime: args.expires,
        note: &args.note,
        token: None,
        identity: None,
    };
    let (secret, grant) = credentials.create(new, now())?;
    let mut output = Output::stdout();
    let printed = output.put(format!("{secret}\n"));
    if let Err(failure) = printed.and_then(|()| output.finish()) {
        // Nobody has seen it.
        credentials.revoke(&grant.id)?;
        return Err(failure);
    }
    say(format_args!(
        "token {} of {named}, for {}, until {}: keep it, it is stored nowhere else",
        grant.id,
        grant.scopes,
        minute(grant.expires),
    ));
    Ok(Exit::Complete)
}
