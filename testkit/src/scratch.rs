//! A temporary directory that can be removed whatever a test has put into it.
//!
//! Unlike a plain temporary directory it may be entered by every user (tests
//! run tools as others), and it goes away with chains deeper than `PATH_MAX`,
//! more levels than there are descriptors, and folders without permissions.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A directory of its own, removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes one in the directory for temporary files; `label` is part of its name.
    ///
    /// # Panics
    /// If none can be made: no test can go on without.
    pub fn new(label: &str) -> Self {
        Self::new_in(&std::env::temp_dir(), label)
    }

    /// Makes one in a given directory, such as a mounted file system.
    ///
    /// # Panics
    /// If none can be made.
    pub fn new_in(parent: &Path, label: &str) -> Self {
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("trawl-{label}-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o755).create(&path) {
                Ok(()) => {
                    // The mask must not keep other users out.
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                        .expect("our own directory");
                    return Self { path };
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("cannot make {}: {error}", path.display()),
            }
        }
    }

    /// Where it is: absolute, without symbolic links of ours.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path in it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Copies a program to where every user may run it, and returns its path:
    /// build directories often lie in a private home. `trawl-more` comes with `trawl`, which hands
    /// over to it.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn install(&self, program: &Path) -> PathBuf {
        let more = program.with_file_name("trawl-more");
        if program.ends_with("trawl") && more.exists() {
            self.copy(&more);
        }
        self.copy(program)
    }

    fn copy(&self, program: &Path) -> PathBuf {
        let copy = self
            .path
            .join(program.file_name().expect("a program has a name"));
        // By another process: what another thread starts meanwhile would have
        // the copy open for writing, and nobody could run it.
        let mut cp = crate::oracle::command("cp");
        // The copy may still run: a file that is being executed cannot be written, only replaced.
        let copied = cp
            .args(["--remove-destination", "--"])
            .arg(program)
            .arg(&copy)
            .status();
        let is_copied = copied.is_ok_and(|status| status.success());
        assert!(is_copied, "cannot copy {}", program.display());
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("our own file");
        copy
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The standard library recurses with one descriptor a level and gives up on folders
        // that it may not enter; chmod and rm do neither.
        for (program, arguments) in [
            ("chmod", &["-R", "u+rwX", "--"][..]),
            ("rm", &["-rf", "--"][..]),
        ] {
            if program == "chmod" && crate::skip::is_root() {
                continue;
            }
            let mut command = crate::oracle::command(program);
            command
                .args(arguments)
                .arg(&self.path)
                .stderr(Stdio::null())
                .stdin(Stdio::null());
            let _ = command.status();
        }
        if self.path.exists() && !std::thread::panicking() {
            eprintln!("left behind: {}", self.path.display());
        }
    }
}
