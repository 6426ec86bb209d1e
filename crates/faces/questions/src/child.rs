//! A command line of `trawl` that runs, and what it says on standard error.
//!
//! Invariants: the process ends when its value is dropped, with everything that it started; what it
//! says is read all the time, and kept in bounded memory; nobody answers its questions, because its
//! input is empty. If nobody reads its output, it waits.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::io::AsyncRead;
use tokio::process::{Child, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use trawl_model::escape::escape;

use crate::limits::{ISSUE_BYTES, ISSUES, LAST_MESSAGES};
use crate::records::{Ending, Record, Records};
use crate::rows::{Form, without_half_a_character};
use crate::words::Question;

/// What answers questions: the program, and the words before each command.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program `trawl`.
    pub path: PathBuf,
    /// The index to ask, if the server was told.
    pub index: Option<PathBuf>,
}

impl Program {
    /// Returns `trawl` beside this program, or the name to look for in `PATH`.
    pub fn beside() -> PathBuf {
        let own = std::env::current_exe().ok();
        let beside = own.map(|own| own.with_file_name("trawl"));
        let found = beside.filter(|path| path.is_file());
        found.unwrap_or_else(|| PathBuf::from("trawl"))
    }
}

/// A running command line.
#[derive(Debug)]
pub struct Running {
    /// The process; absent only while this value is dropped.
    child: Option<Child>,
    /// Number of the process, which leads its own group.
    group: Option<rustix::process::Pid>,
    output: Records<ChildStdout>,
    said: Arc<Mutex<Said>>,
    listener: JoinHandle<()>,
}

/// What a command has said and nobody has been told.
#[derive(Debug, Default)]
pub struct Said {
    /// Messages about what is missing, and others.
    pub issues: VecDeque<String>,
    /// Number of further messages, which were not kept.
    pub left_out: u64,
    /// As of when parts of the answer are true.
    pub as_of: Vec<AsOf>,
}

/// The time as of which a part of an answer is true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AsOf {
    /// Root of the indexed tree, or the place that was read live.
    pub place: String,
    /// The time, as `trawl --status` prints it.
    pub time: String,
    /// The snapshot, or `read from the file system`.
    pub from: String,
}

impl Program {
    /// Starts a command line. Records of its output keep at most this number of bytes.
    ///
    /// # Errors
    /// Fails if the program cannot be run.
    pub fn start(&self, question: &Question, record_bytes: usize) -> io::Result<Running> {
        let mut command = Command::new(&self.path);
        if let Some(index) = &self.index {
            command.arg("--index").arg(index);
        }
        command
            .args(&question.words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // Threads of the runtime end with the process, also if it is killed.
        trawl_sys::command::end_with_this_thread(command.as_std_mut());
        Running::start(command, question.form, record_bytes)
    }
}

impl Running {
    fn start(mut command: Command, form: Form, record_bytes: usize) -> io::Result<Running> {
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let output = child.stdout.take().ok_or_else(missing)?;
        let messages = child.stderr.take().ok_or_else(missing)?;
        let said = Arc::new(Mutex::new(Said::default()));
        let listener = tokio::spawn(listen(messages, Arc::clone(&said)));
        let number = child.id().and_then(|id| i32::try_from(id).ok());
        Ok(Running {
            group: number.and_then(rustix::process::Pid::from_raw),
            child: Some(child),
            output: Records::new(output, form.ending(), record_bytes),
            said,
            listener,
        })
    }

    /// Returns the next record of the output; `None` at its end. The wait may be given up.
    ///
    /// # Errors
    /// Fails if the output cannot be read.
    pub async fn next(&mut self) -> io::Result<Option<Record>> {
        self.output.next().await
    }

    /// Returns the next bytes of the output, in place of records; `None` at its end. The wait may be
    /// given up.
    ///
    /// # Errors
    /// Fails if the output cannot be read.
    pub async fn next_bytes(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.output.next_bytes().await
    }

    /// Waits for the end of the process and of its messages.
    ///
    /// # Errors
    /// Fails if the process cannot be waited for.
    pub async fn end(&mut self) -> io::Result<ExitStatus> {
        let child = self.child.as_mut().ok_or(io::ErrorKind::NotFound)?;
        let status = child.wait().await?;
        // The number may belong to another process from now on.
        self.group = None;
        // A process that it left behind may hold its standard error open.
        let _ = tokio::time::timeout(LAST_MESSAGES, &mut self.listener).await;
        Ok(status)
    }

