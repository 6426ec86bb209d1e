//! `trawl report`: what the page of `trawl web` shows, as one HTML file or as mail.

mod file;
mod mail;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use trawl_overview::ask::{Asker, Subject, roots};
use trawl_overview::document::Document;
use trawl_overview::mail::Address;
use trawl_query::AsOf;
use trawl_session::{When, now};
use trawl_text::owners::Owners;

use crate::arguments::Manner;
use crate::at::described;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, say};
use crate::scope::exit_of;
use crate::{live, settings};

const HELP: &str = "\
The page works without a network: it has no script, and loads nothing. It shows
what you may see. Each section says as of when it is true, what it lacks, and
which command line gives the same. With -o or --mail, nothing is printed unless
something fails. The exit code is 1 if something is missing in the report.

-o replaces FILE as a whole, with its permissions kept; only you can read a new
file. --mail hands a message, with the report as text and as HTML, to
sendmail -t -i.

Examples:
  trawl report /srv -o report.html      write a page about /srv
  trawl report --mail ann@example.org   mail a report on all indexed trees
  trawl report --sections growth,changes /srv -o srv.html
                                        only how /srv grew and what changed";

/// Most remarks that are said on standard error.
const REMARKS: usize = 20;

/// Where sendmail is where it is not in the search path, as under cron.
const SENDMAIL: [&str; 2] = ["/usr/sbin/sendmail", "/usr/lib/sendmail"];

// Options of `trawl report`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct ReportArgs {
    /// Report on these paths [default: all indexed trees]
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Write the page to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Send the report to ADDRESS; several are joined by commas
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    mail: Vec<Address>,
    /// Send mail with PROGRAM instead of sendmail
    #[arg(long, value_name = "PROGRAM", requires = "mail")]
    sendmail: Option<PathBuf>,
    /// Write only these sections, joined by commas
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    sections: Vec<Wanted>,
    /// Show N rows in each table
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Spec for ReportArgs {
    const ABOUT: &'static str = "Write a report on indexed trees as a page or as mail";
    const SEE_ALSO: &'static [&'static str] = &["trawl-web(1)", "trawl-top(1)", "trawl-growth(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// A section of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted(Subject);

impl clap::ValueEnum for Wanted {
    fn value_variants<'a>() -> &'a [Wanted] {
        const ALL: [Wanted; Subject::ALL.len()] = {
            let mut all = [Wanted(Subject::Sources); Subject::ALL.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = Wanted(Subject::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.title()))
    }
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &ReportArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let manner = manner.then(args.manner);
    manner.prepare();
    let document = document(index, args, manner)?;
    let exit = exit_of(&document.lacking(), Exit::Fatal);
    if exit == Exit::Fatal {
        say_what_lacks(&document);
    }
    // A report about nothing replaces and tells nothing.
    if exit == Exit::Fatal
        && document
            .sections
            .iter()
            .all(|section| section.as_of.is_empty())
    {
        return Ok(exit);
    }
    if args.output.is_none() && args.mail.is_empty() {
        let mut output = Output::stdout();
        output.put(trawl_overview::html(&document))?;
        output.finish()?;
        return Ok(exit);
    }
    if let Some(path) = &args.output {
        file::replace(path, trawl_overview::html(&document).as_bytes())?;
    }
    if !args.mail.is_empty() {
        mail::send(&document, &args.mail, args.sendmail.as_deref())?;
    }
    Ok(exit)
}

/// Says once what sections lack.
fn say_what_lacks(document: &Document) {
    let mut said: Vec<&str> = Vec::new();
    for remark in document
        .sections
        .iter()
        .flat_map(|section| &section.remarks)
    {
        if said.len() < REMARKS && !said.contains(&remark.as_str()) {
            said.push(remark);
            say(remark);
        }
    }
}

/// Asks all questions.
fn document(
    index: Option<PathBuf>,
    args: &ReportArgs,
    manner: Manner,
) -> Result<Document, Failure> {
    let when = manner.when();
    let indexes = settings::indexes_to_ask(index.clone())?;
    let paths = match args.paths.is_empty() {
        true => roots(&indexes)?,
        false => args.paths.iter().map(|path| spelled(path)).collect(),
    };
    if paths.is_empty() {
        let why =
            "the index is empty, or has nothing that you may see: add a tree with trawl index PATH";
        return Err(Failure::Usage(why.into()));
    }
    let asker = Asker {
        indexes,
        named_index: index,
        paths,
        when,
        options: options(when),
        interrupts: live::interrupts(),
        limit: args.limit,
        now: now(),
        names: Owners::default(),
    };
    let is_wanted =
        |subject: &Subject| args.sections.is_empty() || args.sections.contains(&Wanted(*subject));
    let mut document = Document {
        title: title(&asker.paths),
        origin: origin(when, asker.now)?,
        made: asker.now,
        sections: Vec::new(),
    };
    for subject in Subject::ALL.iter().filter(|subject| is_wanted(subject)) {
        document.sections.push(asker.section(*subject)?);
    }
    Ok(document)
}

/// Returns a path that no command takes for an option.
fn spelled(path: &OsStr) -> OsString {
    match path.as_bytes().starts_with(b"-") {
        true => {
            let mut spelled = OsString::from("./");
            spelled.push(path);
            spelled
        }
        false => path.to_owned(),
    }
}

/// Returns the options of time for command lines that give the same.
fn options(when: When) -> Vec<String> {
    use trawl_session::Wait;
    let at = when.at.map(|at| match at {
        AsOf::Snapshot(id) => format!("--at={id}"),
        AsOf::Back(0) | AsOf::Now => "--at=latest".into(),
        AsOf::Back(steps) => format!("--at=-{steps}"),
        AsOf::Time(time) => format!("--at=@{}.{:09}", time.secs, time.nanos),
    });
    let wait = match when.wait {
        Wait::IfWatched => None,
        Wait::Never => Some("--no-wait".into()),
        Wait::UpTo(time) => Some(format!("--fresh={}s", time.as_secs_f64())),
    };
    let age = |age: std::time::Duration| format!("--max-age={}s", age.as_secs_f64());
    let all = [at, wait, when.max_age.map(age)];
    all.into_iter().flatten().collect()
}

fn title(paths: &[OsString]) -> Vec<u8> {
    let mut title = b"Trawl report".to_vec();
    const NAMED: usize = 3;
    for (at, path) in paths.iter().take(NAMED).enumerate() {
        title.extend_from_slice(if at == 0 { b": " } else { b", " });
        title.extend_from_slice(path.as_bytes());
    }
    if paths.len() > NAMED {
        title.extend(format!(" and {} more", paths.len() - NAMED).bytes());
    }
    title
}

/// Says for whom, where, when and with what the report was made.
fn origin(
    when: When,
    now: trawl_model::Timestamp,
) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
    let mut origin = vec![
        ("Made", trawl_overview::moment(now).into_bytes()),
        ("For", user()?),
        ("On", host()),
    ];
    if let Some(at) = when.at {
        origin.push(("Snapshot", described(at).into_bytes()));
    }
    let version = concat!("Trawl ", env!("CARGO_PKG_VERSION"));
    origin.push(("By", version.as_bytes().to_vec()));
    Ok(origin)
}

/// Returns the name of the asking user.
fn user() -> Result<Vec<u8>, Failure> {
    let id = settings::asker()?.uid;
    let name = Owners::default().user(id);
    Ok(name.map_or_else(|| id.0.to_string().into_bytes(), |name| name.to_vec()))
}

/// Returns the name of this machine.
fn host() -> Vec<u8> {
    let name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    name.strip_suffix(b"\n").unwrap_or(&name).to_vec()
}
