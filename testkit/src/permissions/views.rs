//! Compares mounted views with GNU find, run as the same user on the source.
//!
//! The views are mounted once for a tree, by root for everybody. One is defined by root, the others
//! are questions in their short form. Compared are the links' targets with the paths that find
//! prints, whether something was left out, and which files the user can open through the links.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use super::build::Site;
use super::compare::{Questions, Tally};
use crate::lines::{Ending, split};
use crate::oracle::{Ran, command, run};

/// `PATH_MAX` of Linux: no link leads to a longer path.
const PATH_BYTES_MAX: usize = 4096;
/// The longest name that FUSE passes on.
const NAME_BYTES_MAX: usize = 1024;
/// The view that root defines, of the whole tree.
const DEFINED: &str = "everything";

/// Returns whether file systems can be mounted through FUSE here.
pub fn are_possible() -> bool {
    let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    device.is_ok()
}

/// Views of a tree, mounted for all users until dropped.
#[derive(Debug)]
pub(super) struct Mount {
    child: Child,
    point: PathBuf,
}

impl Mount {
    pub(super) fn new(site: &Site, scratch: &Path) -> Mount {
        let (point, definitions) = (scratch.join("views"), scratch.join("views.d"));
        for path in [&point, &definitions] {
            fs::create_dir(path).expect("room");
        }
        let line = format!("{DEFINED} = {}\n", site.root().display());
        fs::write(definitions.join("tree"), line).expect("room");
        let mut line = command(&site.trawl);
        line.arg("-i").arg(site.index_dir());
        line.args(["mount", "--foreground", "--ready", "--all-users"])
            .arg("--definitions")
            .arg(definitions)
            .arg("--views")
            .arg(&point);
        let mut child = line.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut said = String::new();
        let mut pipe = BufReader::new(child.stdout.take().expect("a pipe"));
        pipe.read_line(&mut said).expect("text");
        let mount = Mount { child, point };
        assert_eq!(said, "ready\n", "the views are mounted");
        mount
    }
}

impl Mount {
    /// Returns the directory of the views.
    pub(super) fn point(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = run(command("kill").arg(self.child.id().to_string()));
        let _ = self.child.wait();
    }
}

/// Returns the name of the directory that asks for everything below a start point.
fn view_of(start: &Path) -> String {
    let mut name = "?in:".to_owned();
    for byte in start.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => name.push(char::from(*byte)),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

fn set(records: &[&[u8]]) -> BTreeSet<Vec<u8>> {
    let short = records
        .iter()
        .filter(|record| record.len() < PATH_BYTES_MAX);
    short.map(|record| record.to_vec()).collect()
}

impl Questions<'_> {
    /// Compares views with what find prints.
    pub(super) fn views(&self) -> Result<Tally, String> {
        let mut tally = Tally::default();
        if !are_possible() {
            return Ok(tally);
        }
        let mut asked: Vec<(PathBuf, String)> = Vec::new();
        for start in self.two_starts() {
            let view = view_of(&start);
            if view.len() <= NAME_BYTES_MAX {
                asked.push((start, view));
            }
        }
        if !self.site.plan.is_deep {
            asked.push((self.site.root(), DEFINED.into()));
        }
        for (start, view) in asked {
            self.view(&start, &view, &mut tally)
                .map_err(|why| format!("{view}: {why}"))?;
        }
        Ok(tally)
    }

    fn view(&self, start: &Path, view: &str, tally: &mut Tally) -> Result<(), String> {
        let view = self.site.views().point.join(view);
        let mut find = self.line(OsStr::new("find"));
        let theirs = run(find.arg(start).arg("-print0"));
        let mut find = self.line(OsStr::new("find"));
        let links = ["-mindepth", "1", "-type", "l", "-printf", "%f\\0%l\\0"];
        let ours = run(find.arg(&view).args(links));
        let records = split(&ours.stdout, Ending::Zero);
        let mut members = BTreeMap::new();
        for pair in records.chunks_exact(2) {
            let is_new = members.insert(pair[0].to_vec(), pair[1].to_vec()).is_none();
            if !is_new {
                return Err(format!("a name comes twice: {}", pair[0].escape_ascii()));
            }
        }
        let is_whole = self.is_whole(&view);
        let told = Ran {
            stdout: members.values().flat_map(|path| zero(path)).collect(),
            stderr: if is_whole {
                Vec::new()
            } else {
                ours.stderr.clone()
            },
            code: Some(i32::from(!is_whole)),
            ..ours.clone()
        };
        let shown = set(&split(&theirs.stdout, Ending::Zero));
        let shown = Ran {
            stdout: shown.iter().flat_map(|path| zero(path)).collect(),
            ..theirs.clone()
        };
        self.same_paths(&shown, &told)?;
        if is_whole != (theirs.code == Some(0)) {
            return Err(format!("whole: {is_whole}: {ours}\n{theirs}"));
        }
        self.same_files(start, &view, &members)?;
        tally.questions += 1;
        tally.rows += members.len();
        tally.refusals += usize::from(!is_whole);
        Ok(())
    }

    /// Returns true if nothing was left out of the last listing of a view.
    fn is_whole(&self, view: &Path) -> bool {
        let mut cat = self.line(OsStr::new("cat"));
        run(cat.arg(view.join("%incomplete"))).code != Some(0)
    }

    /// Compares which files the user can open by their paths, and through the view.
    fn same_files(
        &self,
        start: &Path,
        view: &Path,
        members: &BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Result<(), String> {
        let files = |words: &[&str]| {
            let mut find = self.line(OsStr::new("find"));
            let ran = run(find.arg(start).args(words).arg("-print0"));
            set(&split(&ran.stdout, Ending::Zero))
        };
        let all = files(&["-type", "f"]);
        let readable = files(&["-type", "f", "-readable"]);
        let mut find = self.line(OsStr::new("find"));
        find.arg("-L").arg(view).args(["-maxdepth", "1"]);
        let ran = run(find.args(["-type", "f", "-readable", "-printf", "%f\\0"]));
        let ours = set(&split(&ran.stdout, Ending::Zero));
        for (name, path) in members.iter().filter(|(_, path)| all.contains(*path)) {
            if readable.contains(path) != ours.contains(name) {
                let path = path.escape_ascii();
                return Err(format!("readable only on one side: {path}: {ran}"));
            }
        }
        Ok(())
    }
}

fn zero(path: &[u8]) -> Vec<u8> {
    [path, b"\0"].concat()
}
