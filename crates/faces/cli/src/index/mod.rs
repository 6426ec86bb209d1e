//! `trawl index`: scans trees or reads a trace, with one source and one snapshot each, and
//! maintains the index (`--verify`, `--gc`, `--check-permissions`).
//!
//! A scan that is interrupted or fails leaves the previous snapshot unchanged and removes its own
//! files. After a failure, the next root is still scanned.

mod after_scan;
pub(crate) mod check;
mod events;
mod keywords;
mod named;
pub(crate) mod progress;
mod scan;
pub(crate) mod summary;
mod text;
pub(crate) mod upkeep;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use trawl_indexer::text::TextChoice;
use trawl_indexer::text::keywords::KeywordsChoice;
use trawl_indexer::{Exclusion, IdMapChoice, Job, ScanOptions, Unchanged};
use trawl_report::Schema;
use trawl_scan::trace::STANDARD_INPUT;
use trawl_scan::{Mounts, Xattrs};

use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer};
use crate::settings;

use self::progress::{ProgressWhen, Style};
use self::scan::{Telling, scan_all};

const EXAMPLES: &str = "\
Examples:
  trawl index /home                      scan a tree, or scan it again
  trawl index --exclude .snapshot /data  leave out some names
  trawl index --from-trace home.trace --root /home
  zcat home.gz | trawl index --from-trace - --root /home
  trawl index --text /srv/src            for trawl grep: index contents, too
  trawl index --id-map lab.ids /mnt/lab  translate foreign user and group ids
  trawl index --keep last=3,daily=7,weekly=5 /home
  trawl index --gc --dry-run             show what would be removed, and why
  trawl index --refresh /home/ann        update a directory, through the daemon
  trawl index define big --kind ordered --on size /srv
                                         define a named index; see list, show, drop
  trawl index ./define                   scan a directory with the name of an action
  trawl index --verify                   check every byte of the index
  trawl index --rebuild-names            rebuild damaged or missing name sidecars
  trawl index --check-permissions --user ann /home

An interrupted scan leaves the previous snapshot unchanged and exits with 130.";

/// The forms of the summary.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const JSON: &'static str = "Print the summary as one JSON object per line";
}

