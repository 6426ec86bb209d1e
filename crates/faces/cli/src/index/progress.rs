//! Progress of a running scan: a line that is rewritten on a terminal, a line every few seconds
//! elsewhere, or JSON events for programs.
//!
//! A separate thread reads the scan's counters, so that the scan never waits for a terminal.
//! Everything goes to standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trawl_indexer::Running;
use trawl_scan::Progress;

use crate::index::events;

pub(crate) use trawl_text::words::{counted, grouped};

/// Value of `--progress`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressWhen {
    /// A line that is rewritten on a terminal, plain lines otherwise
    #[default]
    Auto,
    /// One JSON object per line
    Json,
    /// A line every few seconds
    Plain,
    /// Nothing
    None,
}

/// Format of the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// One line that is rewritten.
    Line,
    /// Separate lines.
    Plain,
    /// JSON lines.
    Json,
    /// No progress.
    Silent,
}

impl ProgressWhen {
    /// Returns the style for the present standard error.
    pub(crate) fn style(self) -> Style {
        match self {
            ProgressWhen::Auto if io::stderr().is_terminal() => Style::Line,
            ProgressWhen::Auto | ProgressWhen::Plain => Style::Plain,
            ProgressWhen::Json => Style::Json,
            ProgressWhen::None => Style::Silent,
        }
    }
}

impl Style {
    const fn interval(self) -> Duration {
        match self {
            Style::Line => Duration::from_millis(100),
            Style::Plain => Duration::from_secs(5),
            Style::Json | Style::Silent => Duration::from_secs(1),
        }
    }
}

/// Progress, shown by a thread until this is dropped.
pub(crate) struct Shown {
    style: Style,
    /// Ends the thread when it is dropped.
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    /// Starts to show the progress of a scan; `None` if nothing is shown.
    pub(crate) fn scan(style: Style, scan: &Arc<Running>) -> Option<Shown> {
        let scan = Arc::clone(scan);
        Shown::begin(style, move |elapsed| render(style, &scan, elapsed))
    }

    /// Starts to show what `render` returns after a time; `None` if nothing is shown.
    pub(crate) fn begin(
        style: Style,
        render: impl Fn(Duration) -> String + Send + 'static,
    ) -> Option<Shown> {
        if style == Style::Silent {
            return None;
        }
        let started = Instant::now();
        let (done, ended) = channel::<()>();
        let show = move || {
            while ended.recv_timeout(style.interval()) == Err(RecvTimeoutError::Timeout) {
                write_error(&render(started.elapsed()));
            }
        };
        // Without the thread, the work is still done, but not shown.
        let thread = std::thread::Builder::new().name("progress".into());
        Some(Shown {
            style,
            done: Some(done),
            thread: thread.spawn(show).ok(),
        })
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if self.style == Style::Line {
            write_error("\r\x1b[K");
        }
    }
}

fn write_error(text: &str) {
    let mut error = io::stderr().lock();
    let _ = error.write_all(text.as_bytes());
    let _ = error.flush();
}

fn render(style: Style, scan: &Running, elapsed: Duration) -> String {
    let (counts, writing) = (scan.progress(), scan.is_writing());
    match style {
        Style::Json => events::progress(scan, elapsed) + "\n",
        Style::Line => format!("\r\x1b[K{}", line(scan.root(), &counts, writing, elapsed)),
        Style::Plain | Style::Silent => {
            format!("trawl: {}\n", line(scan.root(), &counts, writing, elapsed))
        }
    }
}

fn line(root: &[u8], counts: &Progress, writing: bool, elapsed: Duration) -> String {
    let stage = if writing { ", writing" } else { "" };
    format!(
        "{}: {} entries, {}/s, {}, {}{stage}",
        crate::failure::shown(root),
        grouped(counts.entries),
        grouped(rate(counts.entries, elapsed)),
        counted(counts.issues, "issue"),
        clock(elapsed),
    )
}

/// Returns entries per second.
pub(crate) fn rate(entries: u64, elapsed: Duration) -> u64 {
    let millis = millis(elapsed).max(1);
    entries.saturating_mul(1000) / millis
}

/// Returns whole milliseconds.
pub(crate) fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

fn clock(elapsed: Duration) -> String {
    let secs = elapsed.as_secs();
    match secs / 3600 {
        0 => format!("{}:{:02}", secs / 60, secs % 60),
        hours => format!("{hours}:{:02}:{:02}", secs / 60 % 60, secs % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "issue"), "1 issue");
        assert_eq!(counted(1000, "directory"), "1,000 directories");
        assert_eq!(clock(Duration::from_secs(59)), "0:59");
        assert_eq!(clock(Duration::from_secs(3 * 3600 + 62)), "3:01:02");
        assert_eq!(rate(500, Duration::from_millis(250)), 2000);
        assert_eq!(rate(5, Duration::ZERO), 5000);
    }

    #[test]
    fn each_style_is_what_it_says() {
        let scan = Running::new(b"");
        let show = |style| render(style, &scan, Duration::from_secs(61));
        assert_eq!(
            show(Style::Line),
            "\r\x1b[K/: 0 entries, 0/s, 0 issues, 1:01"
        );
        assert_eq!(
            show(Style::Plain),
            "trawl: /: 0 entries, 0/s, 0 issues, 1:01\n"
        );
        let line = line(b"", &Progress::default(), true, Duration::from_secs(61));
        assert_eq!(line, "/: 0 entries, 0/s, 0 issues, 1:01, writing");
        let value: serde_json::Value = serde_json::from_str(&show(Style::Json)).unwrap();
        assert_eq!(value["event"], "progress");
        assert_eq!(value["root"], "/");
        assert_eq!(value["elapsed_ms"], 61_000);
    }

    #[test]
    fn showing_ends_with_the_work() {
        let scan = Arc::new(Running::new(b"/x"));
        assert!(Shown::scan(Style::Silent, &scan).is_none());
        drop(Shown::scan(Style::Json, &scan));
        assert_eq!(Arc::strong_count(&scan), 1);
    }
}
