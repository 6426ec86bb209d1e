//! `trawl groups`: files that belong together ([`trawl_groups`]). Lists groups, shows members, explains
//! why a file belongs to its group, and moves files to other groups.

mod edit;
mod explain;
mod learnt;
mod list;
mod show;
mod together;

use std::path::PathBuf;

use trawl_groups::{EditsFile, Grouper, Places, Rules};
use trawl_report::{Field, Schema};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;

use crate::arguments::Manner;
use crate::commands::{IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Device, Output, say};
use crate::scope::Session;

pub(crate) use together::{Indexes, Together, why};

const EXAMPLES: &str = "\
Examples:
  trawl groups list /home                  list the groups with files below /home
  trawl groups list --word firefox --newer 7d
                                           list groups that may have such a file
  trawl groups show coreutils              show the files of a package
  trawl groups explain src/main.rs         show the group of a file, and why
  trawl groups edit --to tax 2023.pdf      move a file to a group of your own
  trawl groups edit --undo 2023.pdf        leave it to the rules again
  trawl find / -group-of src/main.rs       find the members with other tests
  trawl find / -in-group coreutils -size +1M

Packages, projects, albums, events and directories are groups; trawl groups rules
prints the rules. Files that your programs opened together (trawl run --learn) and
that no rule claims form groups, too. Every file belongs to one group, a directory to none.";

// Options of `trawl groups`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GroupsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List groups, with the number and size of their files
    List(list::ListArgs),
    /// Show the files of a group
    Show(show::ShowArgs),
    /// Show the groups of files, and why they belong to them
    Explain(explain::ExplainArgs),
    /// Move files to a group, or leave them to the rules again
    Edit(edit::EditArgs),
    /// Print the rules in effect
    Rules(RulesArgs),
}

// Options of every question about groups.
#[derive(Debug, clap::Args)]
struct AskArgs {
    /// Use the index in DIR
    #[arg(short, long, value_name = "DIR")]
    index: Option<PathBuf>,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    manner: Manner,
}

// The file of rules.
#[derive(Debug, clap::Args)]
struct RulesArgs {
    /// Use the rules in FILE
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

impl AskArgs {
    /// Opens the index, and reads rules and edits.
    fn open(&self, setting: Setting<'_>) -> Result<(Session, Grouper), Failure> {
        let (grouper, left_out) = grouper(self.rules.rules.clone())?;
        let index = self.index.clone().or(setting.index);
        let manner = setting.manner.then(self.manner);
        let mut session = Session::open(index, manner, Exit::Fatal)?;
        if let Some(why) = left_out {
            say(why);
            session.worsen(Exit::from_issues(1));
        }
        Ok((session, grouper))
    }
}

/// Returns the groups of the rules in effect, with the user's edits and what the user's programs
/// taught, and why learnt groups are left out, if they are.
pub(crate) fn grouper(rules: Option<PathBuf>) -> Result<(Grouper, Option<String>), Failure> {
    let places = Places::of_process(rules);
    let rules = Rules::load(&places)?;
    let mut grouper = Grouper::new(&rules, EditsFile::read(&places)?)?;
    let left_out = learnt::add(&mut grouper)?;
    Ok((grouper, left_out))
}

/// The text that a terminal can show, or the bytes themselves elsewhere.
fn terminal() -> Terminal {
    match Device::of_stdout() {
        Device::Terminal => Terminal::Watched(Locale::from_env()),
        Device::Other => Terminal::Absent,
    }
}

const ID: Field = Field::text(
    "group_id",
    "id of a group of files, sixteen hexadecimal digits",
);
const NAME: Field = Field::bytes("group_name", "name of a group of files");
const RULE: Field = Field::text("rule", "name of the rule that makes the group");

impl Spec for GroupsArgs {
    const ABOUT: &'static str = "List, show, explain and edit groups of files that belong together";
    const INDEX: IndexOption = IndexOption::None;
    const SEE_ALSO: &'static [&'static str] = &["trawl-find(1)", "trawl-top(1)", "dpkg-query(1)"];
    const REPORTS: &'static [&'static Schema] = &[&list::SCHEMA, &show::SCHEMA, &explain::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        match &self.action {
            Action::List(args) => list::run(args, setting),
            Action::Show(args) => show::run(args, setting),
            Action::Explain(args) => explain::run(args, setting),
            Action::Edit(args) => edit::run(args),
            Action::Rules(args) => rules(args),
        }
    }
}

fn rules(args: &RulesArgs) -> Result<Exit, Failure> {
    let rules = Rules::load(&Places::of_process(args.rules.clone()))?;
    let mut output = Output::stdout();
    output.put(rules.text())?;
    output.finish()?;
    Ok(Exit::Complete)
}
