//! `trawl mount` and `trawl unmount`: a tree of another machine, or views, for all users who may see
//! the mount.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_run::mount::{self as mounts, Mounting};
use trawl_sys::signal::StopSignals;
use trawl_sys::wait::readable;
use trawl_views::serving::Visible;
use trawl_views::{Question, ViewError};

use super::{KeepingArgs, teller};
use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted};
use crate::output::say;
use crate::settings;
use crate::view::PlaceArgs;

/// Ids of the arguments that only a tree of another machine has: the place and [`KeepingArgs`].
const REMOTE: [&str; 8] = [
    "place",
    "point",
    "max_age",
    "watched_age",
    "call_by_call",
    "ca",
    "cert",
    "key",
];

// Options of `trawl mount`.
#[derive(Debug, clap::Args)]
pub(crate) struct MountArgs {
    /// Mount directory PATH of SERVER
    ///
    /// SERVER is an address as for trawl search --remote, or a host for ssh.
    #[arg(value_name = "SERVER:/PATH", required_unless_present = "views")]
    place: Option<OsString>,
    /// Mount on this empty directory
    #[arg(value_name = "POINT", required_unless_present = "views")]
    point: Option<PathBuf>,
    /// Mount the views on the empty directory POINT
    ///
    /// Each view (trawl view define) is a directory there, and so is each question in its short form,
    /// such as ?ext:o&size>1M. Entries are links to the files that the question selects.
    #[arg(long, value_name = "POINT", conflicts_with_all = REMOTE)]
    views: Option<PathBuf>,
    #[command(flatten)]
    showing: ShowingArgs,
    /// Serve in the foreground until unmounted or stopped by a signal
    #[arg(short, long)]
    foreground: bool,
    #[command(flatten)]
    keeping: KeepingArgs,
    /// Report on standard output when the mount is ready.
    #[arg(long, hide = true, requires = "foreground")]
    ready: bool,
}

// Options of `trawl mount --views`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowingArgs {
    /// For views: search DIR where a question in its short form names no directory
    ///
    /// May be given several times. By default these questions search what is indexed.
    #[arg(long = "in", value_name = "DIR", requires = "views")]
    starts: Vec<PathBuf>,
    /// For views: let all users look, each with their own permissions (root only)
    #[arg(long, requires = "views")]
    all_users: bool,
    #[command(flatten)]
    definitions: PlaceArgs,
}

impl Spec for MountArgs {
    const ABOUT: &'static str = "Mount a directory of another machine, read-only, or views";
    const CLASS: Class = Class::Server;
    const INDEX: IndexOption = IndexOption::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        (
            "trawl mount host:/srv/data /mnt",
            "mount host's /srv/data, through ssh",
        ),
        (
            "trawl mount --views ~/views",
            "mount your views, and questions: ls ~/views/'?in:%2Fsrv&ext:o'",
        ),
        (
            "trawl mount --views /views --all-users --in /srv",
            "for all users, each with their own permissions",
        ),
        ("trawl unmount /mnt", ""),
    ];
    const SEE_ALSO: &'static [&'static str] = &[
        "trawl-unmount(1)",
        "trawl-view(1)",
        "trawl-run(1)",
        "trawl-serve(1)",
        "mount(8)",
    ];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        match (&self.views, &self.place, &self.point) {
            (Some(point), ..) => mount_views(self, point, setting.index),
            (None, Some(place), Some(point)) => mount(self, place, point),
            _ => Err(Failure::Usage("name what to mount, and where".into())),
        }
    }
}

// Options of `trawl unmount`.
#[derive(Debug, clap::Args)]
pub(crate) struct UnmountArgs {
    /// Unmount the trees that are mounted here
    #[arg(value_name = "POINT", required = true)]
    points: Vec<PathBuf>,
}

impl Spec for UnmountArgs {
    const ABOUT: &'static str = "Unmount directories that trawl mount has mounted";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[("trawl unmount /mnt", "")];
    const SEE_ALSO: &'static [&'static str] = &["trawl-mount(1)", "umount(8)"];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        unmount(self)
    }
}

