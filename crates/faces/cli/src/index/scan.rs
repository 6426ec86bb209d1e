//! Runs scans and refreshes, and reports on them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use trawl_format::Readers;
use trawl_indexer::surroundings::warnings;
use trawl_indexer::upkeep::retain;
use trawl_indexer::{
    Control, Event, HandedOver, Job, Listener, Notice, Refreshed, ScanOptions, Scanner,
    forget_killed, hand_over, refresh_in,
};
use trawl_model::Issue;
use trawl_session::now;

use super::progress::{Shown, Style};
use super::summary::{self, issue_line};
use super::{IssuesShown, events};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::{Output, say};
use crate::sources;

/// How scans are reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Telling {
    pub(super) style: Style,
    pub(super) issues: IssuesShown,
    /// Whether only errors and issues are shown.
    pub(super) is_quiet: bool,
    pub(super) is_json: bool,
    /// Readers of an index that does not exist yet.
    pub(super) readers: Option<Readers>,
}

impl Telling {
    /// Only errors and messages.
    const QUIETLY: Telling = Telling {
        style: Style::Silent,
        issues: IssuesShown::None,
        is_quiet: true,
        is_json: false,
        readers: None,
    };
}

/// Shows the events of scans on standard error.
struct Teller {
    telling: Telling,
    progress: Option<Shown>,
}

impl Teller {
    fn new(telling: Telling) -> Teller {
        Teller {
            telling,
            progress: None,
        }
    }

    fn issue(&self, issue: &Issue) {
        if self.telling.style == Style::Json {
            eprintln!("{}", events::issue(issue));
        } else if self.telling.issues == IssuesShown::All {
            let clear = match self.telling.style {
                Style::Line => "\r\x1b[K",
                _ => "",
            };
            eprintln!("{clear}{}", issue_line(issue));
        }
    }
}

impl Listener for Teller {
    fn hear(&mut self, heard: &Event<'_>) {
        match heard {
            Event::Begun(scan) => {
                if self.telling.style == Style::Json {
                    eprintln!("{}", events::started(scan.root()));
                }
                self.progress = Shown::scan(self.telling.style, scan);
            }
            Event::Issue(issue) => self.issue(issue),
            Event::Ended => self.progress = None,
            Event::Notice(Notice::HandedOver { .. } | Notice::UpToDate { .. })
                if self.telling.is_quiet => {}
            Event::Notice(notice) => say(notice),
            _ => {}
        }
    }
}

/// Prepares for signals: an interrupted scan must still be able to remove its files.
pub(super) fn control() -> Result<Control<'static>, Failure> {
    let cancel = trawl_sys::signal::ignore_file_size_limit()
        .and_then(|()| trawl_sys::signal::watch_interrupts())
        .map_err(|error| Failure::Usage(format!("cannot watch for signals: {error}")))?;
    Ok(Control { cancel, clock: now })
}

/// Scans trees and traces one after the other; daemons scan the trees that they watch.
pub(super) fn scan_all(
    dir: &Path,
    jobs: Vec<Job>,
    options: &ScanOptions,
    telling: Telling,
) -> Result<Exit, Failure> {
    let (jobs, handed_over) = hand_all_over(dir, jobs, options, telling);
    if jobs.is_empty() {
        return Ok(handed_over);
    }
    let index = trawl_writer::create_index(dir, telling.readers)?;
    if index.readers() == Readers::Everyone && !telling.is_quiet {
        warnings(dir).iter().for_each(say);
    }
    let control = control()?;
    let scanner = Scanner::new(&index, options, control)?;
    let mut teller = Teller::new(telling);
    let mut output = Output::stdout();
    let mut exit = handed_over;
    for job in jobs {
        let ended = scanner.run(&job, &mut teller);
        let ended = ended.map_err(Failure::from).and_then(|done| {
            let exit = Exit::from_issues(done.issues.hiding);
            if telling.style == Style::Json {
                eprintln!("{}", events::done(&done));
            }
            if telling.is_json {
                output.put(events::done(&done) + "\n")?;
            } else if !telling.is_quiet {
                output.put(summary::text(&done, dir))?;
            }
            summary::say_issues(&done.issues, telling.issues);
            let retention = (&options.retention, now());
            retain(&index, &done.root, retention, &mut teller)?;
            forget_killed(&index, &done.root)?;
            Ok(exit)
        });
        exit = exit.and(ended.unwrap_or_else(|failure| {
            let advice = advice(&scanner, &job, (&failure, telling.style));
            say(format_args!("{failure}{advice}"));
            scanner.forget_unused(&job);
            failure.exit()
        }));
        if exit == Exit::Interrupted {
            break;
        }
    }
    output.finish()?;
    Ok(exit)
}

/// Says what a failure means for the index, in words that follow the error message.
fn advice(scanner: &Scanner<'_>, job: &Job, (failure, style): (&Failure, Style)) -> String {
    let Ok(root) = job.root() else {
        return String::new();
    };
    let is_interrupt = matches!(failure, Failure::Interrupted);
    if style == Style::Json {
        let name = match is_interrupt {
            true => "interrupted",
            false => "error",
        };
        eprintln!("{}", events::failed(name, &root, &failure.to_string()));
    }
    match (is_interrupt, scanner.current(&root)) {
        (false, _) => String::new(),
        (true, Some(id)) => format!(
            ": {} stays as of snapshot {id}, nothing changed",
            shown(&root)
        ),
        (true, None) => format!(
            ": {} is not indexed, all files of the scan were removed",
            shown(&root)
        ),
    }
}

/// Has daemons scan the trees that they watch. Returns the jobs that remain to be done here, and
/// how the daemons' scans ended.
fn hand_all_over(
    dir: &Path,
    jobs: Vec<Job>,
    options: &ScanOptions,
    telling: Telling,
) -> (Vec<Job>, Exit) {
    let (mut left, mut exit) = (Vec::new(), Exit::Complete);
    let mut teller = Teller::new(telling);
    for job in jobs {
        let done = match hand_over(dir, options, &job, &mut teller) {
            Ok(HandedOver::ToNobody) => {
                left.push(job);
                continue;
            }
            Ok(HandedOver::ToDaemon(done)) => say_refreshed(dir, done),
            Err(error) => Err(error.into()),
        };
        exit = exit.and(done.unwrap_or_else(end));
    }
    (left, exit)
}

/// Refreshes the given paths one after the other.
pub(super) fn refresh(index: Option<PathBuf>, paths: &[OsString]) -> Result<Exit, Failure> {
    let indexes = sources::opened(index)?;
    let mut exit = Exit::Complete;
    for given in paths {
        let done = refresh_in(&indexes, given).map_err(Failure::from);
        let done = done.and_then(|(index, done)| say_refreshed(index.path(), done));
        exit = exit.and(done.unwrap_or_else(end));
    }
    Ok(exit)
}

/// Says how a refresh ended, or scans the source if no daemon watches it.
fn say_refreshed(dir: &Path, done: Refreshed) -> Result<Exit, Failure> {
    match done {
        Refreshed::Fresh => Ok(Exit::Complete),
        Refreshed::Late(_) => {
            say(done);
            Ok(Exit::Issues)
        }
        Refreshed::Refused(_) => {
            say(done);
            Ok(Exit::Fatal)
        }
        Refreshed::Unwatched(job, options) => scan_all(dir, vec![job], &options, Telling::QUIETLY),
    }
}

/// Reports a failure; returns how the process ends after it.
fn end(failure: Failure) -> Exit {
    say(&failure);
    failure.exit()
}
