//! Runs commands in a mount namespace of their own: no other process sees what is mounted there,
//! and the mounts disappear with the last process in the namespace.
//!
//! The child process itself enters the new mount namespace, mounts, and hands the kernel's end of
//! each mount (`/dev/fuse`) to this process. This process stays outside, so it can serve the mounts
//! and never waits for them. If the child lacks the privilege to mount, it enters a user namespace
//! in which it keeps its ids and has the privilege (Linux 4.18).
//!
//! Source: <https://man7.org/linux/man-pages/man7/mount_namespaces.7.html>,
//! <https://man7.org/linux/man-pages/man7/user_namespaces.7.html>

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags,
    SocketType,
};

use crate::identity::{effective_gid, effective_uid};
use crate::seccomp::Filter;
use crate::stat::{Stat, WANTED, convert};

/// Value from `linux/mount.h`.
const OPEN_TREE_CLONE: libc::c_uint = 1;

/// What mounts of other machines' trees do not allow.
const SERVED: Restrictions = Restrictions {
    is_read_only: true,
    has_no_suid: true,
    has_no_devices: true,
    has_no_programs: false,
};

/// The origin of a file system's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The process that holds the kernel's end, `/dev/fuse`; read-only.
    Served,
    /// Likewise, but writable, and restricted only as said.
    ServedWith(Restrictions),
    /// An empty in-memory file system. The descriptor handed over is its root, the only way to
    /// write to it.
    Planted,
}

/// What a mount does not allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Changing anything.
    pub is_read_only: bool,
    /// Rights by set-user-ID bits and file capabilities.
    pub has_no_suid: bool,
    /// Opening devices.
    pub has_no_devices: bool,
    /// Executing programs.
    pub has_no_programs: bool,
}

impl Restrictions {
    fn flags(self) -> libc::c_ulong {
        let flags = [
            (self.is_read_only, libc::MS_RDONLY),
            (self.has_no_suid, libc::MS_NOSUID),
            (self.has_no_devices, libc::MS_NODEV),
            (self.has_no_programs, libc::MS_NOEXEC),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set);
        set.fold(0, |all, (_, flag)| all | flag)
    }
}

/// A mount to be made for a command.
#[derive(Clone, Debug)]
pub struct Point {
    /// The origin of its content.
    pub content: Content,
    /// The directory to mount on.
    pub path: CString,
    /// The source shown in mount tables.
    pub source: CString,
    /// The file system type: `fuse.` and a name.
    pub kind: CString,
}

/// Information that a command hands over in addition to its mounts.
#[derive(Debug)]
pub enum HandedOver {
    /// Nothing.
    Nothing,
    /// The descriptor of this filter, after the mounts: the command's system calls are intercepted.
    Filter(Filter),
    /// Its view of its mounts, with the results of getxattr(2) for these attributes (at most
    /// [`ATTRIBUTES_MAX`]); see [`Entrance::view`]. The command then waits for [`Entrance::go_on`].
    View(Vec<CString>),
}

/// Maximum number of extended attributes that are looked up.
pub const ATTRIBUTES_MAX: usize = 8;

/// The root directory of a mount as a command sees it.
#[derive(Clone, Debug)]
pub struct Top {
    /// The result of stat(2) as far as the kernel knows it by itself, without asking the process
    /// that serves the mount.
    pub stat: Stat,
    /// Errno of getxattr(2) for each requested attribute; 0 on success.
    pub attributes: Vec<i32>,
}

/// A command's view of its mounts.
#[derive(Debug)]
pub struct View {
    /// Ids of its mount namespace and its user namespace.
    pub namespaces: [u64; 2],
    /// The root directory of each mount.
    pub tops: Vec<Top>,
    /// Its mount table (`mountinfo`), which is generated anew when read from the beginning. While
    /// the file is open, the mounts stay.
    pub mounts: File,
}

