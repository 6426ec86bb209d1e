//! An answer, given in pages of bounded size. Between two pages the command that answers is stopped: so
//! nothing is asked twice, all pages are about one moment, and a client that wants no more than a page
//! causes little work.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep_until, timeout};

use crate::child::{AsOf, Running, Said};
use crate::limits::{ISSUES, Limits, PEEK};
use crate::records::Record;
use crate::rows::{Form, Row};

/// An answer of which not all has been given.
#[derive(Debug)]
pub struct Answer {
    running: Running,
    form: Form,
    asked: SystemTime,
    /// A row that was read and found no room.
    waiting: Option<Fitted>,
    /// Whether rows are missing from the pages so far.
    is_flawed: bool,
    /// Number of messages of the command so far.
    messages: u64,
    rows_given: u64,
}

/// A row, and its length as JSON.
#[derive(Debug)]
struct Fitted {
    row: Row,
    bytes: usize,
}

/// Limits of a page.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most rows.
    pub rows: u32,
    /// Most bytes of the rows, as JSON.
    pub bytes: usize,
    /// Time until what there is must be given.
    pub time: Duration,
}

/// Why a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The command has ended with this status.
    Finished(ExitStatus),
    /// The page has as many rows as were asked for.
    Rows,
    /// The page has as many bytes as one may have.
    Bytes,
    /// The time is over.
    Time,
}

/// A part of an answer.
#[derive(Debug)]
pub struct Page {
    /// When the question was asked.
    pub asked: SystemTime,
    /// The rows.
    pub rows: Vec<Row>,
    /// What the command has said since the last page.
    pub issues: Vec<String>,
    /// Number of messages that were not kept.
    pub issues_left_out: u64,
    /// As of when parts of the answer are true.
    pub as_of: Vec<AsOf>,
    /// Why the page ends.
    pub end: End,
    /// Whether this page ends the answer and nothing is missing from all pages together.
    pub is_complete: bool,
    /// Whether the command failed and gave no row at all.
    pub is_failure: bool,
}

impl Bounds {
    /// Returns the limits for this wish of a client.
    pub fn of(limit: Option<u32>, limits: &Limits) -> Bounds {
        Bounds {
            rows: limit
                .unwrap_or(limits.rows_default)
                .clamp(1, limits.rows_max),
            bytes: limits.bytes,
            time: limits.call,
        }
    }
}

impl Answer {
    /// Begins the answer of a command that has been started.
    pub fn new(running: Running, form: Form) -> Answer {
        Answer {
            running,
            form,
            asked: SystemTime::now(),
            waiting: None,
            is_flawed: false,
            messages: 0,
            rows_given: 0,
        }
    }

    /// Returns the next page. `found` counts its rows while it is being filled. After a full page the
    /// command is stopped; it goes on with the next one. After a page that took too long it goes on at
    /// once, so that the next one has what was found meanwhile.
    ///
    /// # Errors
    /// Fails if the command's output or end cannot be read.
    pub async fn page(&mut self, bounds: Bounds, found: &AtomicU64) -> std::io::Result<Page> {
        self.running.go_on();
        let mut rows = Rows::default();
        let mut unread = Unread::default();
        let deadline = Instant::now() + bounds.time;
        let end = loop {
            if let Some(next) = self.waiting.take()
                && let Some(next) = rows.add(next, bounds.bytes)
            {
                self.waiting = Some(next);
                break End::Bytes;
            }
            found.store(rows.list.len() as u64, Ordering::Relaxed);
            let is_full = rows.list.len() >= bounds.rows as usize;
            let until = match is_full {
                true => deadline.min(Instant::now() + PEEK),
                false => deadline,
            };
            let record = tokio::select! {
                record = self.running.next() => record?,
                () = sleep_until(until) => break if is_full { End::Rows } else { End::Time },
            };
            let Some(record) = record else {
                break self.finish(deadline).await?;
            };
            match fitted(self.form, &record, bounds.bytes) {
                Ok(next) => self.waiting = Some(next),
                Err(why) => unread.add(why),
            }
            if is_full && self.waiting.is_some() {
                break End::Rows;
            }
        };
        if matches!(end, End::Rows | End::Bytes) {
            self.running.pause();
        }
        Ok(self.paged(rows.list, unread, end))
    }

