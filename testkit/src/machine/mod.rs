//! An emulated machine with a kernel of its own, for tests of what this machine's kernel does not
//! allow: loading modules, tracing functions, breaking things.
//!
//! qemu runs Debian's kernel from a cache (`$XDG_CACHE_HOME/trawl/machine`); nothing of it is
//! installed. The machine's files are those that a test puts in, with the libraries that they need,
//! and busybox. It starts a shell script and is switched off when that has ended. It is emulated
//! entirely (no KVM, which other virtual machines offer and rarely have), and so some twenty times
//! slower than this one.
//!
//! ```no_run
//! # use trawl_testkit::machine::Machine;
//! let mut machine = match Machine::new("a test") {
//!     Ok(machine) => machine,
//!     Err(skip) => return skip.say(),
//! };
//! machine.modules(&["ext4", "virtio_blk"]).disk(64 << 20).program("mkfs.ext4");
//! let ended = machine.run("mkfs.ext4 -q /dev/vda && mount /dev/vda /mnt");
//! assert_eq!(ended.code, Some(0), "{}", ended.console);
//! ```

mod archive;
mod kernel;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::oracle::command;
use crate::scratch::Scratch;
use crate::skip::{Skip, without_program};
use archive::Archive;
use kernel::Kernel;

const EMULATOR: &str = "qemu-system-x86_64";
/// The serial line to which the script writes.
const SCRIPT_LINE: &str = "/dev/ttyS1";
/// What the machine writes when the script has ended, before its exit code.
const ENDED: &str = "machine: the script ended with ";
/// A machine that takes longer is ended: much more than any takes beside other machines.
const TIME_MAX_S: u32 = 1200;
/// Held while a machine runs: two of a process at a time would only slow each other down.
static RUNNING: Mutex<()> = Mutex::new(());

/// A machine that is not switched on yet.
#[derive(Debug)]
pub struct Machine {
    kernel: Kernel,
    archive: Archive,
    /// Modules in the order in which they are loaded.
    modules: Vec<String>,
    libraries: BTreeSet<PathBuf>,
    disks_bytes: Vec<u64>,
    scratch: Scratch,
}

/// What a machine has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Everything that the script wrote, then what the kernel told.
    pub console: String,
    /// Exit code of the script; `None` if it did not end.
    pub code: Option<i32>,
}

