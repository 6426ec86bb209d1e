//! `trawl view`: defines, lists, shows and removes views ([`trawl_views`]), and checks questions.
//! `trawl view answer` is how a mount of views has a question answered.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use trawl_report::{Field, Row, Schema, schema};
use trawl_text::locale::Locale;
use trawl_text::quote::Quoting;
use trawl_views::store::{Defined, SYSTEM};
use trawl_views::{Question, Scope, Store, View, ViewError, answer};

use crate::arguments::Manner;
use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Objects};
use crate::groups::{Indexes, Together};
use crate::output::{Output, say};
use crate::rows;

const EXAMPLES: &str = "\
Examples:
  trawl view define logs /var/log -name '*.log' -size +1M
                                          define a view
  trawl view define objects /srv '?ext:o&size>1M'
                                          the same kind of question in its short form
  trawl view list                         list the views
  trawl mount --views ~/views             mount them
  ls ~/views/logs                         ask the question
  ls ~/views/'?in:%2Fsrv&ext:o'           ask one that was not defined
  ls ~/views/by-group/linux               list the files of a group (trawl groups)

A view is a question with the words of find(1): where to look, and tests. Users who
list it ask as themselves.";

// Options of `trawl view`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ViewArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Define a view, or give an existing one another question
    Define(DefineArgs),
    /// List the views and their questions
    List(ListArgs),
    /// Show the question of a view
    Show(ShowArgs),
    /// Remove a view
    Remove(RemoveArgs),
    /// Check a question, and show it in the words of find
    Check(CheckArgs),
    /// Answer a question of a mount, as the asking user
    #[command(hide = true)]
    Answer,
}

// Where the definitions for everybody are.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    /// Read the views for everybody from DIR
    #[arg(long, value_name = "DIR", default_value = SYSTEM)]
    definitions: PathBuf,
}

impl PlaceArgs {
    /// Returns the places of definitions.
    pub(crate) fn store(&self) -> Store {
        Store::of_process(&self.definitions)
    }

    /// Returns the words that say the same.
    pub(crate) fn words(&self) -> [OsString; 2] {
        ["--definitions".into(), self.definitions.clone().into()]
    }
}

/// Options of `trawl view define`.
#[derive(Debug, clap::Args)]
struct DefineArgs {
    /// Define it for everybody
    #[arg(long)]
    system: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// Name the view NAME, which is the name of its directory
    #[arg(value_name = "NAME")]
    name: String,
    /// Search these directories with this expression, as find(1) does
    #[arg(
        value_name = "QUESTION",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    question: Vec<OsString>,
}

/// Options of `trawl view list`.
#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

/// Options of `trawl view show`.
#[derive(Debug, clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    form: FormArgs<Objects>,
    /// Show the view NAME
    #[arg(value_name = "NAME")]
    name: String,
}

/// Options of `trawl view remove`.
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// Remove a view that was defined for everybody
    #[arg(long)]
    system: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// Remove the view NAME
    #[arg(value_name = "NAME")]
    name: String,
}

/// Options of `trawl view check`.
#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// Check this question: directories and an expression, or ?KEY:VALUE&...
    #[arg(
        value_name = "QUESTION",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    question: Vec<OsString>,
}

const VIEW: Field = Field::text("view", "name of a view, which is that of its directory");
const SCOPE: Field = Field::text("scope", "who can see a view: `own` or `all`");
const QUESTION: Field = Field::text(
    "question",
    "words of a view's question, separated by spaces; `%20` is a space within a word, as in a file of definitions",
);
const COMMAND: Field = Field::bytes("command", "command for a shell that finds a view's members");
const DEFINED_IN: Field = Field::bytes("defined_in", "path of the file that defines a view");

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "a view",
    fields: &[VIEW, SCOPE, QUESTION, COMMAND, DEFINED_IN],
    forms: schema::OBJECTS,
    samples: &["view list {form} --definitions ../views.d"],
};