    /// Waits for the end of a command whose output has ended.
    async fn finish(&mut self, deadline: Instant) -> std::io::Result<End> {
        let left = deadline.saturating_duration_since(Instant::now());
        match timeout(left.max(PEEK), self.running.end()).await {
            Ok(status) => Ok(End::Finished(status?)),
            Err(_) => Ok(End::Time),
        }
    }

    fn paged(&mut self, rows: Vec<Row>, unread: Unread, end: End) -> Page {
        let Said {
            issues: said,
            left_out,
            as_of,
        } = self.running.said();
        self.is_flawed |= unread.count > 0;
        self.messages += left_out + said.len() as u64;
        let all = unread.count + left_out + said.len() as u64;
        let issues = unread.reasons.into_iter().chain(said).take(ISSUES);
        let issues: Vec<String> = issues.collect();
        self.rows_given += rows.len() as u64;
        let (is_complete, is_failure) = match end {
            End::Finished(status) => {
                let is_whole = self.form.is_complete(status, self.messages);
                (
                    is_whole && !self.is_flawed,
                    Form::is_failure(status) && self.rows_given == 0,
                )
            }
            _ => (false, false),
        };
        Page {
            asked: self.asked,
            rows,
            issues_left_out: all - issues.len() as u64,
            issues,
            as_of,
            end,
            is_complete,
            is_failure,
        }
    }
}

/// Records that gave no row.
#[derive(Debug, Default)]
struct Unread {
    reasons: Vec<String>,
    count: u64,
}

impl Unread {
    fn add(&mut self, why: String) {
        self.count += 1;
        if self.reasons.len() < ISSUES {
            self.reasons.push(why);
        }
    }
}

/// Rows of a page.
#[derive(Debug, Default)]
struct Rows {
    list: Vec<Row>,
    bytes: usize,
}

impl Rows {
    /// Adds a row; returns it if it has no room.
    fn add(&mut self, next: Fitted, most_bytes: usize) -> Option<Fitted> {
        if !self.list.is_empty() && self.bytes + next.bytes > most_bytes {
            return Some(next);
        }
        self.bytes += next.bytes;
        self.list.push(next.row);
        None
    }
}

/// Makes a row of a record.
fn fitted(form: Form, record: &Record, most_bytes: usize) -> Result<Fitted, String> {
    let too_long = |bytes: u64| {
        format!(
            "a row of {bytes} bytes is left out, because answers have at most {most_bytes}: \
             narrow the question"
        )
    };
    let Some(row) = form.row(record) else {
        return Err(match record.is_cut() {
            true => too_long(record.length),
            false => "a row is left out, because the command wrote something else".into(),
        });
    };
    match serde_json::to_string(&row).map(|text| text.len()) {
        Ok(bytes) if bytes <= most_bytes => Ok(Fitted { row, bytes }),
        Ok(bytes) => Err(too_long(bytes as u64)),
        Err(error) => Err(format!("a row is left out: {error}")),
    }
}

