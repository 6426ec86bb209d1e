//! `trawl token`: makes, lists and revokes the secrets with which programs ask the service for many
//! users ([`trawl_identity::credentials`]); lists and revokes sessions of browsers, too.
//!
//! The owner of the service's directory runs it. A running server notices what it changes.

mod create;
mod list;

use std::path::PathBuf;
use std::time::SystemTime;

use trawl_identity::DIRECTORY;
use trawl_identity::credentials::Credentials;
use trawl_report::Schema;
use trawl_sys::become_user::User;

use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::say;

const EXAMPLES: &str = "\
Examples:
  trawl token create --user alice --note 'nightly report' > token
                                          make a token, which is printed once
  trawl token create --user alice --scope names --expires 12h
                                          for names and attributes only, for 12 hours
  trawl token list                        list tokens, and sessions of browsers
  trawl token revoke 4f1d0c22ab09         end one of them
  trawl token revoke --all-of alice       end all tokens and sessions of a user
  curl -H \"Authorization: Bearer $(cat token)\" https://HOST/api/v1/me

Whoever has a token asks as its user, who sees what the file system lets them see.
The service learns of a change at once. Only the owner of the directory in which
the service keeps them (--directory) can run this command.";

// Options of `trawl token`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make a token for a program, and print it: it is stored nowhere
    Create(create::CreateArgs),
    /// List tokens and sessions that have not expired
    List(list::ListArgs),
    /// End tokens and sessions, from the next question on
    Revoke(RevokeArgs),
}

// Where tokens are.
#[derive(Debug, clap::Args)]
struct PlaceArgs {
    /// Use the tokens of the service that keeps them in DIR (trawl serve --sessions)
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    directory: PathBuf,
}

impl PlaceArgs {
    /// Opens what is there, without making a directory for a misspelt name.
    fn existing(&self) -> Result<Credentials, Failure> {
        Ok(Credentials::open_existing(&self.directory)?)
    }
}

/// Options of `trawl token revoke`.
#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// End these, named by the ids that trawl token list shows
    #[arg(value_name = "ID", required_unless_present = "all_of")]
    ids: Vec<String>,
    /// End all tokens and sessions of USER
    #[arg(long, value_name = "USER", conflicts_with = "ids")]
    all_of: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Spec for TokenArgs {
    const ABOUT: &'static str = "Make, list and revoke tokens of the service for many users";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const SEE_ALSO: &'static [&'static str] = &["trawl-serve(1)", "curl(1)"];
    const REPORTS: &'static [&'static Schema] = &[&list::SCHEMA];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        match &self.action {
            Action::Create(args) => create::run(args),
            Action::List(args) => list::run(args),
            Action::Revoke(args) => revoke(args),
        }
    }
}

fn revoke(args: &RevokeArgs) -> Result<Exit, Failure> {
    let credentials = args.place.existing()?;
    if let Some(user) = &args.all_of {
        let user_shown = shown(user.as_bytes());
        // They have the account's own name, unless the account is gone.
        let account = User::account(user).map_or(user.clone(), |(account, _)| account);
        return Ok(match credentials.revoke_all_of(&account)? {
            0 => {
                say(format_args!("{user_shown} has no tokens and no sessions"));
                Exit::Fatal
            }
            1 => {
                say(format_args!("ended 1 token or session of {user_shown}"));
                Exit::Complete
            }
            count => {
                say(format_args!(
                    "ended {count} tokens and sessions of {user_shown}"
                ));
                Exit::Complete
            }
        });
    }
    let mut exit = Exit::Complete;
    for id in &args.ids {
        if !credentials.revoke(id)? {
            say(format_args!(
                "no token or session has the id {}: trawl token list shows the ids",
                shown(id.as_bytes())
            ));
            exit = Exit::Fatal;
        }
    }
    Ok(exit)
}

/// The time for which a token is made, or looked at.
fn now() -> SystemTime {
    SystemTime::now()
}