/// A step of entering the namespace that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// unshare(2).
    Unshare = 1,
    /// Writing the id maps of the user namespace.
    Ids = 2,
    /// Setting mount propagation: later mounts of others become visible here, but ours not to them.
    Propagation = 3,
    /// Opening `/dev/fuse`.
    Device = 4,
    /// mount(2).
    Mount = 5,
    /// Handing over a mount.
    HandOver = 6,
    /// Changing to the working directory as it is inside the namespace.
    Directory = 7,
    /// Installing the system call filter.
    Filter = 8,
}

impl Step {
    const ALL: [Step; 8] = [
        Step::Unshare,
        Step::Ids,
        Step::Propagation,
        Step::Device,
        Step::Mount,
        Step::HandOver,
        Step::Directory,
        Step::Filter,
    ];
}

/// The error that prevented a command from starting in its mounts.
#[derive(Debug)]
pub struct Refused {
    /// The step that failed.
    pub step: Step,
    /// Index of the mount concerned; 0 if the step concerns none.
    pub point: usize,
    /// The cause.
    pub source: io::Error,
}

/// Everything that the child process needs on its way, prepared before fork: the child must not
/// allocate.
struct ChildPlan {
    points: Vec<Point>,
    /// Descriptors that reserve numbers which the options refer to.
    devices: Vec<OwnedFd>,
    options: Vec<CString>,
    uid_map: String,
    gid_map: String,
    directory: Option<CString>,
    besides: HandedOver,
    socket: OwnedFd,
    /// The parent's end of the socket. The child must close its copy; otherwise it could not notice
    /// that the parent has closed its end.
    other_end: RawFd,
}

/// The parent's end of the connection to a command that enters its mounts.
#[derive(Debug)]
pub struct Entrance {
    socket: OwnedFd,
    /// Number of mounts; `count` is the number of descriptors handed over.
    points: usize,
    count: usize,
}

/// Size of a statx result. The longest message is such a result followed by errnos.
const STAT_BYTES: usize = size_of::<libc::statx>();
const MESSAGE_BYTES: usize = STAT_BYTES + 4 * ATTRIBUTES_MAX;

/// Makes `command` start in mounts of its own; without points it stays in the mount namespace of this
/// process. If `directory` is given, the working directory is
/// looked up again inside the namespace. Start the command on another thread than the one that
/// waits for [`Entrance::devices`]: the command may need its mounts before it has started.
///
/// # Errors
/// Fails if there are too many descriptors.
pub fn enclose(
    command: &mut Command,
    points: Vec<Point>,
    directory: Option<CString>,
    besides: HandedOver,
) -> io::Result<Entrance> {
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let (uid, gid) = (effective_uid(), effective_gid());
    let (mut devices, mut options) = (Vec::new(), Vec::new());
    for _ in &points {
        let device = OwnedFd::from(std::fs::File::open("/dev/null")?);
        options.push(CString::new(format!(
            "fd={},rootmode=40000,user_id={uid},group_id={gid},default_permissions,allow_other",
            device.as_raw_fd()
        ))?);
        devices.push(device);
    }
    let has_filter = matches!(besides, HandedOver::Filter(_));
    let (points_count, count) = (points.len(), points.len() + usize::from(has_filter));
    let way = ChildPlan {
        points,
        devices,
        options,
        uid_map: format!("{uid} {uid} 1\n"),
        gid_map: format!("{gid} {gid} 1\n"),
        directory,
        besides,
        socket: theirs,
        other_end: ours.as_raw_fd(),
    };
    let go = move || way.go();
    // SAFETY: between fork and exec, `go` only makes system calls: all their arguments were
    // prepared before, and nothing is allocated or locked.
    unsafe { command.pre_exec(go) };
    let socket = ours;
    Ok(Entrance {
        socket,
        points: points_count,
        count,
    })
}

