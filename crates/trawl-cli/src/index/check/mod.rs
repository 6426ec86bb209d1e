//! `trawl index --check-permissions`: checks that users are shown exactly what they may see. The
//! kernel decides twice: a thread that has become the user looks at the source, and opens the
//! index.
//!
//! | module | contents |
//! |---|---|
//! | `people`, `sample` | the users and the directories that are checked |
//! | `source`, `recorded` | what a user may see: on the live source, or by the permission rules |
//! | `shown` | what the index shows |
//! | `facts`, `compare` | comparison of both |
//! | `audit`, `report`, `progress` | the check of one source from start to end |
//!
//! The check changes nothing except access times of directories that users list.

mod audit;
mod compare;
mod facts;
mod people;
mod progress;
mod recorded;
mod report;
mod sample;
mod shown;
mod source;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_format::{IndexDir, Readers};
use trawl_model::path;
use trawl_session::NotIndexed;

use self::audit::{Wanted, audit};
use self::people::Person;
use self::sample::Size;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::index::progress::Style;
use crate::output::{Output, say};
use crate::scope::not_indexed;
use trawl_session::now;

/// Default number of directories that are looked at in each source.
const SAMPLE: u32 = 1000;

// Options of the check.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Compare what the index shows users with what the file system shows
    ///
    /// Checks the given trees, or all. Scans nothing, and needs root.
    #[arg(long, conflicts_with_all = ["from_trace", "verify", "gc", "id_map", "private"])]
    pub(crate) check_permissions: bool,
    /// Check for USER [default: directory owners, some accounts, nobody]
    ///
    /// USER is a name, a number, or a number with groups, such as 1000:100,4.
    #[arg(long, value_name = "USER", requires = "check_permissions")]
    user: Vec<OsString>,
    /// Look at N directories of each tree [default: 1000]
    ///
    /// The sample has some directories of each kind of permissions.
    #[arg(long, value_name = "N", requires = "check_permissions",
          value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// Look at all directories
    #[arg(long, requires = "check_permissions", conflicts_with = "sample")]
    all: bool,
    /// Choose the same directories as a run that reported this seed
    #[arg(long, value_name = "NUMBER", requires = "check_permissions")]
    seed: Option<u64>,
}

/// Format of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Checks the trees at these paths, or all sources if there are none.
pub(crate) fn run(
    dir: &Path,
    paths: &[OsString],
    args: &CheckArgs,
    style: Style,
    form: Form,
) -> Result<Exit, Failure> {
    if trawl_sys::identity::effective_uid() != 0 {
        let text = "--check-permissions acts as one user after the other: run it as root";
        return Err(Failure::Usage(text.into()));
    }
    let people: Result<Vec<Person>, Failure> = args.user.iter().map(people::named).collect();
    let people = people?;
    let cancel = trawl_sys::signal::watch_interrupts()
        .map_err(|error| Failure::Usage(format!("cannot watch for signals: {error}")))?;
    // Other users may lack permissions for our working directory.
    let dir = std::path::absolute(dir).map_err(Failure::NoWorkingDirectory)?;
    let index = IndexDir::open(&dir)?;
    if index.readers() == Readers::Owner {
        let text = format!(
            "{} is private to its owner: other users see nothing of it",
            dir.display()
        );
        return Err(Failure::Usage(text));
    }
    let wanted = Wanted {
        dir: &dir,
        size: args.size(),
        people: &people,
        style,
        cancel,
    };
    let mut exit = Exit::Complete;
    let mut output = Output::stdout();
    let targets = targets(&index, paths, &mut exit)?;
    for (source, top) in &targets {
        let Some(report) = audit(&index, source, top, &wanted)? else {
            continue;
        };
        match form {
            Form::Text => output.put(report.text())?,
            Form::Json => {
                for object in report.json() {
                    output.put(object.close() + "\n")?;
                }
            }
        }
        exit = exit.and(report.exit());
    }
    output.finish()?;
    Ok(exit)
}

impl CheckArgs {
    fn size(&self) -> Size {
        let most = match self.all {
            true => usize::MAX,
            false => usize::try_from(self.sample.unwrap_or(SAMPLE)).unwrap_or(usize::MAX),
        };
        let seed = self.seed.unwrap_or_else(|| u64::from(now().nanos));
        Size { most, seed }
    }
}

/// Returns the sources that contain the paths, each with the path at which to begin.
fn targets(
    index: &IndexDir,
    paths: &[OsString],
    exit: &mut Exit,
) -> Result<Vec<(trawl_format::Source, Vec<u8>)>, Failure> {
    let sources = || index.sources().map_err(Failure::from);
    if paths.is_empty() {
        let whole = |source: trawl_format::Source| {
            let root = source.root().to_vec();
            (source, root)
        };
        return Ok(sources()?.into_iter().map(whole).collect());
    }
    let mut targets = Vec::new();
    for given in paths {
        let real = std::fs::canonicalize(given).ok();
        let real = real
            .as_deref()
            .map_or(given.as_bytes(), |path| path.as_os_str().as_bytes());
        let around = path::normalize(real).and_then(|real| {
            let sources = sources().ok()?.into_iter();
            let around = sources.filter(|source| path::is_within(&real, source.root()));
            let nearest = around.max_by_key(|source| source.root().len())?;
            Some((nearest, real))
        });
        match around {
            Some(target) => targets.push(target),
            None => {
                let sources = sources()?;
                let roots = sources.iter().map(trawl_format::Source::root);
                let nearest = roots.max_by_key(|root| NotIndexed::shared_names(real, root));
                say(not_indexed(real, nearest));
                *exit = exit.and(Exit::Fatal);
            }
        }
    }
    Ok(targets)
}
