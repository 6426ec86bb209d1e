//! The command: starts it in mounts of its own, passes signals on to it and waits for it.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use trawl_mount::{MountError, Serving, Tables, serving};
use trawl_sandbox::Supervisor;
use trawl_sys::command::{send_signal, watch_end};
use trawl_sys::enclosure::{Content, HandedOver, Point, Refused, Step, enclose};
use trawl_sys::signal::PassedOn;
use trawl_sys::wait::readable;
use trawl_text::words::{cause, quoted};

use crate::error::RunError;
use crate::notice::{Notice, Tell};
use crate::preload::Preload;
use crate::trees::{ShownTree, Way};

/// Maximum wait for mounts that only a process left behind by the command can still use.
const FAREWELL: Duration = Duration::from_millis(500);

/// Runs a command that sees the trees, and returns its exit code.
pub(crate) fn run(
    words: &[OsString],
    shown: &[ShownTree],
    way: Way,
    preload: impl FnOnce() -> Option<Preload>,
    tell: &Tell,
) -> Result<u8, RunError> {
    let signals = PassedOn::take().map_err(|error| RunError::Usage(error.to_string()))?;
    // The threads of the preload must not receive the signals that are passed on.
    let preload = preload();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    signals.leave_to(&mut command);
    if let Some(preload) = &preload {
        preload.lend_to(&mut command);
    }
    let (started, answering) = match shown {
        [] => (command.spawn(), Answering::Nothing),
        shown => start(command, shown, way, preload.as_ref())?,
    };
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            tell(&Notice::NotStarted {
                program: words[0].as_bytes().to_vec(),
                why: cause(&error),
            });
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            return Ok(if is_missing { 127 } else { 126 });
        }
    };
    let ended = wait(&mut child, &signals).map_err(|source| RunError::File {
        action: "wait for",
        path: words[0].clone().into(),
        source,
    })?;
    // The preload keeps the mounts in use, too.
    drop(preload);
    if let Answering::Mounts(served) = answering {
        leave(served);
    }
    Ok(exit(ended))
}

/// Returns the exit code that stands for how a process ended.
pub(crate) fn exit(status: ExitStatus) -> u8 {
    let code = match status.signal() {
        Some(signal) => 128 + signal,
        None => status.code().unwrap_or(0),
    };
    (code & 0xff) as u8
}