fn done(code: libc::c_int) -> Result<(), io::Error> {
    match code {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl ChildPlan {
    fn go(&self) -> io::Result<()> {
        self.enter().map_err(|(step, point, source)| {
            let errno = source.raw_os_error().unwrap_or(libc::EIO);
            let mut message = [0; 9];
            message[0] = step as u8;
            message[1..5].copy_from_slice(&(point as u32).to_ne_bytes());
            message[5..].copy_from_slice(&errno.to_ne_bytes());
            let _ = self.send(&message, None);
            source
        })
    }

    fn enter(&self) -> Result<(), (Step, usize, io::Error)> {
        let at = |step| move |source| (step, 0, source);
        // SAFETY: this closes the process's own copy of a descriptor that nothing in it uses.
        unsafe { libc::close(self.other_end) };
        if !self.points.is_empty() {
            self.leave_namespace()?;
        }
        for (number, point) in self.points.iter().enumerate() {
            let mounted = match point.content {
                Content::Served => self.mount(number, SERVED),
                Content::ServedWith(restrictions) => self.mount(number, restrictions),
                Content::Planted => self.mount_memory(point),
            };
            mounted.map_err(|(step, source)| (step, number, source))?;
        }
        if let HandedOver::View(attributes) = &self.besides {
            // The view is optional for the parent. A message shorter than expected tells it that no
            // view follows.
            let shown = self.show(attributes).or_else(|_| self.send(&[0], None));
            let _ = shown.and_then(|()| self.wait());
        }
        if let HandedOver::Filter(filter) = &self.besides {
            let listener = filter.install().map_err(at(Step::Filter))?;
            self.send(&[0], Some(listener))
                .map_err(at(Step::HandOver))?;
            // SAFETY: the descriptor was made above and is not used any more.
            unsafe { libc::close(listener) };
        }
        if let Some(directory) = &self.directory {
            // SAFETY: the path is NUL-terminated.
            let code = unsafe { libc::chdir(directory.as_ptr()) };
            done(code).map_err(at(Step::Directory))?;
        }
        Ok(())
    }

    /// Enters a mount namespace of its own, from which mounts do not spread.
    fn leave_namespace(&self) -> Result<(), (Step, usize, io::Error)> {
        let at = |step| move |source| (step, 0, source);
        // SAFETY: unshare(2) takes a number; this process has one thread.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            // SAFETY: as above.
            let code = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) };
            done(code).map_err(at(Step::Unshare))?;
            // If the file does not exist, it need not be written.
            let _ = write_file(c"/proc/self/setgroups", b"deny");
            write_file(c"/proc/self/uid_map", self.uid_map.as_bytes()).map_err(at(Step::Ids))?;
            write_file(c"/proc/self/gid_map", self.gid_map.as_bytes()).map_err(at(Step::Ids))?;
        }
        mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_SLAVE, c"")
            .map_err(at(Step::Propagation))?;
        Ok(())
    }

    /// Sends the view of the mounts from inside the namespace: first the kernel's data about each
    /// root directory, then the namespace ids with the mount table.
    fn show(&self, attributes: &[CString]) -> io::Result<()> {
        for point in &self.points {
            let mut bytes = [0; MESSAGE_BYTES];
            let (stat, errnos) = bytes.split_at_mut(STAT_BYTES);
            stat_unasked(&point.path, stat)?;
            let mut length = STAT_BYTES;
            for (errno, name) in errnos.chunks_exact_mut(4).zip(attributes) {
                errno.copy_from_slice(&attribute_errno(&point.path, name).to_ne_bytes());
                length += 4;
            }
            self.send(&bytes[..length], None)?;
        }
        let mut numbers = [0; 16];
        let namespaces = [c"/proc/self/ns/mnt", c"/proc/self/ns/user"];
        for (number, path) in numbers.chunks_exact_mut(8).zip(namespaces) {
            number.copy_from_slice(&inode(path)?.to_ne_bytes());
        }
        let path = c"/proc/self/mountinfo";
        // SAFETY: the path is NUL-terminated.
        let table = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        done(table)?;
        let sent = self.send(&numbers, Some(table));
        // SAFETY: the descriptor was opened above and is not used any more.
        unsafe { libc::close(table) };
        sent
    }

    /// Waits until the parent lets the command continue or has closed its end.
    fn wait(&self) -> io::Result<()> {
        let mut byte = 0u8;
        loop {
            // SAFETY: there is room for one byte.
            let got = unsafe { libc::recv(self.socket.as_raw_fd(), (&raw mut byte).cast(), 1, 0) };
            if got >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn mount(&self, number: usize, with: Restrictions) -> Result<(), (Step, io::Error)> {
        let (point, device) = (&self.points[number], self.devices[number].as_raw_fd());
        // SAFETY: the path is NUL-terminated.
        let opened = unsafe { libc::open(c"/dev/fuse".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        done(opened).map_err(|source| (Step::Device, source))?;
        // SAFETY: both descriptors are open; nothing in this process uses the file that `device`
        // was.
        let code = unsafe { libc::dup3(opened, device, libc::O_CLOEXEC) };
        done(code).map_err(|source| (Step::Device, source))?;
        // SAFETY: the descriptor was opened above and is not used any more.
        unsafe { libc::close(opened) };
        mount(
            &point.source,
            &point.path,
            &point.kind,
            with.flags(),
            &self.options[number],
        )
        .map_err(|source| (Step::Mount, source))?;
        self.send(&[0], Some(device))
            .map_err(|source| (Step::HandOver, source))
    }

    /// Mounts a tmpfs, keeps a detached writable clone of the mount to hand over, and makes the
    /// visible mount read-only.
    fn mount_memory(&self, point: &Point) -> Result<(), (Step, io::Error)> {
        let failed = |source| (Step::Mount, source);
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        mount(&point.source, &point.path, c"tmpfs", flags, c"mode=700").map_err(failed)?;
        let clone = OPEN_TREE_CLONE | libc::O_CLOEXEC as libc::c_uint;
        // SAFETY: the path is NUL-terminated.
        let root = unsafe {
            libc::syscall(
                libc::SYS_open_tree,
                libc::AT_FDCWD,
                point.path.as_ptr(),
                clone,
            )
        } as libc::c_int;
        done(root).map_err(failed)?;
        let read_only = flags | libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
        mount(c"none", &point.path, c"none", read_only, c"").map_err(failed)?;
        self.send(&[0], Some(root))
            .map_err(|source| (Step::HandOver, source))?;
        // SAFETY: the descriptor was opened above and is not used any more.
        unsafe { libc::close(root) };
        Ok(())
    }

    /// Sends a message, with a descriptor if one is given, without allocating.
    fn send(&self, text: &[u8], device: Option<RawFd>) -> io::Result<()> {
        let mut parts = libc::iovec {
            iov_base: text.as_ptr().cast_mut().cast(),
            iov_len: text.len(),
        };
        // Large enough for a header and a descriptor, and aligned for both.
        let mut space = [0u64; 8];
        // SAFETY: an all-zero header is valid: it has no data and no address.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut parts;
        message.msg_iovlen = 1;
        if let Some(device) = device {
            let length = size_of::<RawFd>() as u32;
            message.msg_control = space.as_mut_ptr().cast();
            // SAFETY: `CMSG_SPACE` only computes a length; `space` has 64 bytes, more than the 24
            // needed.
            message.msg_controllen = unsafe { libc::CMSG_SPACE(length) } as _;
            // SAFETY: `msg_control` has room for a header and one descriptor, which are written.
            unsafe {
                let header = libc::CMSG_FIRSTHDR(&raw const message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(length) as _;
                libc::CMSG_DATA(header)
                    .cast::<RawFd>()
                    .write_unaligned(device);
            }
        }
        let socket = self.socket.as_raw_fd();
        // SAFETY: everything that the header points to lives until the call returns.
        let sent = unsafe { libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) };
        match sent {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn mount(
    source: &CStr,
    path: &CStr,
    kind: &CStr,
    flags: libc::c_ulong,
    options: &CStr,
) -> io::Result<()> {
    // SAFETY: all four strings are NUL-terminated.
    done(unsafe {
        libc::mount(
            source.as_ptr(),
            path.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    })
}

/// Reads the statx of a mount's root as far as the kernel knows it without asking the serving
/// process.
fn stat_unasked(path: &CStr, into: &mut [u8]) -> io::Result<()> {
    let flags = libc::AT_STATX_DONT_SYNC | libc::AT_NO_AUTOMOUNT;
    // SAFETY: an all-zero statx is a valid value.
    let mut of: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the path is NUL-terminated, and `of` has room.
    let code = unsafe {
        libc::syscall(
            libc::SYS_statx,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            WANTED.bits(),
            &raw mut of,
        )
    };
    done(code as libc::c_int)?;
    // SAFETY: every byte of `of` is initialized, by the kernel or as zero; it consists of numbers
    // only.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const of).cast::<u8>(), STAT_BYTES) };
    into.copy_from_slice(bytes);
    Ok(())
}

/// Returns the errno of getxattr(2); 0 on success.
fn attribute_errno(path: &CStr, name: &CStr) -> libc::c_int {
    // SAFETY: both are NUL-terminated, and nothing is written.
    let length = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) };
    match length {
        0.. => 0,
        _ => io::Error::last_os_error().raw_os_error().unwrap_or(0),
    }
}

/// Returns the inode number of the object at a path, links followed.
fn inode(path: &CStr) -> io::Result<u64> {
    let mut of = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the path is NUL-terminated, and `of` has room.
    done(unsafe { libc::stat(path.as_ptr(), of.as_mut_ptr()) })?;
    // SAFETY: all zeroes are a valid value, and so is the result that the kernel wrote.
    Ok(unsafe { of.assume_init() }.st_ino)
}

fn write_file(path: &CStr, text: &[u8]) -> io::Result<()> {
    // SAFETY: the path is NUL-terminated.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    done(file)?;
    // SAFETY: the kernel reads `text.len()` bytes of `text`.
    let written = unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
    let result = match written {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: the descriptor was opened above and is not used any more.
    unsafe { libc::close(file) };
    result
}

impl Entrance {
    /// Waits for the kernel's ends of the mounts, in the order of the points, followed by the
    /// filter's descriptor, and returns them. Returns fewer if the process ended on the way; the
    /// function that started it knows the reason.
    ///
    /// # Errors
    /// Returns the step that failed.
    pub fn devices(&self) -> Result<Vec<OwnedFd>, Refused> {
        let mut devices = Vec::with_capacity(self.count);
        while devices.len() < self.count {
            match self.receive(devices.len())?.1 {
                Some(device) => devices.push(device),
                None => break,
            }
        }
        Ok(devices)
    }

    /// Waits for the command's view of its mounts ([`HandedOver::View`]) and returns it; call it after
    /// [`Entrance::devices`]. Returns `None` if the command could not determine it.
    pub fn view(&self) -> Option<View> {
        let mut tops = Vec::with_capacity(self.points);
        for point in 0..self.points {
            let (text, _) = self.receive(point).ok()?;
            let (stat, errnos) = text.split_first_chunk::<STAT_BYTES>()?;
            // SAFETY: `stat` has `STAT_BYTES` bytes, and any bytes are a valid statx.
            let stat = unsafe { stat.as_ptr().cast::<rustix::fs::Statx>().read_unaligned() };
            let errno = |bytes: &[u8; 4]| i32::from_ne_bytes(*bytes);
            tops.push(Top {
                stat: convert(&stat),
                attributes: errnos.as_chunks().0.iter().map(errno).collect(),
            });
        }
        let (text, table) = self.receive(self.points).ok()?;
        let (mounts, users) = text.split_first_chunk()?;
        Some(View {
            namespaces: [
                u64::from_ne_bytes(*mounts),
                u64::from_ne_bytes(*users.first_chunk()?),
            ],
            tops,
            mounts: table?.into(),
        })
    }

    /// Lets the command begin; call it after [`Entrance::view`]. Until then the process is still
    /// entering its mounts, and no other process sees them.
    pub fn go_on(&self) {
        // If the process has ended on the way, there is no receiver.
        let _ = rustix::net::send(&self.socket, &[0], SendFlags::NOSIGNAL);
    }

    /// Receives one message and its descriptor; an empty message at the end.
    fn receive(&self, point: usize) -> Result<(Vec<u8>, Option<OwnedFd>), Refused> {
        let failed = |errno: rustix::io::Errno| Refused {
            step: Step::HandOver,
            point,
            source: errno.into(),
        };
        let mut text = [0; MESSAGE_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let mut parts = [rustix::io::IoSliceMut::new(&mut text)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            match rustix::net::recvmsg(&self.socket, &mut parts, &mut control, flags) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other.map_err(failed)?,
            }
        };
        if received.bytes == 9 {
            return Err(refused(&text));
        }
        let mut devices = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut devices) => devices.next(),
            _ => None,
        });
        let device = devices.next();
        Ok((text[..received.bytes].to_vec(), device))
    }
}

fn refused(text: &[u8; MESSAGE_BYTES]) -> Refused {
    let number = |at: usize| [text[at], text[at + 1], text[at + 2], text[at + 3]];
    let step = Step::ALL.into_iter().find(|step| *step as u8 == text[0]);
    Refused {
        step: step.unwrap_or(Step::HandOver),
        point: u32::from_ne_bytes(number(1)) as usize,
        source: io::Error::from_raw_os_error(i32::from_ne_bytes(number(5))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_handed_over_and_gone_with_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let path = CString::new(folder.path().to_str().unwrap()).unwrap();
        let point = Point {
            content: Content::Served,
            path: path.clone(),
            source: c"nothing".to_owned(),
            kind: c"fuse.test".to_owned(),
        };
        let mut command = trawl_testkit::oracle::command("grep");
        command
            .arg("-c")
            .arg(folder.path())
            .arg("/proc/self/mounts");
        command.stdout(std::process::Stdio::piped());
        let entrance = enclose(
            &mut command,
            vec![point],
            None,
            HandedOver::View(Vec::new()),
        )
        .unwrap();
        let child = std::thread::spawn(move || command.spawn());
        match entrance.devices() {
            Ok(devices) => {
                assert_eq!(devices.len(), 1);
                let view = entrance.view().unwrap();
                assert!(!child.is_finished(), "it waits");
                entrance.go_on();
                let own = std::fs::metadata("/proc/self/ns/mnt").unwrap();
                assert_ne!(
                    view.namespaces[0],
                    std::os::unix::fs::MetadataExt::ino(&own)
                );
                let [top] = &view.tops[..] else {
                    panic!("{view:?}")
                };
                assert!(top.stat.is_directory() && top.stat.dev.major == 0);
                let mut table = Vec::new();
                io::Read::read_to_end(&mut &view.mounts, &mut table).unwrap();
                let table = String::from_utf8_lossy(&table);
                let device = format!(" 0:{} / {} ", top.stat.dev.minor, folder.path().display());
                assert!(table.contains(&device), "{table}");
                // The open table keeps the mounts alive.
                drop(view);
                let output = child.join().unwrap().unwrap().wait_with_output().unwrap();
                assert_eq!(output.stdout, b"1\n");
                let mounts = std::fs::read("/proc/self/mounts").unwrap();
                let mounts = String::from_utf8_lossy(&mounts);
                assert!(!mounts.contains(folder.path().to_str().unwrap()));
            }
            Err(refused) => {
                let error = child.join().unwrap().unwrap_err();
                assert_eq!(error.raw_os_error(), refused.source.raw_os_error());
                eprintln!("a mount of its own: skipped, because {refused:?}");
            }
        }
    }

    #[test]
    fn what_fails_is_said() {
        if effective_uid() != 0 || !std::path::Path::new("/dev/fuse").exists() {
            eprintln!("mounting in vain: skipped, because it needs root and /dev/fuse");
            return;
        }
        let point = Point {
            content: Content::Served,
            path: c"/no such directory".to_owned(),
            source: c"nothing".to_owned(),
            kind: c"fuse.test".to_owned(),
        };
        let mut command = trawl_testkit::oracle::command("true");
        let entrance = enclose(&mut command, vec![point], None, HandedOver::Nothing).unwrap();
        let child = std::thread::spawn(move || command.spawn());
        let refused = entrance.devices().unwrap_err();
        assert!(child.join().unwrap().is_err());
        assert_eq!((refused.step, refused.point), (Step::Mount, 0));
        assert_eq!(refused.source.raw_os_error(), Some(libc::ENOENT));
    }
}
