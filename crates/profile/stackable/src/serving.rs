//! Mounts the layer and serves the mount until it is gone.
//!
//! A mount for one command lies in a mount namespace that only the command and its children see, over
//! the directory itself, and ends with them. A mount for others lies where they look. If the server is
//! killed, the kernel answers with ENOTCONN at once; no call hangs.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fuser::{Config, MountOption, Session, SessionACL};
use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use trawl_histogram::{Profile, Resolution};
use trawl_sys::enclosure::{Content, Entrance, HandedOver, Point, Restrictions, enclose as enter};
use trawl_sys::identity::effective_uid;
use trawl_sys::process::raise_descriptor_limit;

use crate::error::StackableError;
use crate::file_system::PassThrough;
use crate::forgetting::{Forgetting, Woken};
use crate::meter::Meter;
use crate::pass::Pass;

/// Number of threads that answer the kernel. A slow file system below keeps one busy for each call.
const THREADS: usize = 16;
/// Subtype of these mounts: their file system type is `fuse.trawl-profile`.
pub const SUBTYPE: &str = "trawl-profile";
/// Number of descriptors that a server uses at most, unless told otherwise: the kernel's usual limit.
const DESCRIPTORS: u64 = 1 << 20;
/// How often the end of a mount is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// How data of files are passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// Through this process, which measures each read and write.
    #[default]
    Server,
    /// By the kernel, without measuring reads and writes, where it can (Linux 6.9, root); otherwise
    /// through this process.
    Kernel,
}

/// The users who may use a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visible {
    /// The user who makes it.
    #[default]
    Owner,
    /// Everybody, each with their own permissions.
    All,
}

/// How the layer works.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Buckets for each doubling of the latency.
    pub resolution: Resolution,
    /// For how long the kernel uses names and attributes without asking again; with zero, a change of
    /// permissions below takes effect at once.
    pub cache: Duration,
    /// How data are passed on.
    pub data: Data,
    /// The most descriptors that are used, as far as this process may have them.
    pub descriptors_max: u64,
    /// The users who may use the mount; a mount for a command is for all in its namespace.
    pub visible: Visible,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            resolution: Resolution::ONE,
            cache: Duration::ZERO,
            data: Data::Server,
            descriptors_max: DESCRIPTORS,
            visible: Visible::Owner,
        }
    }
}

/// A mount that is served.
#[derive(Debug)]
pub struct Serving {
    /// The reading of before anything could use the mount.
    begun: Profile,
    meter: Arc<Meter>,
    point: PathBuf,
    thread: Option<JoinHandle<io::Result<()>>>,
    /// Whether it is in this process's mount namespace.
    is_here: bool,
}

/// The state that a serving thread needs.
#[derive(Debug)]
struct Prepared {
    pass: Arc<Pass>,
    options: Options,
    restrictions: Restrictions,
}

fn prepare(source: &Path, options: &Options) -> Result<(Arc<Meter>, Prepared), StackableError> {
    let meter = Arc::new(Meter::new(options.resolution)?);
    let failed = |cause: io::Error| StackableError::Source {
        path: source.to_owned(),
        source: cause,
    };
    let pass = Pass::new(source, Arc::clone(&meter)).map_err(failed)?;
    let restrictions = restrictions(&pass).map_err(failed)?;
    let prepared = Prepared {
        pass: Arc::new(pass),
        options: *options,
        restrictions,
    };
    Ok((meter, prepared))
}

/// Returns what the source's own mount does not allow.
fn restrictions(pass: &Pass) -> io::Result<Restrictions> {
    let root = pass.nodes.get(crate::nodes::ROOT).ok_or(Errno::STALE)?;
    let flags = rustix::fs::fstatvfs(root.as_fd())?.f_flag;
    Ok(Restrictions {
        is_read_only: flags.contains(StatVfsMountFlags::RDONLY),
        has_no_suid: flags.contains(StatVfsMountFlags::NOSUID),
        has_no_devices: flags.contains(StatVfsMountFlags::NODEV),
        has_no_programs: flags.contains(StatVfsMountFlags::NOEXEC),
    })
}