/// Mounts a tree, and serves the mount.
fn mount(args: &MountArgs, place: &OsString, point: &Path) -> Result<Exit, Failure> {
    mounts::check(point)?;
    if !args.foreground {
        let mut words = background_words();
        words.extend(args.keeping.words());
        words.extend(["--".into(), place.clone(), point.into()]);
        return in_background(&words, point);
    }
    let mounting = Mounting {
        place: place.clone(),
        point: point.to_owned(),
        options: args.keeping.options(),
    };
    let mut stdout = std::io::stdout();
    let waiting = args.ready.then_some(&mut stdout as &mut dyn Write);
    mounts::foreground(&mounting, waiting, &teller())?;
    Ok(Exit::Complete)
}

/// Mounts the views, and serves the mount.
fn mount_views(args: &MountArgs, point: &Path, index: Option<PathBuf>) -> Result<Exit, Failure> {
    mounts::check(point)?;
    mounts::check_empty(point)?;
    let showing = &args.showing;
    if !args.foreground {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(index) = index {
            words.extend(["--index".into(), index.into_os_string()]);
        }
        words.extend(background_words());
        for start in &showing.starts {
            words.extend(["--in".into(), start.into()]);
        }
        words.extend(showing.all_users.then(|| "--all-users".into()));
        words.extend(showing.definitions.words());
        words.extend(["--views".into(), point.into()]);
        return in_background(&words, point);
    }
    let file = |action, path: &Path, source| ViewError::File {
        action,
        path: path.to_owned(),
        source,
        advice: "",
    };
    let starts = showing
        .starts
        .iter()
        .map(|start| start.as_os_str().as_bytes().to_vec());
    let directory = std::env::current_dir().map_err(Failure::NoWorkingDirectory)?;
    let starts = Question::from_words(&starts.collect::<Vec<_>>(), &directory)?.starts;
    let mut store = showing.definitions.store();
    if showing.all_users {
        // The superuser's own views are nobody else's business.
        store.own = None;
    }
    let indexes = match settings::indexes_to_ask(index.clone()) {
        // Without a home and an index, the file system answers.
        Err(_) if !settings::is_named(&index) => Vec::new(),
        other => other?,
    };
    let canonical = point.canonicalize();
    let program = std::env::current_exe();
    let mounting = trawl_views::Mounting {
        point: canonical.map_err(|error| file("mount on", point, error))?,
        store,
        indexes,
        starts,
        program: program.map_err(|error| file("find", Path::new("this program"), error))?,
        visible: match showing.all_users {
            true => Visible::All,
            false => Visible::Owner,
        },
    };
    serve_views(mounting, args.ready)
}

fn serve_views(mounting: trawl_views::Mounting, is_awaited: bool) -> Result<Exit, Failure> {
    let stop = StopSignals::take().map_err(|error| Failure::Usage(error.to_string()))?;
    let issues = mounting.store.read().issues;
    let serving = trawl_views::mount(mounting)?;
    issues.iter().for_each(say);
    if is_awaited {
        mounts::tell_ready(&mut std::io::stdout());
    }
    while serving.is_served() {
        let ready = readable([stop.as_fd()], Some(mounts::LOOK));
        if ready.is_ok_and(|[is_asked]| is_asked) {
            serving.end()?;
            return Ok(Exit::Complete);
        }
    }
    serving.wait()?;
    Ok(Exit::Complete)
}

/// Returns the first words with which this program mounts in another process.
fn background_words() -> Vec<OsString> {
    ["mount", "--foreground", "--ready"].map(Into::into).into()
}

fn in_background(words: &[OsString], point: &Path) -> Result<Exit, Failure> {
    Ok(match mounts::background(words, point)? {
        true => Exit::Complete,
        false => Exit::Fatal,
    })
}

/// Unmounts trees.
fn unmount(args: &UnmountArgs) -> Result<Exit, Failure> {
    let mut exit = Exit::Complete;
    for point in &args.points {
        if let Err(error) = mounts::unmount(point) {
            let (point, cause) = (quoted(point.as_os_str().as_bytes()), cause(&error));
            say(format_args!("cannot unmount {point}: {cause}"));
            exit = Exit::Fatal;
        }
    }
    Ok(exit)
}
