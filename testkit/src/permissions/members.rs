//! Compares sets and `grep` with bash's patterns, GNU find and GNU grep, run as the same user on the
//! source.
//!
//! Bash names the entries of a directory that may be listed but not searched; the program may report
//! them as problems instead. No other member may be left out, and none may be added. Paths longer
//! than the kernel accepts are left out, since the oracles cannot name them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::compare::{Questions, Tally};
use crate::lines::{Ending, Order, difference, split};
use crate::oracle::{Ran, run};
use crate::prng::Prng;
use crate::scratch::Scratch;

/// Patterns of set names, which bash reads as the program does. `%` stands for a name of the tree.
const PATTERNS: &[&str] = &[
    "*",
    "*/*",
    "*1*",
    "{*1*,*[2-4]}/*",
    ".[!.]*",
    "*/%",
    "*/*/%",
    "*/*/n*[!5]",
];

/// Find expressions, and the words that make GNU find select the same.
const EXPRESSIONS: &[&[&str]] = &[
    &["-mindepth", "1"],
    &["-mindepth", "1", "-name", "*1*"],
    &["-type", "f", "-size", "+0"],
    &[
        "-mindepth",
        "1",
        "-user",
        "60001",
        "-o",
        "-type",
        "d",
        "-mindepth",
        "1",
    ],
];

/// The lines that are searched for: some are in every file of several lines.
const TEXT: &str = "of [12]$";

/// What is printed of each file.
const FORMS: &[&str] = &["-aHn", "-aHc", "-al", "-aL"];

/// What each member of a set is known to be: type, size, time. Empty where it is not known.
type Members = BTreeMap<Vec<u8>, Vec<u8>>;

/// Returns a pattern that matches only this text.
pub fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in text {
        match byte {
            b'*' | b'?' | b'[' | b']' | b'{' | b'}' | b',' | b'~' | b'\\' | b'%' => {
                out.extend([b'[', *byte, b']']);
            }
            byte => out.push(*byte),
        }
    }
    out
}

/// Returns the name of the set of a pattern below a directory.
fn name_of(start: &Path, pattern: &str, name: &[u8]) -> OsString {
    let start = quoted(start.as_os_str().as_bytes());
    let (before, after) = pattern.split_once('%').unwrap_or((pattern, ""));
    let name = match before == pattern {
        true => Vec::new(),
        false => quoted(name),
    };
    let parts: [&[u8]; 5] = [&start, b"/", before.as_bytes(), &name, after.as_bytes()];
    OsStr::from_bytes(&parts.concat()).to_owned()
}

/// Returns the set's name of a find expression about a directory.
fn query_of(start: &Path, words: &[&str]) -> OsString {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let query = format!("/\\{}\\", words.join(" "));
    let start = quoted(start.as_os_str().as_bytes());
    OsStr::from_bytes(&[&start, query.as_bytes()].concat()).to_owned()
}

