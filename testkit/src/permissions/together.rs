//! Compares groups, relations and SQL with GNU find, GNU grep and the shell's `test`, run as the same
//! user on the source.
//!
//! Every file that find shows to a user belongs to one group; none that find does not show is counted
//! or named. A file of the tree refers to others by their paths: the user is told of those that `test`
//! finds there.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::Site;
use super::compare::{Questions, Tally};
use super::plan::Kind;
use super::views;
use crate::lines::{Ending, split};
use crate::oracle::{Ran, run};
use crate::prng::Prng;

/// The file that refers to others.
const REFERRING: &str = "refs.txt";
/// A hook that takes each line of that file for a path.
const HOOK: &str = r#"#!/bin/sh
while read -r path; do printf '{"relation": "includes", "target": "%s"}\n' "$path"; done
"#;
/// Number of groups whose members are compared: each answer computes all groups.
const GROUPS: usize = 1;
/// Number of directories of groups whose links are compared.
const VIEWS: usize = 1;
/// Prints those of some paths where the user finds a regular file, if the first argument can be read.
const THERE: &str = r#"[ -r "$1" ] && for f in "${@:2}"; do [ -f "$f" ] && [ ! -h "$f" ] && printf '%s\0' "$f"; done; :"#;

impl Site {
    /// Adds a file that everybody may read and that names those files of the tree whose paths are plain,
    /// and the hook that reads it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_references(&self) -> std::io::Result<()> {
        let lines = self.referred();
        let lines = lines.iter().map(|path| format!("{path}\n"));
        let hooks = self.hooks_dir();
        std::fs::create_dir(&hooks)?;
        let manifest = format!("name = \"refs\"\nprogram = \"refs\"\nglobs = [\"{REFERRING}\"]\n");
        for (path, text, mode) in [
            (self.root().join(REFERRING), lines.collect(), 0o644),
            (hooks.join("refs.toml"), manifest, 0o644),
            (hooks.join("refs"), HOOK.to_owned(), 0o755),
            (hooks, String::new(), 0o755),
        ] {
            if !text.is_empty() {
                std::fs::write(&path, text)?;
            }
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            if path.exists() {
                std::fs::set_permissions(path, mode)?;
            }
        }
        Ok(())
    }

    /// Returns the paths of these files, relative to the root.
    fn referred(&self) -> Vec<String> {
        let is_plain = |path: &String| {
            let mut parts = path.split('/');
            path.len() < 1000
                && parts.all(|part| {
                    part.starts_with(|first: char| first.is_ascii_alphabetic())
                        && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
                })
        };
        let nodes = self.plan.nodes.iter();
        let files = nodes.filter(|node| matches!(node.kind, Kind::File { .. }));
        let paths = files.filter_map(|node| String::from_utf8(self.plan.path(node.number)?).ok());
        paths.filter(is_plain).collect()
    }
}

/// Returns the values of a field in JSON lines whose values need no escapes.
fn values(ran: &Ran, field: &str) -> Vec<String> {
    let text = ran.text();
    let mark = format!("\"{field}\":");
    let value = |line: &str| {
        let rest = &line[line.find(&mark)? + mark.len()..];
        let rest = rest.trim_start_matches('"');
        let end = rest.find(['"', ',', '}'])?;
        Some(rest[..end].to_owned())
    };
    text.lines().filter_map(value).collect()
}

fn records(ran: &Ran) -> BTreeSet<Vec<u8>> {
    let records = split(&ran.stdout, Ending::Zero);
    records.iter().map(|record| record.to_vec()).collect()
}

fn same(what: &str, expected: &BTreeSet<Vec<u8>>, ran: &Ran) -> Result<usize, String> {
    let told = records(ran);
    match told == *expected {
        true => Ok(told.len()),
        false => {
            let first = told.symmetric_difference(expected).next();
            let first = first.map(|path| path.escape_ascii().to_string());
            let first = first.unwrap_or_default();
            Err(format!("{what}: {first} is on one side only: {ran}"))
        }
    }
}