impl End {
    /// Says why something is missing from an answer, and what to do; `None` if nothing is said
    /// besides the issues.
    pub fn reason(self, bounds: Bounds) -> Option<String> {
        let more = "ask more with the cursor for what follows";
        match self {
            End::Rows => Some(format!(
                "the answer has as many rows as were asked for: {more}"
            )),
            End::Bytes => Some(format!(
                "the answer has {} bytes of rows, the most that is allowed: {more}",
                bounds.bytes
            )),
            End::Time => Some(format!(
                "{} s have passed, and this was found so far: {more}, or narrow the question",
                bounds.time.as_secs_f64()
            )),
            End::Finished(status) => match (status.code(), status.signal()) {
                (Some(0), _) => None,
                (Some(code), _) => Some(format!(
                    "a part could not be read or the question was wrong (exit code {code}): see issues"
                )),
                (None, Some(signal)) => Some(format!("the command was ended by signal {signal}")),
                (None, None) => Some("the command was ended".into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Program;
    use crate::limits::ASSISTANT;
    use crate::words::Question;
    use trawl_testkit::process::is_alive;

    /// Runs a shell program in the place of `trawl`.
    fn asked(program: &str, form: Form) -> Answer {
        let shell = Program {
            path: "/bin/sh".into(),
            index: None,
        };
        let question = Question {
            words: vec!["-c".into(), program.into()],
            form,
            limit: None,
        };
        let running = shell.start(&question, ASSISTANT.bytes);
        Answer::new(running.expect("a shell runs"), form)
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(work)
    }

    fn bounds(rows: u32, time: Duration) -> Bounds {
        let bytes = ASSISTANT.bytes;
        Bounds { rows, bytes, time }
    }

    async fn page(answer: &mut Answer, rows: u32, time: Duration) -> Page {
        answer
            .page(bounds(rows, time), &AtomicU64::new(0))
            .await
            .expect("a page")
    }

    const LONG: Duration = Duration::from_secs(600);

    fn numbers(page: &Page) -> Vec<u64> {
        page.rows
            .iter()
            .filter_map(|row| row["n"].as_u64())
            .collect()
    }

    #[test]
    fn pages_follow_each_other_without_a_gap() {
        run(async {
            let program = "i=0; while [ $i -lt 25 ]; do echo \"{\\\"n\\\":$i}\"; i=$((i+1)); done";
            let mut answer = asked(program, Form::Objects);
            let mut found = Vec::new();
            for expected in [10, 10, 5] {
                let page = page(&mut answer, 10, LONG).await;
                assert_eq!(page.rows.len(), expected);
                assert_eq!(page.is_complete, expected == 5);
                found.extend(numbers(&page));
            }
            assert_eq!(found, (0..25).collect::<Vec<u64>>());
        });
    }

    /// Returns the state of the process whose number is the first row, once it is `wanted`.
    async fn state(page: &Page, wanted: &str) -> String {
        let number = page.rows[0]["pid"].as_u64().expect("a number");
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let stat =
                std::fs::read_to_string(format!("/proc/{number}/stat")).expect("it is there");
            let state = stat.rsplit(") ").next().unwrap_or_default()[..1].to_owned();
            if state == wanted || Instant::now() > until {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Proc(5): `T` is stopped by a signal, `S` waits.
    #[test]
    fn a_command_is_stopped_while_no_page_is_asked_for() {
        run(async {
            let program = "echo \"{\\\"pid\\\":$$}\"; for n in 1 2 3; do
                echo \"{\\\"n\\\":$n}\"; done; exec sleep 1000";
            let mut answer = asked(program, Form::Objects);
            let first = page(&mut answer, 1, LONG).await;
            assert_eq!(state(&first, "T").await, "T");
            let second = page(&mut answer, 2, LONG).await;
            assert_eq!((numbers(&second), second.end), (vec![1, 2], End::Rows));
            assert_eq!(state(&first, "T").await, "T");
            // The page takes too long.
            let third = page(&mut answer, 9, Duration::from_millis(100)).await;
            assert_eq!((numbers(&third), third.end), (vec![3], End::Time));
            assert_eq!(state(&first, "S").await, "S");
            let number = first.rows[0]["pid"].as_u64().expect("a number");
            let number = u32::try_from(number).expect("a process");
            answer.running.pause();
            drop(answer);
            let until = Instant::now() + Duration::from_secs(60);
            while is_alive(number) && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert!(!is_alive(number), "a stopped command ends, too");
        });
    }

    #[test]
    fn a_full_page_that_is_the_last_one_says_so() {
        run(async {
            let mut answer = asked("echo '{\"n\":1}'; echo '{\"n\":2}'", Form::Objects);
            let page = page(&mut answer, 2, LONG).await;
            assert!(page.is_complete, "{page:?}");
            assert!(matches!(page.end, End::Finished(_)));
        });
    }

    #[test]
    fn bytes_are_bounded_and_long_rows_are_left_out() {
        run(async {
            let program = "x=$(printf '%20000s' x); for n in 1 2 3 4; do echo \"{\\\"n\\\":$n,\\\"x\\\":\\\"$x\\\"}\"; done
                printf '{\"n\":5,\"x\":\"%70000s\"}\\n' x; echo '{\"n\":6}'";
            let mut answer = asked(program, Form::Objects);
            let first = page(&mut answer, 100, LONG).await;
            assert_eq!((numbers(&first), first.end), (vec![1, 2, 3], End::Bytes));
            let second = page(&mut answer, 100, LONG).await;
            assert_eq!(numbers(&second), [4, 6]);
            assert!(!second.is_complete, "a row is missing");
            assert!(second.issues[0].contains("left out"), "{second:?}");
        });
    }

    #[test]
    fn the_time_limit_gives_what_there_is_and_the_rest_follows() {
        run(async {
            let scratch = trawl_testkit::Scratch::new("questions-time");
            let gate = scratch.join("gate");
            let program = format!(
                "echo '{{\"n\":1}}'; while ! [ -e '{}' ]; do sleep 0.01; done; echo '{{\"n\":2}}'",
                gate.display()
            );
            let mut answer = asked(&program, Form::Objects);
            let first = page(&mut answer, 10, Duration::from_millis(300)).await;
            assert_eq!(first.end, End::Time);
            assert!(!first.is_complete);
            std::fs::write(&gate, "").expect("our own");
            let mut found = numbers(&first);
            let second = page(&mut answer, 10, LONG).await;
            found.extend(numbers(&second));
            assert_eq!(found, [1, 2]);
            assert!(second.is_complete);
        });
    }

    #[test]
    fn exit_codes_and_messages_are_told() {
        run(async {
            let program = "echo 'trawl: /x: permission denied' >&2; echo '{\"n\":1}'; exit 1";
            let partly = page(&mut asked(program, Form::Objects), 10, LONG).await;
            assert_eq!(partly.issues, ["/x: permission denied"]);
            assert!(!partly.is_complete && !partly.is_failure);
            let failed = page(&mut asked("echo no >&2; exit 2", Form::Objects), 10, LONG).await;
            assert!(failed.is_failure && !failed.is_complete);
            let killed = page(&mut asked("kill -9 $$", Form::Objects), 10, LONG).await;
            assert!(
                killed.is_failure
                    && killed
                        .end
                        .reason(bounds(10, LONG))
                        .expect("one")
                        .contains("signal 9")
            );
            let unmatched = page(&mut asked("exit 1", Form::Hits), 10, LONG).await;
            assert!(unmatched.is_complete, "nothing matched");
            let odd = page(&mut asked("echo hello", Form::Objects), 10, LONG).await;
            assert!(
                !odd.is_complete && odd.issues[0].contains("left out"),
                "{odd:?}"
            );
        });
    }

    #[test]
    fn endless_nonsense_ends_with_the_time() {
        run(async {
            let mut answer = asked("while :; do echo nonsense; done", Form::Objects);
            let time = Duration::from_millis(300);
            let found = page(&mut answer, 10, time).await;
            assert_eq!((found.end, found.issues.len()), (End::Time, ISSUES));
            assert!(found.issues_left_out > 0, "{found:?}");
            let mut endless = asked("tr '\\0' x < /dev/zero", Form::Objects);
            assert_eq!(page(&mut endless, 10, time).await.end, End::Time);
        });
    }

    #[test]
    fn a_dropped_answer_ends_the_command_and_what_it_started() {
        run(async {
            let program = "sleep 1000 & echo \"{\\\"n\\\":$!}\"; echo \"{\\\"n\\\":$$}\"; wait";
            let mut answer = asked(program, Form::Objects);
            let time = Duration::from_millis(500);
            let mut processes = Vec::new();
            while processes.len() < 2 {
                processes.extend(numbers(&page(&mut answer, 2, time).await));
            }
            assert!(
                processes
                    .iter()
                    .all(|number| is_alive(u32::try_from(*number).expect("a process")))
            );
            drop(answer);
            while processes
                .iter()
                .any(|number| is_alive(u32::try_from(*number).expect("a process")))
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
    }
}
