//! The record of questions: JSON lines that say who asked what, when, for how long and with how many
//! rows. It contains no answers.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use trawl_questions::reply::moment;

use super::messages::Ended;

/// Most bytes of a name that somebody typed.
const NAME_BYTES: usize = 256;

/// Most lines in a second about those whom nobody knows: strangers must not fill the disk.
const STRANGERS: u64 = 10;

/// A file that lines are appended to.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: File,
    strangers: Strangers,
}

/// Lines about strangers in the current second, and those that were left out since the last line.
#[derive(Debug)]
struct Strangers {
    second: Instant,
    lines: u64,
    left_out: u64,
}

impl Strangers {
    /// Returns whether one more line may be written.
    fn may_add(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.lines) = (now, 0);
        }
        let may_add = self.lines < STRANGERS;
        match may_add {
            true => self.lines += 1,
            false => self.left_out += 1,
        }
        may_add
    }
}

impl Record {
    /// Opens the file, which only its owner may read. Makes it, and its directory, if it is missing.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Record> {
        if let Some(directory) = path.parent() {
            let mut made = std::fs::DirBuilder::new();
            made.recursive(true).mode(0o700).create(directory)?;
        }
        Ok(Record {
            path: path.to_owned(),
            file: append(path)?,
            strangers: Strangers {
                second: Instant::now(),
                lines: 0,
                left_out: 0,
            },
        })
    }

    /// Adds the end of a question.
    ///
    /// # Errors
    /// Fails if the line cannot be written.
    pub fn question(&mut self, address: Option<IpAddr>, ended: &Ended) -> io::Result<()> {
        let who = ended.who.as_ref();
        if who.is_none() && !self.strangers.may_add(Instant::now()) {
            return Ok(());
        }
        // What strangers ask is not looked at, either.
        let arguments = who.map(|_| &ended.arguments);
        self.line(&json!({
            "time": moment(SystemTime::now()),
            "event": "question",
            "user": who.map(|who| &who.user),
            "uid": who.map(|who| who.uid),
            "by": who.map(|who| &who.by),
            "address": address,
            "question": ended.question,
            "arguments": arguments,
            "status": ended.status,
            "outcome": ended.outcome,
            "rows": ended.rows,
            "bytes": ended.bytes,
            "seconds": (ended.seconds * 1e6).round() / 1e6,
        }))
    }

    /// Adds that a session began, or why it did not.
    ///
    /// # Errors
    /// Fails if the line cannot be written.
    pub fn login(
        &mut self,
        address: Option<IpAddr>,
        user: &str,
        way: &str,
        result: Result<(), &str>,
    ) -> io::Result<()> {
        if result.is_err() && !self.strangers.may_add(Instant::now()) {
            return Ok(());
        }
        let end = user.char_indices().map(|(at, _)| at);
        let end = end.take_while(|at| *at <= NAME_BYTES).last().unwrap_or(0);
        let user = if user.len() <= NAME_BYTES {
            user
        } else {
            &user[..end]
        };
        self.line(&json!({
            "time": moment(SystemTime::now()),
            "event": "login",
            "user": user,
            "by": way,
            "address": address,
            "granted": result.is_ok(),
            "reason": result.err(),
        }))
    }

    fn line(&mut self, line: &Value) -> io::Result<()> {
        // A program that rotates files has moved it away.
        let is_ours = std::fs::metadata(&self.path).is_ok_and(|there| {
            let here = self.file.metadata();
            here.is_ok_and(|here| (here.dev(), here.ino()) == (there.dev(), there.ino()))
        });
        if !is_ours {
            self.file = append(&self.path)?;
        }
        let left_out = std::mem::take(&mut self.strangers.left_out);
        let mut bytes = Vec::new();
        if left_out > 0 {
            let line = json!({
                "time": moment(SystemTime::now()),
                "event": "left out",
                "lines": left_out,
            });
            bytes.extend(serde_json::to_vec(&line)?);
            bytes.push(b'\n');
        }
        bytes.extend(serde_json::to_vec(line)?);
        bytes.push(b'\n');
        // One call, so that a line is never torn.
        self.file.write_all(&bytes)
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_testkit::Scratch;

    #[test]
    fn lines_are_appended_and_a_rotated_file_is_left_alone() {
        let scratch = Scratch::new("http-record");
        let path = scratch.join("log/questions.jsonl");
        let mut record = Record::open(&path).expect("it is made");
        let mode = std::fs::metadata(&path).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o600);
        record
            .login(None, "a\nb", "password", Ok(()))
            .expect("our own");
        std::fs::rename(&path, scratch.join("old")).expect("our own");
        let refused = Err("no");
        record
            .login(None, "c", "password", refused)
            .expect("our own");
        let read = |path: &Path| std::fs::read_to_string(path).expect("our own");
        let old: Value = serde_json::from_str(&read(&scratch.join("old"))).expect("one line");
        assert_eq!(
            (&old["user"], &old["granted"]),
            (&json!("a\nb"), &json!(true))
        );
        let new: Value = serde_json::from_str(&read(&path)).expect("one line");
        assert_eq!((&new["user"], &new["reason"]), (&json!("c"), &json!("no")));
    }

    #[test]
    fn strangers_do_not_fill_the_disk() {
        let scratch = Scratch::new("http-record-strangers");
        let path = scratch.join("questions.jsonl");
        let mut record = Record::open(&path).expect("it is made");
        let long = "ä".repeat(100_000);
        for _ in 0..10_000 {
            record
                .login(None, &long, "password", Err("no"))
                .expect("our own");
        }
        record
            .login(None, "d", "password", Ok(()))
            .expect("our own");
        let text = std::fs::read_to_string(&path).expect("our own");
        assert!(text.len() < 1_000_000, "{}", text.len());
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let left_out: u64 = lines.iter().filter_map(|line| line["lines"].as_u64()).sum();
        let logins = lines.iter().filter(|line| line["event"] == "login").count() as u64;
        assert_eq!(logins + left_out, 10_001, "none is missing without a word");
    }
}