fn config() -> Config {
    let mut config = Config::default();
    config.n_threads = Some(THREADS);
    config
}

impl Prepared {
    fn file_system(&self) -> (PassThrough, Woken) {
        let most = self.options.descriptors_max;
        let (forgetting, woken) = Forgetting::new(raise_descriptor_limit(most).min(most));
        let file_system = PassThrough {
            pass: Arc::clone(&self.pass),
            forgetting,
            cache: self.options.cache,
            data: self.options.data,
        };
        (file_system, woken)
    }

    /// Serves a session until its mount is gone.
    fn run(self, session: Session<PassThrough>, woken: Woken) -> io::Result<()> {
        woken.start(&self.pass, session.notifier())?;
        drop(self);
        trawl_sys::mount::ended(session.run())
    }

    /// Serves a mount whose other end a command hands over.
    fn run_for(self, entrance: &Entrance) -> io::Result<()> {
        let devices = entrance.devices().map_err(|refused| refused.source)?;
        // There is none if the command ended on its way.
        let Some(device): Option<OwnedFd> = devices.into_iter().next() else {
            return Ok(());
        };
        let (file_system, woken) = self.file_system();
        match Session::from_fd(file_system, device, SessionACL::All, config()) {
            Ok(session) => self.run(session, woken),
            Err(error) if trawl_sys::mount::is_gone(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn mount_options(&self, source: &Path) -> Vec<MountOption> {
        let name = source.to_string_lossy().replace(',', "\\054");
        let mut options = vec![
            MountOption::DefaultPermissions,
            MountOption::FSName(name),
            MountOption::Subtype(SUBTYPE.into()),
        ];
        let with = self.restrictions;
        let is_root = effective_uid() == 0;
        let conditional = [
            (with.is_read_only, MountOption::RO),
            (with.has_no_programs, MountOption::NoExec),
            (is_root && !with.has_no_suid, MountOption::Suid),
            (is_root && !with.has_no_devices, MountOption::Dev),
        ];
        options.extend(
            conditional
                .into_iter()
                .filter_map(|(is_set, one)| is_set.then_some(one)),
        );
        options
    }
}

/// Makes a command see a directory through the layer. The command's process enters a mount namespace
/// of its own, before other preparations that are added to it later; nothing else on the machine sees
/// the mount.
///
/// # Errors
/// Fails if the directory cannot be used, or no thread can be started. What the command's process
/// cannot do appears when it starts.
pub fn enclose(
    command: &mut Command,
    directory: &Path,
    options: &Options,
) -> Result<Serving, StackableError> {
    let unusable = |source| StackableError::Source {
        path: directory.to_owned(),
        source,
    };
    let point = directory.canonicalize().map_err(unusable)?;
    if point.parent().is_none() {
        // The root of a process stays where it is when something is mounted over it.
        return Err(unusable(Errno::BUSY.into()));
    }
    let (meter, prepared) = prepare(&point, options)?;
    let text =
        CString::new(point.as_os_str().as_bytes()).map_err(|error| unusable(error.into()))?;
    let mount = Point {
        content: Content::ServedWith(prepared.restrictions),
        path: text.clone(),
        source: text,
        kind: CString::new(format!("fuse.{SUBTYPE}")).unwrap_or_default(),
    };
    let entrance = enter(
        command,
        vec![mount],
        working_directory(&point),
        HandedOver::Nothing,
    );
    let entrance = entrance.map_err(unusable)?;
    let begun = meter.read()?;
    let thread = std::thread::Builder::new().name("stackable".into());
    let thread = thread.spawn(move || prepared.run_for(&entrance));
    Ok(Serving {
        begun,
        meter,
        point: point.clone(),
        thread: Some(thread.map_err(unusable)?),
        is_here: false,
    })
}

/// Returns the working directory, if the mount will cover it.
fn working_directory(point: &Path) -> Option<CString> {
    let directory = std::env::current_dir().ok()?;
    let is_covered = directory.starts_with(point);
    is_covered
        .then(|| CString::new(directory.as_os_str().as_bytes()))?
        .ok()
}

/// Mounts the layer of `source` at `point`.
///
/// # Errors
/// Fails if the source cannot be used, or the kernel or fusermount3(1) refuses.
pub fn mount(source: &Path, point: &Path, options: &Options) -> Result<Serving, StackableError> {
    let (meter, prepared) = prepare(source, options)?;
    let failed = |source| StackableError::Point {
        point: point.to_owned(),
        source,
        advice: "; it must be a directory, and only root and fusermount3 can mount",
    };
    remove_dead(point);
    let point = point.canonicalize().map_err(failed)?;
    let mut config = config();
    config.mount_options = prepared.mount_options(source);
    if options.visible == Visible::All {
        if effective_uid() != 0 {
            // Files of other users would belong to this one.
            return Err(failed(Errno::PERM.into()));
        }
        config.acl = SessionACL::All;
    }
    let begun = meter.read()?;
    let (file_system, woken) = prepared.file_system();
    let session = Session::new(file_system, &point, &config).map_err(failed)?;
    let thread = std::thread::Builder::new().name("stackable".into());
    let thread = thread.spawn(move || prepared.run(session, woken));
    Ok(Serving {
        begun,
        meter,
        point: point.clone(),
        thread: Some(thread.map_err(failed)?),
        is_here: true,
    })
}

/// Removes a mount whose server was killed.
fn remove_dead(point: &Path) {
    let is_dead =
        std::fs::metadata(point).is_err_and(|error| error.kind() == io::ErrorKind::NotConnected);
    if is_dead {
        // If it does not work, mounting says why.
        let _ = unmount(point, UnmountFlags::DETACH);
    }
}

fn unmount(point: &Path, flags: UnmountFlags) -> io::Result<()> {
    match rustix::mount::unmount(point, flags | UnmountFlags::NOFOLLOW) {
        Err(Errno::PERM) => {
            let mut command = Command::new("fusermount3");
            let how = match flags.contains(UnmountFlags::DETACH) {
                true => "-uqz",
                false => "-uq",
            };
            match command.arg(how).arg("--").arg(point).status() {
                Ok(status) if status.success() => Ok(()),
                _ => Err(Errno::BUSY.into()),
            }
        }
        other => Ok(other?),
    }
}

impl Serving {
    /// Returns what was counted until now.
    ///
    /// # Errors
    /// Fails if the counts contradict themselves.
    pub fn read(&self) -> Result<Profile, StackableError> {
        Ok(self.meter.read()?)
    }

    /// Returns the reading of before anything could use the mount.
    pub fn begun(&self) -> &Profile {
        &self.begun
    }

    /// Returns whether the mount is still served. One for a command that has not yet started is.
    pub fn is_served(&self) -> bool {
        self.thread.as_ref().is_some_and(|one| !one.is_finished())
    }

    /// Waits until the mount is gone, or the time is over; returns whether it is gone.
    pub fn wait_for(&self, most: Duration) -> bool {
        let begun = Instant::now();
        while self.is_served() && begun.elapsed() < most {
            std::thread::sleep(LOOK_AGAIN);
        }
        !self.is_served()
    }

    /// Unmounts a mount made by [`mount`].
    ///
    /// # Errors
    /// Fails if it cannot be unmounted, for example because it is in use; it is served on then.
    pub fn unmount(&mut self) -> Result<(), StackableError> {
        let unmounted = unmount(&self.point, UnmountFlags::empty());
        unmounted.map_err(|source| StackableError::Unmount {
            point: self.point.clone(),
            source,
        })
    }

    /// Waits until the mount is gone, and returns everything that was counted.
    ///
    /// # Errors
    /// Fails if the kernel's requests could not be answered to the end.
    pub fn wait(mut self) -> Result<Profile, StackableError> {
        let ended = match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(_)) => Err(io::Error::other("a thread ended early")),
        };
        ended.map_err(|source| StackableError::Serve {
            point: self.point.clone(),
            source,
        })?;
        self.read()
    }
}

impl Drop for Serving {
    /// Removes a mount that is still there; who uses it then finishes.
    fn drop(&mut self) {
        if self.is_here && self.is_served() {
            let _ = unmount(&self.point, UnmountFlags::DETACH);
        }
    }
}