impl Spec for ViewArgs {
    const ABOUT: &'static str = "Define questions that are directories where views are mounted";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const SEE_ALSO: &'static [&'static str] = &["trawl-mount(1)", "trawl-find(1)", "find(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        match &self.action {
            Action::Define(args) => define(args),
            Action::List(args) => list(args),
            Action::Show(args) => show(args),
            Action::Remove(args) => remove(args),
            Action::Check(args) => check(args),
            Action::Answer => answer_mount(),
        }
    }
}

fn scope(is_system: bool) -> Scope {
    match is_system {
        true => Scope::System,
        false => Scope::Own,
    }
}

fn question(words: &[OsString]) -> Result<Question, Failure> {
    let directory = std::env::current_dir().map_err(Failure::NoWorkingDirectory)?;
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_vec()).collect();
    Ok(Question::from_words(&words, &directory)?)
}

fn define(args: &DefineArgs) -> Result<Exit, Failure> {
    let view = View::new(&args.name, question(&args.question)?)?;
    args.place.store().define(&view, scope(args.system))?;
    Ok(Exit::Complete)
}

fn remove(args: &RemoveArgs) -> Result<Exit, Failure> {
    let store = args.place.store();
    store.remove(&args.name, scope(args.system))?;
    Ok(Exit::Complete)
}

/// Returns the question as words for a shell.
fn shown(question: &Question) -> Vec<u8> {
    let words = question.words();
    let quoted = words.iter().map(|word| {
        Quoting::ShellEscape
            .quote(word, Locale::from_env())
            .into_owned()
    });
    quoted.collect::<Vec<_>>().join(&b' ')
}

fn scope_text(scope: Scope) -> &'static str {
    match scope {
        Scope::Own => "own",
        Scope::System => "all",
    }
}

fn fill(row: &mut Row<'_>, defined: &Defined) {
    let question = &defined.view.question;
    row.put(&VIEW, &defined.view.name)
        .put(&SCOPE, scope_text(defined.scope))
        .put(&QUESTION, &question.line())
        .put(&COMMAND, &command(question))
        .put(&DEFINED_IN, defined.path.as_os_str().as_bytes());
}

fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let all = args.place.store().read();
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    for defined in &all.views {
        let text = || {
            let begin = format!("{}\t{}\t", defined.view.name, scope_text(defined.scope));
            [begin.as_bytes(), &shown(&defined.view.question), b"\n"].concat()
        };
        report.line(text, |row| fill(row, defined))?;
    }
    rows::finish(report)?;
    all.issues.iter().for_each(say);
    Ok(match all.issues.is_empty() {
        true => Exit::Complete,
        false => Exit::Issues,
    })
}

fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let all = args.place.store().read();
    let mut views = all.views.iter();
    let Some(defined) = views.find(|one| one.view.name == args.name) else {
        // It may be one of these.
        all.issues.iter().for_each(say);
        let name = args.name.clone().into_bytes();
        return Err(ViewError::Unknown { name }.into());
    };
    let mut report = rows::report(&SCHEMA, args.form.form());
    let text = || [&command(&defined.view.question)[..], b"\n"].concat();
    report.line(text, |row| fill(row, defined))?;
    rows::finish(report)?;
    Ok(Exit::Complete)
}

/// Returns the command that finds a question's members.
fn command(question: &Question) -> Vec<u8> {
    [&b"trawl find "[..], &shown(question)].concat()
}

fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    print(&question(&args.question)?)
}

fn print(question: &Question) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    output.put([&command(question)[..], b"\n"].concat())?;
    output.finish()?;
    Ok(Exit::Complete)
}

fn answer_mount() -> Result<Exit, Failure> {
    let failed = |source| ViewError::File {
        action: "use",
        path: Path::new("standard input and output").into(),
        source,
        advice: "",
    };
    // Standard output would hold records back until a line is full.
    let output = std::io::stdout().as_fd().try_clone_to_owned();
    let mut output = File::from(output.map_err(failed)?);
    let sources = answer::Sources {
        documents: crate::documents::lazy(),
        grouping: &|indexes| {
            Arc::new(Together {
                indexes: Indexes::These(indexes.to_vec()),
                manner: Manner::default(),
                issues: Mutex::default(),
            })
        },
    };
    answer::answer(&mut std::io::stdin().lock(), &mut output, &sources)?;
    Ok(Exit::Complete)
}