impl Machine {
    /// Obtains what a machine needs, from the cache or from Debian.
    ///
    /// # Errors
    /// Says why there can be none here.
    pub fn new(what: &str) -> Result<Machine, Skip> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Skip::new(what, "the emulated machine is an x86-64 one"));
        }
        if let Some(skip) = without_program(what, EMULATOR) {
            return Err(skip);
        }
        let kernel = Kernel::obtain().map_err(|because| Skip::new(what, because))?;
        let mut archive = Archive::default();
        archive.file("/bin/busybox", &kernel.busybox(), 0o755);
        Ok(Machine {
            kernel,
            archive,
            modules: Vec::new(),
            libraries: BTreeSet::new(),
            disks_bytes: Vec::new(),
            scratch: Scratch::new("machine"),
        })
    }

    /// Returns the release of the machine's kernel.
    pub fn release(&self) -> &str {
        &self.kernel.release
    }

    /// Loads modules, and before them those that they depend on.
    ///
    /// # Panics
    /// If the kernel has no module of a name.
    pub fn modules(&mut self, names: &[&str]) -> &mut Self {
        for name in names {
            let path = self.kernel.module(name);
            let path = path.unwrap_or_else(|| panic!("the kernel has no module {name}"));
            let content = kernel::module_content(&path);
            let needed = kernel::dependencies(&content);
            let needed: Vec<&str> = needed.iter().map(String::as_str).collect();
            self.modules(&needed);
            if !self.modules.iter().any(|loaded| loaded == name) {
                self.modules.push((*name).to_owned());
                self.archive
                    .file(&format!("/modules/{name}.ko"), &content, 0o644);
            }
        }
        self
    }

    /// Adds a program of this machine, by its name or path, and its libraries. One with debugging
    /// information is stripped.
    ///
    /// # Panics
    /// If there is none.
    pub fn program(&mut self, name: &str) -> &mut Self {
        let path = locate(name);
        let path = path.unwrap_or_else(|| panic!("{name} is not installed"));
        let target = path.to_string_lossy().into_owned();
        self.program_as(&path, &target)
    }

    /// As [`Machine::program`], at another place.
    ///
    /// # Panics
    /// If the program cannot be read.
    pub fn program_as(&mut self, path: &Path, target: &str) -> &mut Self {
        let stripped = self.scratch.path().join("stripped");
        let ran = command("strip")
            .args(["--strip-debug", "-o"])
            .args([stripped.as_path(), path])
            .output();
        let is_stripped = ran.is_ok_and(|ran| ran.status.success());
        let content = std::fs::read(if is_stripped {
            stripped.as_path()
        } else {
            path
        });
        let content = content.expect("the program can be read");
        self.archive.file(target, &content, 0o755);
        for library in libraries(path) {
            if self.libraries.insert(library.clone()) {
                let content = std::fs::read(&library).expect("the library can be read");
                self.archive
                    .file(&library.to_string_lossy(), &content, 0o755);
            }
        }
        self
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, content: &[u8]) -> &mut Self {
        self.archive.file(path, content, 0o644);
        self
    }

    /// Adds an empty disk: `/dev/vda`, `/dev/vdb` and so on, if the module `virtio_blk` is loaded.
    pub fn disk(&mut self, bytes: u64) -> &mut Self {
        self.disks_bytes.push(bytes);
        self
    }

    /// Runs a script of busybox's shell and returns when the machine is off.
    ///
    /// # Panics
    /// If the emulator cannot be started.
    pub fn run(mut self, script: &str) -> Ended {
        self.archive.file("/script", script.as_bytes(), 0o644);
        self.archive
            .file("/init", init(&self.modules).as_bytes(), 0o755);
        let place = self.scratch.path().to_owned();
        let files = place.join("files");
        std::fs::write(&files, self.archive.bytes()).expect("the machine's files can be written");
        let mut emulator = command("timeout");
        emulator.arg(TIME_MAX_S.to_string()).arg(EMULATOR);
        emulator.args(["-accel", "tcg,thread=multi", "-smp", "2", "-m", "1536"]);
        emulator.args(["-nodefaults", "-no-reboot", "-display", "none"]);
        // The kernel has a line of its own: on a slow machine it complains in the middle of a line.
        let kernel = place.join("kernel");
        emulator
            .arg("-serial")
            .arg(format!("file:{}", kernel.display()));
        emulator.args(["-serial", "stdio"]);
        emulator.arg("-kernel").arg(self.kernel.image());
        emulator.arg("-initrd").arg(&files);
        // On a slow machine the kernel may find that its timer does not tick, and give up.
        emulator.args([
            "-append",
            "console=ttyS0 quiet loglevel=2 panic=-1 mitigations=off no_timer_check",
        ]);
        for (at, bytes) in self.disks_bytes.iter().enumerate() {
            let path = place.join(format!("disk{at}"));
            let disk = std::fs::File::create(&path).expect("a disk can be made");
            disk.set_len(*bytes).expect("a disk can be made");
            let drive = format!("file={},format=raw,if=virtio,cache=unsafe", path.display());
            emulator.arg("-drive").arg(drive);
        }
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let ran = emulator.output().expect("the emulator starts");
        drop(running);
        let console = String::from_utf8_lossy(&ran.stdout).replace('\r', "");
        let errors = String::from_utf8_lossy(&ran.stderr);
        let told = std::fs::read(&kernel).unwrap_or_default();
        let told = String::from_utf8_lossy(&told).replace('\r', "");
        let code = console.lines().find_map(|line| line.strip_prefix(ENDED));
        Ended {
            code: code.and_then(|code| code.trim().parse().ok()),
            console: format!("{console}{errors}\nthe kernel told:\n{told}"),
        }
    }
}

/// The machine's first process. It is switched off once everything is written: stty(1) waits for that
/// before it sets what is set already.
fn init(modules: &[String]) -> String {
    let load: String = modules
        .iter()
        .map(|name| format!("insmod /modules/{name}.ko || echo machine: cannot load {name}\n"))
        .collect();
    format!(
        "#!/bin/busybox sh\n\
         /bin/busybox mkdir -p /proc /sys /dev /tmp /run /mnt /sbin /usr/bin /usr/sbin\n\
         /bin/busybox --install -s /bin 2>/dev/null\n\
         export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
         export HOME=/tmp LC_ALL=C TZ=UTC0 TMPDIR=/tmp\n\
         mount -t proc proc /proc\n\
         mount -t sysfs sys /sys\n\
         mount -t devtmpfs dev /dev\n\
         exec </dev/null >{SCRIPT_LINE} 2>&1\n\
         mount -t tmpfs tmp /tmp\n\
         mount -t tmpfs run /run\n\
         mount -t tracefs trace /sys/kernel/tracing 2>/dev/null\n\
         {load}\
         sh /script\n\
         code=$?\n\
         echo\n\
         echo \"{ENDED}$code\"\n\
         stty sane <{SCRIPT_LINE}\n\
         poweroff -f\n"
    )
}

fn locate(name: &str) -> Option<PathBuf> {
    if name.starts_with('/') {
        return Some(PathBuf::from(name));
    }
    let places = ["/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let mut paths = places.iter().map(|place| Path::new(place).join(name));
    paths.find(|path| path.is_file())
}

/// Returns the libraries that a program needs, its loader included, as ldd(1) lists them.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let Ok(ran) = command("ldd").arg(program).output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words
        .map(PathBuf::from)
        .filter(|path| path.is_file())
        .collect()
}
