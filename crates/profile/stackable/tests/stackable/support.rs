//! A directory and its mount, which is gone at the end of a test, however it ends.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trawl_histogram::Profile;
use trawl_stackable::{Options, Serving, StackableError, mount};
use trawl_testkit::scratch::Scratch;
use trawl_testkit::skip::{Skip, without_root};

/// A directory `below`, and its mount at `above`. Another directory `plain` lies beside them.
pub(crate) struct Stacked {
    serving: Option<Serving>,
    pub(crate) scratch: Scratch,
}

impl Stacked {
    /// Returns `None` where it cannot be mounted, and says so.
    pub(crate) fn new(label: &str, options: &Options) -> Option<Stacked> {
        let scratch = Scratch::new(label);
        for name in ["below", "plain", "above"] {
            fs::create_dir(scratch.join(name)).unwrap();
        }
        Stacked::over(scratch, options)
    }

    /// Mounts the directory `below` of this place.
    pub(crate) fn over(scratch: Scratch, options: &Options) -> Option<Stacked> {
        if !can_mount() {
            return None;
        }
        let serving = mount(&scratch.join("below"), &scratch.join("above"), options).unwrap();
        Some(Stacked {
            serving: Some(serving),
            scratch,
        })
    }

    pub(crate) fn below(&self) -> PathBuf {
        self.scratch.join("below")
    }

    pub(crate) fn plain(&self) -> PathBuf {
        self.scratch.join("plain")
    }

    pub(crate) fn above(&self) -> PathBuf {
        self.scratch.join("above")
    }

    /// Unmounts it and returns what was recorded.
    pub(crate) fn end(&mut self) -> Profile {
        let mut serving = self.serving.take().unwrap();
        unmount(&mut serving);
        let profile = serving.wait().unwrap();
        profile.check().unwrap();
        for (name, one) in profile.operations() {
            let counts = one.counts();
            assert_eq!(counts.entered, counts.left, "{name} is in flight");
        }
        profile
    }
}

/// Unmounts it. What another test starts has our files open until its program runs: it is waited for.
fn unmount(serving: &mut Serving) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match serving.unmount() {
            Ok(()) => return,
            Err(StackableError::Unmount { source, .. })
                if source.kind() == io::ErrorKind::ResourceBusy && Instant::now() < until =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns whether file systems can be mounted here, and says why not.
pub(crate) fn can_mount() -> bool {
    let what = "the stackable layer";
    if let Some(skip) = without_root(what) {
        skip.say();
        return false;
    }
    if !Path::new("/dev/fuse").exists() {
        Skip::new(what, "there is no /dev/fuse").say();
        return false;
    }
    true
}

pub(crate) fn entered(profile: &Profile, operation: &str) -> u64 {
    profile.get(operation).map_or(0, |one| one.counts().entered)
}

/// Returns one line for each file in a tree: name, type, mode, owner, links, size, times of change
/// left out, contents, extended attributes; inode numbers as the first name that has them.
pub(crate) fn describe(root: &Path) -> Vec<String> {
    let mut first_names = std::collections::HashMap::new();
    let mut lines = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(at) = open.pop() {
        let path = root.join(&at);
        let data = fs::symlink_metadata(&path).unwrap();
        let kind = data.file_type();
        let first = first_names
            .entry(data.ino())
            .or_insert_with(|| at.clone())
            .clone();
        let content = if kind.is_symlink() {
            format!("{:?}", fs::read_link(&path).unwrap())
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap();
            format!("{} bytes, {:x}", bytes.len(), sum(&bytes))
        } else {
            String::new()
        };
        let device = match kind.is_char_device() || kind.is_block_device() {
            true => data.rdev(),
            false => 0,
        };
        let links = match kind.is_dir() {
            true => 0,
            false => data.nlink(),
        };
        lines.push(format!(
            "{at:?}: {:o} {}:{} {links} links like {first:?}, device {device}, mtime {} {content} {:?}",
            data.mode(),
            data.uid(),
            data.gid(),
            match data.mtime() {
                old @ ..1_000_000_000 => old,
                _ => 0,
            },
            attributes(&path),
        ));
        if kind.is_dir() {
            let mut names: Vec<OsString> = fs::read_dir(&path)
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            names.sort();
            open.extend(names.iter().rev().map(|name| at.join(name)));
        }
    }
    lines
}

/// FNV-1a.
fn sum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn attributes(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = vec![0; 4096];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else {
        return Vec::new();
    };
    let names = names[..length].split(|byte| *byte == 0);
    let mut all: Vec<_> = names
        .filter(|name| !name.is_empty())
        .map(|name| {
            let mut value = vec![0; 4096];
            let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
            value.truncate(length);
            (String::from_utf8_lossy(name).into_owned(), value)
        })
        .collect();
    all.sort();
    all
}