impl Questions<'_> {
    /// Returns what find prints for this user of the whole tree.
    fn below(&self, words: &[&str]) -> Ran {
        let mut find = self.line(OsStr::new("find"));
        run(find.arg(self.site.root()).args(words))
    }

    fn trawl(&self) -> Command {
        let mut line = self.line(self.site.trawl.as_os_str());
        line.env("TRAWL_HOOKS", self.site.hooks_dir());
        line.arg("-i").arg(self.site.index_dir());
        line
    }

    /// Returns true where neither side can answer in full: paths longer than the kernel's, and
    /// directories that may be listed but not searched.
    fn is_odd(&self) -> bool {
        self.site.plan.is_deep || !self.listed_only.is_empty()
    }

    /// Compares the members of groups, their counts, and the views of groups.
    pub(super) fn groups(&self) -> Result<Tally, String> {
        let mut tally = Tally::default();
        if self.is_odd() {
            return Ok(tally);
        }
        let files = self.below(&["!", "-type", "d", "-print0"]);
        let all = records(&files);
        let mut line = self.trawl();
        let listed = run(line
            .args(["groups", "list", "--json"])
            .arg(self.site.root()));
        let ids = values(&listed, "group_id");
        let counts: Vec<usize> = values(&listed, "files")
            .iter()
            .filter_map(|count| count.parse().ok())
            .collect();
        let sum: usize = counts.iter().sum();
        if sum != all.len() || counts.len() != ids.len() {
            return Err(format!("{sum} members: {listed}\n{files}"));
        }
        tally.rows += sum;
        let chosen = if self.lists_above() { GROUPS } else { 0 };
        let mut prng = Prng::new(self.site.plan.seed ^ u64::from(self.person.uid));
        for _ in 0..chosen.min(ids.len()) {
            let at = usize::try_from(prng.below(ids.len() as u64)).expect("small");
            tally.rows += self.group(&ids[at], counts[at], &all)?;
        }
        if views::are_possible() && self.lists_above() {
            tally.rows += self.by_group(ids.len(), &all)?;
        }
        tally.questions += 1;
        tally.refusals += usize::from(files.code != Some(0));
        Ok(tally)
    }

    fn group(&self, id: &str, files: usize, all: &BTreeSet<Vec<u8>>) -> Result<usize, String> {
        let mut line = self.trawl();
        line.arg("find").arg(self.site.root());
        let ran = run(line.args(["-in-group", id, "-print0"]));
        let members = records(&ran);
        match members.len() == files && members.is_subset(all) {
            true => Ok(members.len()),
            false => Err(format!("group {id} has {files} members: {ran}")),
        }
    }

    /// Compares the directories of groups: how many there are, and the links in some of them with the
    /// group of the file to which the first leads.
    fn by_group(&self, groups: usize, all: &BTreeSet<Vec<u8>>) -> Result<usize, String> {
        let top = self.site.views().point().join("by-group");
        let mut find = self.line(OsStr::new("find"));
        find.arg(&top);
        let ran = run(find.args(["-mindepth", "1", "-type", "d", "-prune", "-printf", "%f\\0"]));
        let names = records(&ran);
        if names.len() != groups {
            return Err(format!("by-group: {groups} groups expected: {ran}"));
        }
        let mut rows = 0;
        let skipped = usize::try_from(self.person.uid).unwrap_or(0) % groups.max(1);
        for name in names.iter().skip(skipped).take(VIEWS) {
            let mut find = self.line(OsStr::new("find"));
            find.arg(top.join(OsStr::from_bytes(name)));
            let ran = run(find.args(["-mindepth", "1", "-type", "l", "-printf", "%l\\0"]));
            let members = records(&ran);
            let Some(first) = members.first().filter(|_| members.is_subset(all)) else {
                return Err(format!("by-group: others than the user sees: {ran}"));
            };
            let mut line = self.trawl();
            line.arg("find").arg(self.site.root()).arg("-group-of");
            line.arg(OsStr::from_bytes(first)).arg("-print0");
            rows += same("by-group", &members, &run(&mut line))?;
        }
        Ok(rows)
    }

    /// Returns the files to which the referring file leads this user.
    fn led(&self) -> BTreeSet<Vec<u8>> {
        let mut bash = self.line(OsStr::new("bash"));
        bash.args(["-c", THERE, "bash"]).arg(self.referring());
        let referred = self.site.referred();
        let paths = referred.iter().map(|path| self.site.root().join(path));
        records(&run(bash.args(paths)))
    }

    fn referring(&self) -> PathBuf {
        self.site.root().join(REFERRING)
    }

    /// Compares the relations of the referring file, forward and backward.
    pub(super) fn related(&self) -> Result<Tally, String> {
        let mut tally = Tally::default();
        if self.is_odd() {
            return Ok(tally);
        }
        let (led, referring) = (self.led(), self.referring());
        let told = self.told(&["--direction", "forward"], &referring);
        tally.rows += same("related", &led, &told)?;
        // find prints those below directories that the user may list.
        let shown = records(&self.below(&["-print0"]));
        let mut line = self.trawl();
        line.arg("find").arg(self.site.root());
        line.args(["-relations", "kind=includes,direction=forward"]);
        line.arg("-related-to").arg(&referring).arg("-print0");
        let both: BTreeSet<Vec<u8>> = led.intersection(&shown).cloned().collect();
        tally.rows += same("-related-to", &both, &run(&mut line))?;
        let mut prng = Prng::new(self.site.plan.seed ^ u64::from(self.person.gid));
        if !led.is_empty() {
            let at = usize::try_from(prng.below(led.len() as u64)).expect("small");
            let path = led.iter().nth(at).expect("it is below the length");
            let file = Path::new(OsStr::from_bytes(path));
            let root = self.site.root();
            let words = ["--direction", "backward", "--in"].map(OsStr::new);
            let told = self.told(&[&words[..], &[root.as_os_str()]].concat(), file);
            let name = referring.as_os_str().as_bytes().to_vec();
            let expected = shown.contains(&name).then_some(name);
            tally.rows += same("backward", &expected.into_iter().collect(), &told)?;
        }
        tally.questions += 3;
        Ok(tally)
    }

    /// Returns the paths that `trawl related` names, each ended by a NUL byte.
    fn told<W: AsRef<OsStr>>(&self, words: &[W], file: &Path) -> Ran {
        let mut line = self.trawl();
        line.args(["related", "--json", "--kind", "includes"]);
        let ran = run(line.args(words).arg(file));
        let paths = values(&ran, "path").into_iter();
        Ran {
            stdout: paths
                .flat_map(|path| [path.as_bytes(), b"\0"].concat())
                .collect(),
            ..ran
        }
    }

    /// Compares tables of SQL. The program is `trawl-sql`.
    pub(super) fn sql(&self) -> Result<Tally, String> {
        let mut tally = Tally::default();
        if self.is_odd() {
            return Ok(tally);
        }
        if self.below(&["-prune"]).code != Some(0) {
            // The root is as one that was never indexed.
            let ran = self.asked("SELECT path FROM entries");
            return match ran.stdout.is_empty() && ran.code != Some(0) {
                true => Ok(tally),
                false => Err(format!("shown and not to be seen: {ran}")),
            };
        }
        // Larger files end with bytes that nobody wrote.
        const TEXT: [&str; 5] = ["-type", "f", "-readable", "-size", "-17"];
        const SHORT: &str = "size <= 8192";
        let words = ["-exec", "grep", "-lwZ", "-e", "2", "{}", "+"];
        let led = self.led();
        let shown = records(&self.below(&["-print0"]));
        let name = self.referring().into_os_string().into_encoded_bytes();
        // The table has files that the index shows.
        let led = if shown.contains(&name) {
            led
        } else {
            BTreeSet::new()
        };
        let files = records(&self.below(&["!", "-type", "d", "-print0"]));
        let count = files.len();
        for (expected, table, condition) in [
            (shown, "entries", "true".to_owned()),
            (files, "group_members", "true".to_owned()),
            (
                records(&self.below(&[&TEXT[..], &words].concat())),
                "entries",
                format!("{SHORT} AND keyword('line 2')"),
            ),
            (
                records(&self.below(&[&TEXT[..], &["!", "-size", "0", "-print0"]].concat())),
                "attributes JOIN (SELECT path AS p, size FROM entries) ON p = path",
                format!("{SHORT} AND attr = 'encoding' AND text = 'ASCII'"),
            ),
        ] {
            let ran = self.select(("path", "path_raw"), table, &condition);
            tally.rows += same(table, &expected, &ran)?;
        }
        let ran = self.select(("other", "other_raw"), "relations", "kind = 'includes'");
        tally.rows += same("relations", &led, &ran)?;
        let ran = self.asked("SELECT coalesce(sum(files), 0)::text AS path FROM file_groups");
        let expected = BTreeSet::from([count.to_string().into_bytes()]);
        tally.rows += same("file_groups", &expected, &ran)?;
        tally.questions += 6;
        Ok(tally)
    }

    /// Asks for paths, as bytes where they are not text.
    fn select(&self, (text, raw): (&str, &str), table: &str, condition: &str) -> Ran {
        let path = format!("coalesce({raw}, arrow_cast({text}, 'BinaryView')) AS path");
        self.asked(&format!("SELECT {path} FROM {table} WHERE {condition}"))
    }

    /// Returns true if the user may list the directory above the root. Others are told of the tree only
    /// if they name a path in it.
    fn lists_above(&self) -> bool {
        let mut test = self.line(OsStr::new("test"));
        let root = self.site.root();
        let above = root.parent().unwrap_or(&root);
        run(test.arg("-r").arg(above)).code == Some(0)
    }

    fn asked(&self, query: &str) -> Ran {
        let mut line = self.line(self.site.trawl.as_os_str());
        line.env("TRAWL_INDEX", self.site.index_dir());
        line.env("TRAWL_HOOKS", self.site.hooks_dir());
        line.arg("--below").arg(self.site.root());
        run(line.args(["--paths", query]))
    }
}