impl Questions<'_> {
    /// Compares members of sets with what bash and find list.
    pub(super) fn members(&self) -> Result<Tally, String> {
        let (mut tally, mut prng) = (Tally::default(), self.draws());
        for start in self.starts_of_sets() {
            for pattern in some(PATTERNS, 3, &mut prng) {
                let (theirs, name) = (self.globbed(&start, pattern), self.a_name());
                let set = name_of(&start, pattern, &name);
                // What wildcards name is followed.
                self.same_members(&set, &theirs, "-L", &mut tally)?;
            }
            // A query on a file that is no database has no members, as docs/set-queries.md says.
            let queries = if start.is_dir() { 2 } else { 0 };
            for words in some(EXPRESSIONS, queries, &mut prng) {
                let theirs = self.found(&start, words);
                self.same_members(&query_of(&start, words), &theirs, "-P", &mut tally)?;
            }
        }
        Ok(tally)
    }

    /// Compares what is printed of files' lines with GNU grep.
    pub(super) fn lines(&self) -> Result<Tally, String> {
        let (mut tally, mut prng) = (Tally::default(), self.draws());
        for start in self.starts_of_sets() {
            let how = *prng.pick(FORMS);
            let mut theirs = self.line(OsStr::new("grep"));
            theirs.args(["-r", how, TEXT, "--"]).arg(&start);
            let (theirs, mut ours) = (run(&mut theirs), self.ours("grep"));
            let ours = run(ours.args([how, TEXT]).arg(&start));
            self.same_lines(&theirs, &ours, &mut tally)?;
            if self.listed_only.is_empty() && denied(&theirs) != denied(&ours) {
                return Err(format!("refusals differ: {ours}\n{theirs}"));
            }
            // Members that are FIFOs are read, which GNU grep leaves out: they have no lines.
            let lines = *prng.pick(&["-aHn", "-al"]);
            let pattern = *prng.pick(&["*", "*/*"]);
            let theirs = self.grep_in(&self.globbed(&start, pattern), &["-r", "-D", "skip", lines]);
            let mut ours = self.ours("grep");
            let ours = run(ours.args([lines, TEXT]).arg(name_of(&start, pattern, b"")));
            self.same_lines(&theirs, &ours, &mut tally)?;
            let tests = ["-type", "f", "-name", *prng.pick(&["*1*", "*"])];
            let theirs = self.grep_in(&self.found(&start, &tests), &[how]);
            let mut ours = self.ours("grep");
            let ours = run(ours.args([how, TEXT, "--"]).arg(&start).args(tests));
            self.same_lines(&theirs, &ours, &mut tally)?;
        }
        Ok(tally)
    }

    fn draws(&self) -> Prng {
        Prng::new(self.site.plan.seed ^ u64::from(self.person.uid) << 20)
    }

    /// Returns the directories below which sets are opened.
    fn starts_of_sets(&self) -> Vec<PathBuf> {
        match self.site.plan.is_deep {
            true => Vec::new(),
            false => self.two_starts(),
        }
    }

    /// Returns the name of an object in the tree.
    fn a_name(&self) -> Vec<u8> {
        let nodes = &self.site.plan.nodes;
        let at = usize::try_from(self.person.uid).unwrap_or_default();
        let node = nodes.get(at % nodes.len().max(1));
        node.map_or(b"n1".to_vec(), |node| node.name.clone())
    }

    fn ours(&self, command: &str) -> std::process::Command {
        let mut ours = self.line(self.site.trawl.as_os_str());
        ours.arg("-i").arg(self.site.index_dir()).arg(command);
        ours
    }

    /// Returns what bash makes of a pattern.
    fn globbed(&self, start: &Path, pattern: &str) -> Ran {
        let pattern = pattern.replace('%', "\"$2\"");
        let script =
            format!("shopt -s nullglob; for f in \"$1\"/{pattern}; do printf '%s\\0' \"$f\"; done");
        let mut bash = self.line(OsStr::new("bash"));
        bash.env("LC_ALL", "C").args(["-c", &script, "bash"]);
        run(bash.arg(start).arg(OsStr::from_bytes(&self.a_name())))
    }

    fn found(&self, start: &Path, words: &[&str]) -> Ran {
        let mut find = self.line(OsStr::new("find"));
        find.arg("-H").arg(start);
        run(find.arg("(").args(words).args([")", "-print0"]))
    }

    /// Searches files that a command named.
    fn grep_in(&self, named: &Ran, options: &[&str]) -> Ran {
        // Nothing that links lead to may change.
        let scratch = Scratch::new("permissions-lists");
        let list = scratch.join("list");
        std::fs::write(&list, &named.stdout).expect("root may");
        let mut line = self.line(OsStr::new("xargs"));
        line.stdin(std::fs::File::open(&list).expect("it was just written"));
        line.args(["-0r", "grep"]).args(options);
        run(line.args(["-H", TEXT, "--"]))
    }

    fn same_members(
        &self,
        set: &OsStr,
        theirs: &Ran,
        links: &str,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let ours = run(self.ours("set").args(["-0", "--digest"]).arg(set));
        if ours.signal.is_some() || ours.errors().contains("panicked") {
            return Err(format!("the program broke: {ours}"));
        }
        let told = digested(&ours.stdout);
        let names: Vec<&[u8]> = split(&theirs.stdout, Ending::Zero);
        let shown = self.described(&theirs.stdout, links);
        for (name, what) in &told {
            let path = name.escape_ascii();
            if !names.contains(&&name[..]) {
                return Err(format!(
                    "shown and not to be seen: {path}: {ours}\n{theirs}"
                ));
            }
            let expected = shown.get(name).map_or(&b"? ? ?"[..], |of| of);
            if what != b"? ? ?" && what != expected {
                let (what, expected) = (what.escape_ascii(), expected.escape_ascii());
                return Err(format!(
                    "{path} is {expected} and not {what}: {ours}\n{theirs}"
                ));
            }
        }
        let left_out: Vec<&&[u8]> = names
            .iter()
            .filter(|name| !told.contains_key(**name))
            .collect();
        for name in &left_out {
            if ours.code == Some(0) || !self.is_only_listed(name) {
                let path = name.escape_ascii();
                return Err(format!("left out: {path}: {ours}\n{theirs}"));
            }
        }
        let counted = run(self.ours("set").arg("--size").arg(set));
        // Listing a name asks less of the kernel than describing it.
        let most = told.len() + left_out.len();
        let count = counted.text().trim().parse().unwrap_or(usize::MAX);
        if !(told.len()..=most).contains(&count) {
            return Err(format!("a count of {}: {counted}", counted.text().trim()));
        }
        tally.questions += 1;
        tally.rows += told.len();
        tally.refusals += denied(&ours);
        tally.deviations += left_out.len();
        Ok(())
    }

    /// Returns true if the kernel lets the user list the directory of an entry and not search it.
    fn is_only_listed(&self, path: &[u8]) -> bool {
        let holder = Path::new(OsStr::from_bytes(path)).parent();
        let mut line = self.line(OsStr::new("sh"));
        line.args(["-c", "[ -r \"$1\" ] && ! [ -x \"$1\" ]", "sh"]);
        run(line.arg(holder.unwrap_or(Path::new("/")))).code == Some(0)
    }

    /// Returns what the kernel tells the user about each of these paths.
    fn described(&self, paths: &[u8], links: &str) -> Members {
        // Nothing that links lead to may change.
        let scratch = Scratch::new("permissions-lists");
        let list = scratch.join("list");
        std::fs::write(&list, paths).expect("root may");
        let mut line = self.line(OsStr::new("find"));
        line.stdin(std::fs::File::open(&list).expect("it was just written"));
        line.args([links, "-files0-from", "-", "-maxdepth", "0"]);
        let ran = run(line.args(["-printf", "%y %s %T@ %p\\0"]));
        let mut described = digested(&ran.stdout);
        // find prints one digit more than there are.
        described
            .values_mut()
            .for_each(|of| of.truncate(of.len() - 1));
        described
    }

    fn same_lines(&self, theirs: &Ran, ours: &Ran, tally: &mut Tally) -> Result<(), String> {
        if ours.signal.is_some() || ours.errors().contains("panicked") {
            return Err(format!("the program broke: {ours}"));
        }
        let lines = difference(&theirs.stdout, &ours.stdout, Order::Any, Ending::Newline);
        if let Some(lines) = lines {
            return Err(format!("{lines}{ours}\n{theirs}"));
        }
        tally.questions += 1;
        tally.rows += split(&ours.stdout, Ending::Newline).len();
        tally.refusals += denied(ours);
        Ok(())
    }
}

/// Draws some of a list, some perhaps twice.
fn some<'a, T>(list: &'a [T], wanted: usize, prng: &mut Prng) -> Vec<&'a T> {
    (0..wanted).map(|_| prng.pick(list)).collect()
}

/// Reads records of type, size, time and path.
fn digested(records: &[u8]) -> Members {
    let mut members = Members::new();
    for record in split(records, Ending::Zero) {
        let spaces = record.iter().enumerate().filter(|(_, byte)| **byte == b' ');
        let third = spaces
            .map(|(at, _)| at)
            .nth(2)
            .expect("three fields and a path");
        members.insert(record[third + 1..].to_vec(), record[..third].to_vec());
    }
    members
}

/// Returns the number of messages about missing permissions.
fn denied(ran: &Ran) -> usize {
    let errors = ran.errors();
    let lines = errors.lines();
    lines
        .filter(|line| line.contains("Permission denied"))
        .count()
}