// Options of `trawl index`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    action: Option<named::Action>,
    /// Scan these trees, each as a source of its own
    #[arg(value_name = "PATH", required_unless_present_any = ["from_trace", "refresh", "verify", "gc", "rebuild_names", "check_permissions"])]
    paths: Vec<OsString>,
    /// Do not enter other file systems (the default)
    #[arg(long, overrides_with = "cross_file_systems")]
    one_file_system: bool,
    /// Enter other file systems that are mounted below
    #[arg(long, overrides_with = "one_file_system")]
    cross_file_systems: bool,
    /// Leave out names or paths that match GLOB
    ///
    /// GLOB is a shell pattern for a name or, if it contains a slash, for a whole path. Paths are
    /// absolute, so it then begins with / or a wildcard. The source's next scans use it, too.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<OsString>,
    /// Leave nothing out, regardless of earlier scans
    #[arg(long, conflicts_with = "exclude")]
    no_exclude: bool,
    /// Read with N threads [default: one per core, at most 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Do not read extended attributes
    #[arg(long)]
    no_xattr: bool,
    /// Write everything anew, even if unchanged since the last scan
    #[arg(long, conflicts_with = "trust_ctime")]
    full: bool,
    /// Trust unchanged ctimes, to skip reading attributes and ACLs
    ///
    /// Directories without extended attributes and ACLs at the last scan are not checked for them
    /// again, unless the ctime or another attribute of an entry in them has changed. Applies only
    /// to ext2 to ext4, XFS and Btrfs. The result is wrong if something changed a disk without the
    /// kernel noticing, or if the clock was set back.
    #[arg(long)]
    trust_ctime: bool,
    /// Create a new index that only its owner may read
    ///
    /// Without this option the superuser's index is for all users; each of them sees what the
    /// permissions on the source allow.
    #[arg(long)]
    private: bool,
    /// Map user and group ids of a foreign file system
    ///
    /// FILE has lines such as uid 1000-1999 501000, gid 100 100, or uid * keep. The source's next
    /// scans use the map, too; none removes it.
    #[arg(long, value_name = "FILE|none")]
    id_map: Option<PathBuf>,
    /// Also index the contents of files, so that trawl grep reads only candidates
    ///
    /// The source's next scans do it, too, and read only files that have changed.
    #[arg(long, conflicts_with = "from_trace")]
    text: bool,
    /// Leave larger files out of the text index [default: 33554432]
    #[arg(long, value_name = "BYTES", requires = "text")]
    text_max_size: Option<u64>,
    /// Remove the text index
    #[arg(long, conflicts_with = "text")]
    no_text: bool,
    /// Also index the words and attributes of files, for trawl find -keyword, -phrase and -attr
    ///
    /// The source's next scans do it, too, and read only files that have changed.
    #[arg(long, conflicts_with = "from_trace")]
    keywords: bool,
    /// Remove the index of words and attributes
    #[arg(long, conflicts_with = "keywords")]
    no_keywords: bool,
    /// Read a GUFI trace instead of a tree (-: standard input)
    ///
    /// A trace on standard input must have its directories in depth-first order, sorted by name.
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    from_trace: Option<PathBuf>,
    /// Set the traced tree's mount point [default: / and FILE's stem]
    #[arg(long, value_name = "PATH")]
    root: Option<OsString>,
    #[command(flatten)]
    retention: upkeep::RetentionArgs,
    /// List these issues, the paths that could not be read
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    issues: IssuesShown,
    /// Show nothing but errors and issues
    #[arg(short, long)]
    quiet: bool,
    /// Report the progress in this way
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    progress: ProgressWhen,
    /// Check every byte of the index, after the scan if any
    #[arg(long)]
    verify: bool,
    /// Remove data that no snapshot needs, after the scan if any
    #[arg(long)]
    gc: bool,
    /// Rebuild missing or damaged name sidecars, after the scan if any
    #[arg(long)]
    rebuild_names: bool,
    /// With --gc, only show which snapshots would stay or go, and why
    #[arg(long, requires = "gc", conflicts_with_all = ["paths", "from_trace"])]
    dry_run: bool,
    /// Bring a directory and everything below it up to date
    ///
    /// Asks the daemon that watches the directory, which the directory's owner may do, too. Without
    /// a daemon, the source that contains the directory is scanned, if the user may write the
    /// index.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["paths", "from_trace"])]
    refresh: Vec<OsString>,
    #[command(flatten)]
    check: check::CheckArgs,
    #[command(flatten)]
    form: FormArgs<Offered>,
}

impl Spec for IndexArgs {
    const ABOUT: &'static str = "Scan trees and write them into the index";
    const CLASS: Class = Class::Writer;
    const SEE_ALSO: &'static [&'static str] = &[
        "trawl-sources(1)",
        "trawl-watch(1)",
        "trawl-gc(1)",
        "trawl-verify(1)",
    ];
    const REPORTS: &'static [&'static Schema] = &[
        events::ALL[0],
        events::ALL[1],
        events::ALL[2],
        events::ALL[3],
        events::ALL[4],
        &check::report::FINDING,
        &check::report::DIFFERENCE,
        &check::report::USER,
        &check::report::CHECKED,
        &check::progress::COMPARED,
        &upkeep::REBUILT,
        &upkeep::FINDING,
        &upkeep::VERIFIED,
        &upkeep::VERDICT,
        &upkeep::PLANNED,
        &upkeep::COLLECTED,
        &named::LIST,
        &named::SHOW,
        &crate::related::SCHEMA,
    ];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        match &self.action {
            Some(action) => action.run(setting),
            None => run(setting.index, self),
        }
    }
}

