//! `trawl index --check-permissions`: checks that users are shown exactly what they may see. The
//! kernel decides twice: a thread that has become the user looks at the source, and opens the
//! index.
//!
//! The check changes nothing except access times of directories that users list.

pub(super) mod progress;
pub(super) mod report;

use std::ffi::OsString;
use std::path::Path;

use trawl_format::Source;
use trawl_indexer::check::{Checker, Person, Size, named, require_superuser};
use trawl_indexer::{Control, IndexerError};
use trawl_session::NotIndexed;

use self::progress::Progress;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::index::progress::Style;
use crate::output::say;
use crate::rows::{self, Form};
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

/// Checks the trees at these paths, or all sources if there are none.
pub(crate) fn run(
    dir: &Path,
    paths: &[OsString],
    args: &CheckArgs,
    style: Style,
    form: Form,
) -> Result<Exit, Failure> {
    require_superuser()?;
    let people = args.user.iter().map(|user| named(user));
    let people = people.collect::<Result<Vec<Person>, IndexerError>>()?;
    let cancel = trawl_sys::signal::watch_interrupts()
        .map_err(|error| Failure::Usage(format!("cannot watch for signals: {error}")))?;
    // Other users may lack permissions for our working directory.
    let dir = std::path::absolute(dir).map_err(Failure::NoWorkingDirectory)?;
    let control = Control { cancel, clock: now };
    let checker = Checker::open(&dir, people, args.size(), control)?;
    let mut exit = Exit::Complete;
    let mut rows = rows::report(&report::CHECKED, form);
    let targets = targets(&checker, paths, &mut exit)?;
    for (source, top) in &targets {
        let checked = checker.check(source, top, &mut Progress::new(style))?;
        let Some(report) = checked else {
            continue;
        };
        match form {
            Form::Text => rows.put(report::text(&report))?,
            _ => report::write(&report, &mut rows)?,
        }
        exit = exit.and(Exit::from_issues(report.problems()));
    }
    rows::finish(rows)?;
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
    checker: &Checker<'_>,
    paths: &[OsString],
    exit: &mut Exit,
) -> Result<Vec<(Source, Vec<u8>)>, Failure> {
    if paths.is_empty() {
        let whole = |source: Source| {
            let root = source.root().to_vec();
            (source, root)
        };
        return Ok(checker.sources()?.into_iter().map(whole).collect());
    }
    let mut targets = Vec::new();
    for given in paths {
        match checker.around(given) {
            Ok(target) => targets.push(target),
            Err(real) => {
                let sources = checker.sources()?;
                let roots = sources.iter().map(Source::root);
                let nearest = roots.max_by_key(|root| NotIndexed::shared_names(&real, root));
                say(not_indexed(&real, nearest));
                *exit = exit.and(Exit::Fatal);
            }
        }
    }
    Ok(targets)
}