    /// Stops the command and what it has started, until [`go_on`](Running::go_on): nobody reads its output
    /// for now, so that what it would find ahead may be in vain.
    pub fn pause(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Lets a stopped command go on.
    pub fn go_on(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            // It fails if all processes of the group have ended.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Takes what the command has said since the last time.
    pub fn said(&self) -> Said {
        std::mem::take(&mut *lock(&self.said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.listener.abort();
        self.signal(rustix::process::Signal::KILL);
        // Somebody has to learn of the end, or the kernel keeps the process's number.
        if let (Some(mut child), Ok(runtime)) = (self.child.take(), Handle::try_current()) {
            runtime.spawn(async move { child.wait().await });
        }
    }
}

/// Keeps messages until they end.
async fn listen(messages: impl AsyncRead + Unpin, said: Arc<Mutex<Said>>) {
    let mut lines = Records::new(messages, Ending::Newline, ISSUE_BYTES);
    while let Ok(Some(line)) = lines.next().await {
        lock(&said).add(&line);
    }
}

fn lock(said: &Mutex<Said>) -> MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `--status` says where nothing is missing.
const NO_ISSUES: &str = "0 issues in scope";

impl Said {
    /// Adds a message.
    pub fn add(&mut self, line: &Record) {
        let shown = without_half_a_character(&line.bytes);
        let text = escape(shown);
        let text = ["trawl: ", "find: "]
            .iter()
            .find_map(|name| text.strip_prefix(name))
            .unwrap_or(&text);
        if text == NO_ISSUES || text.is_empty() {
            return;
        }
        match as_of(text) {
            Some(as_of) if self.as_of.len() < ISSUES => self.as_of.push(as_of),
            _ if self.issues.len() < ISSUES => {
                let end = if line.is_cut() { "…" } else { "" };
                self.issues.push_back(format!("{text}{end}"));
            }
            _ => self.left_out += 1,
        }
    }
}

/// Reads a message that says as of when a part of the answer is true.
fn as_of(text: &str) -> Option<AsOf> {
    let (place, rest) = text.rsplit_once(" as of ")?;
    let (time, from) = rest.split_once(", ")?;
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_snapshot = from
        .strip_prefix("snapshot ")
        .is_some_and(|rest| is_id(rest.split_once(", index ").map_or(rest, |(id, _)| id)));
    let is_time = time.len() >= 19 && time.bytes().all(|byte| b"0123456789-+:. ".contains(&byte));
    let is_known = is_time && (is_snapshot || from == "read from the file system");
    is_known.then(|| AsOf {
        place: place.to_owned(),
        time: time.to_owned(),
        from: from.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[&str]) -> Said {
        let mut said = Said::default();
        for line in lines {
            said.add(&Record {
                bytes: line.as_bytes().to_vec(),
                length: line.len() as u64,
            });
        }
        said
    }

    #[test]
    fn the_time_of_an_answer_is_told_from_issues() {
        let found = said(&[
            "trawl: /usr as of 2026-11-21 04:05:08.948134993 +0000, snapshot 18e9f3ba8796ec51",
            "trawl: /x as of 2026-11-21 04:05:08.948134993 +0000, read from the file system",
            "trawl: 0 issues in scope",
            "find: /y as of 2026-11-21 04:05:08.948134993 +0000, snapshot 18e9: permission denied",
            "trawl: 3 issues in scope",
        ]);
        let places: Vec<&str> = found.as_of.iter().map(|one| one.place.as_str()).collect();
        assert_eq!(places, ["/usr", "/x"]);
        assert_eq!(found.as_of[0].time, "2026-11-21 04:05:08.948134993 +0000");
        assert_eq!(found.as_of[0].from, "snapshot 18e9f3ba8796ec51");
        assert_eq!(found.issues.len(), 2, "{found:?}");
    }

    #[test]
    fn messages_are_bounded() {
        let lines = vec!["trawl: x"; ISSUES + 7];
        let found = said(&lines);
        assert_eq!((found.issues.len(), found.left_out), (ISSUES, 7));
    }
}