/// The service that answers for the trees.
enum Answering {
    /// There are no trees.
    Nothing,
    Mounts(Vec<Serving>),
    /// Answers until it is dropped.
    Calls(#[allow(dead_code, reason = "it is held")] Option<Supervisor>),
}

/// A started command, or the reason why it did not start, and the service for its trees.
type Started = (io::Result<Child>, Answering);

fn thread(source: io::Error) -> RunError {
    RunError::Mount(MountError::Thread(source))
}

fn start(
    mut command: Command,
    shown: &[ShownTree],
    way: Way,
    preload: Option<&Preload>,
) -> Result<Started, RunError> {
    let points = shown.iter().map(|shown| point(shown, way));
    let points = points.collect::<Result<Vec<_>, _>>()?;
    let besides = match way {
        Way::Sandbox { .. } => HandedOver::Filter(trawl_sandbox::filter()),
        Way::Mount if preload.is_some() => HandedOver::View(Tables::attributes()),
        Way::Mount => HandedOver::Nothing,
    };
    let entrance = enclose(&mut command, points, directory(shown), besides).map_err(thread)?;
    // Uses a separate thread, because the program to run may lie in a tree that this process
    // serves.
    let starter = std::thread::Builder::new().name("start".into());
    let starter = starter.spawn(move || command.spawn()).map_err(thread)?;
    let devices = entrance.devices();
    // The command is starting and waits at the end of its setup: nobody else sees the mounts.
    if preload.is_some() {
        shown.iter().for_each(|shown| shown.mounted.be_probed());
    }
    let answering = devices.map(|devices| answer(shown, devices, way));
    if let Some(preload) = preload {
        let view = entrance.view();
        shown.iter().for_each(|shown| shown.mounted.was_probed());
        preload.seen(shown, view);
        entrance.go_on();
    }
    let started = match starter.join() {
        Ok(started) => started,
        Err(_) => Err(io::Error::other("a thread ended early")),
    };
    match answering {
        Ok(answering) => Ok((started, answering?)),
        Err(refused) if refused.step == Step::Directory => {
            Ok((Err(refused.source), Answering::Calls(None)))
        }
        Err(refused) => Err(refusal(&refused, shown).into()),
    }
}

fn answer(shown: &[ShownTree], devices: Vec<OwnedFd>, way: Way) -> Result<Answering, RunError> {
    // There are fewer devices if the command ended during its setup.
    let mut devices = devices.into_iter();
    let Way::Sandbox { memory_bytes } = way else {
        let served = shown.iter().zip(devices);
        let served = served.map(|(shown, device)| trawl_mount::serve(&shown.mounted, device));
        let served = served.collect::<Result<Vec<_>, _>>()?;
        return Ok(Answering::Mounts(served.into_iter().flatten().collect()));
    };
    let planted = shown.iter().zip(devices.by_ref());
    let planted: Vec<_> = planted
        .map(|(shown, root)| trawl_sandbox::ShownTree {
            tree: shown.tree().clone(),
            point: shown.point.as_os_str().as_bytes().to_vec(),
            root,
        })
        .collect();
    let Some(listener) = devices.next() else {
        return Ok(Answering::Calls(None));
    };
    let supervisor = Supervisor::start(listener, planted, memory_bytes).map_err(thread)?;
    Ok(Answering::Calls(Some(supervisor)))
}

fn point(shown: &ShownTree, way: Way) -> Result<Point, RunError> {
    let text = |bytes: &[u8]| {
        let text = CString::new(bytes);
        text.map_err(|_| RunError::Usage("a path cannot contain a NUL byte".into()))
    };
    Ok(Point {
        content: match way {
            Way::Mount => Content::Served,
            Way::Sandbox { .. } => Content::Planted,
        },
        path: text(shown.point.as_os_str().as_bytes())?,
        source: text(shown.tree().name().as_bytes())?,
        kind: text(format!("fuse.{}", serving::SUBTYPE).as_bytes())?,
    })
}

/// Returns the working directory, if something is mounted over it.
fn directory(shown: &[ShownTree]) -> Option<CString> {
    let directory = std::env::current_dir().ok()?;
    let is_covered = shown
        .iter()
        .any(|shown| directory.starts_with(&shown.point));
    let directory = is_covered.then(|| CString::new(directory.as_os_str().as_bytes()));
    directory?.ok()
}

fn refusal(refused: &Refused, shown: &[ShownTree]) -> MountError {
    let point = shown.get(refused.point).map(|shown| shown.point.clone());
    let (point, advice) = match refused.step {
        Step::Unshare | Step::Ids | Step::Propagation => {
            (point, "; private mounts are not allowed here")
        }
        Step::Device => (
            Some("/dev/fuse".into()),
            "; it must exist and be open to all users",
        ),
        Step::Filter => (point, "; system calls cannot be intercepted here"),
        _ => (point, ""),
    };
    MountError::Point {
        point: point.unwrap_or_default(),
        source: io::Error::from_raw_os_error(refused.source.raw_os_error().unwrap_or(0)),
        advice,
    }
}

/// Waits for the end of the command, and passes signals on.
pub(crate) fn wait(child: &mut Child, signals: &PassedOn) -> io::Result<ExitStatus> {
    let end = watch_end(child)?;
    loop {
        let ready = readable([end.as_fd(), signals.as_fd()], None);
        let [is_over, _] = ready.map_err(|error| io::Error::from_raw_os_error(error.errno.0))?;
        while let Some(passed) = signals.next() {
            // The command has already received a signal that a key sent.
            if !passed.is_from_kernel {
                let _ = send_signal(&end, passed.signal);
            }
        }
        if is_over {
            return child.wait();
        }
    }
}

/// Waits until the mounts are gone; they go with the last process that sees them.
fn leave(served: Vec<Serving>) {
    let until = Instant::now() + FAREWELL;
    for serving in served {
        while serving.is_served() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !serving.is_served() {
            let _ = serving.wait();
        }
    }
}

/// Returns a path as messages show it.
pub(crate) fn shown_path(path: &Path) -> String {
    let path: &OsStr = path.as_os_str();
    quoted(path.as_bytes())
}