/// Issues that are listed at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum IssuesShown {
    /// The first 20
    #[default]
    First,
    /// All, as they are found
    All,
    /// None; issues are still counted and kept in the index
    None,
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &IndexArgs) -> Result<Exit, Failure> {
    if !args.refresh.is_empty() {
        return scan::refresh(index, &args.refresh);
    }
    let dir = settings::index_dir(index.clone())?;
    if args.check.check_permissions {
        let form = args.form.form();
        return check::run(&dir, &args.paths, &args.check, args.style(), form);
    }
    let mut exit = Exit::Complete;
    if args.from_trace.is_some() || !args.paths.is_empty() {
        // The parents of the default directory may be missing on a new account.
        if index.is_none() {
            settings::make_parents(&dir)?;
        }
        let jobs = jobs(args)?;
        let options = args.scan_options();
        exit = scan_all(&dir, jobs.clone(), &options, args.telling())?;
        if exit <= Exit::Issues {
            exit = exit.and(text::update_all(
                &dir,
                jobs_of(&args.paths),
                (&options, args),
            )?);
            exit = exit.and(keywords::update_all(
                &dir,
                jobs_of(&args.paths),
                (&options, args),
            )?);
            let is_shown = !args.quiet && !args.form.is_json();
            exit = exit.and(named::update_all(&dir, jobs, is_shown)?);
        }
    }
    if exit != Exit::Interrupted && args.gc {
        let act = match args.dry_run {
            true => upkeep::tell_all,
            false => upkeep::collect_all,
        };
        exit = exit.and(act(&dir, &args.retention.retention(), args.form.form())?);
    }
    if exit != Exit::Interrupted && args.rebuild_names {
        exit = exit.and(upkeep::rebuild_names(&dir, args.form.form())?);
    }
    if exit != Exit::Interrupted && args.verify {
        exit = exit.and(upkeep::verify(&dir, args.form.form())?);
    }
    Ok(exit)
}

fn jobs_of(paths: &[OsString]) -> Vec<Job> {
    paths.iter().map(|path| Job::Walk(path.into())).collect()
}

fn jobs(args: &IndexArgs) -> Result<Vec<Job>, Failure> {
    use std::os::unix::ffi::OsStrExt;
    let Some(file) = &args.from_trace else {
        if args.root.is_some() {
            let text = "--root says where a trace was mounted: it needs --from-trace FILE";
            return Err(Failure::Usage(text.into()));
        }
        return Ok(jobs_of(&args.paths));
    };
    let root = match &args.root {
        None if file.as_os_str().as_bytes() == STANDARD_INPUT => {
            let text = "--from-trace - needs --root PATH, where the traced tree was mounted";
            return Err(Failure::Usage(text.into()));
        }
        None => None,
        Some(root) => Some(
            trawl_model::path::normalize(root.as_bytes()).ok_or_else(|| {
                Failure::Usage("--root takes an absolute path, such as /home".into())
            })?,
        ),
    };
    Ok(vec![Job::Trace {
        file: file.clone(),
        root,
    }])
}

impl IndexArgs {
    fn scan_options(&self) -> ScanOptions {
        let patterns = || self.exclude.iter().cloned().map(OsString::into_vec);
        ScanOptions {
            exclusion: match self.exclude.is_empty() && !self.no_exclude {
                true => Exclusion::AsBefore,
                false => Exclusion::Patterns(patterns().collect()),
            },
            mounts: match self.cross_file_systems && !self.one_file_system {
                true => Mounts::Cross,
                false => Mounts::Stay,
            },
            xattrs: match self.no_xattr {
                true => Xattrs::Skip,
                false => Xattrs::Read,
            },
            threads: self.threads.map_or(0, usize::from),
            unchanged: match (self.full, self.trust_ctime) {
                (true, _) => Unchanged::Rewritten,
                (_, true) => Unchanged::TrustCtime,
                _ => Unchanged::Shared,
            },
            id_map: match &self.id_map {
                None => IdMapChoice::AsBefore,
                Some(path) if path.as_os_str() == "none" => IdMapChoice::Nothing,
                Some(path) => IdMapChoice::File(path.clone()),
            },
            retention: self.retention.retention(),
        }
    }

    fn text_choice(&self) -> TextChoice {
        match (self.no_text, self.text) {
            (true, _) => TextChoice::Nothing,
            (_, true) => TextChoice::UpTo(self.text_max_size),
            _ => TextChoice::AsBefore,
        }
    }

    fn keywords_choice(&self) -> KeywordsChoice {
        match (self.no_keywords, self.keywords) {
            (true, _) => KeywordsChoice::Nothing,
            (_, true) => KeywordsChoice::Wanted,
            _ => KeywordsChoice::AsBefore,
        }
    }

    fn telling(&self) -> Telling {
        Telling {
            style: self.style(),
            issues: self.issues,
            is_quiet: self.quiet,
            is_json: self.form.is_json(),
            readers: self.private.then_some(trawl_format::Readers::Owner),
        }
    }

    /// Returns the style of progress on this terminal; `--quiet` silences it unless `--progress`
    /// was given.
    fn style(&self) -> Style {
        if self.quiet && self.progress == ProgressWhen::Auto {
            Style::Silent
        } else {
            self.progress.style()
        }
    }
}
