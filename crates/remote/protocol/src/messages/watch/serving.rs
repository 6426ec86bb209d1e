//! Tells a client what changes in directories that it caches, until the client interrupts the
//! request.
//!
//! Each round first marks and answers the directories that the client has requested, and then tells
//! all events that the kernel has reported. So the last news about a directory is never older than
//! its mark. Some time passes between rounds, in which repeated events are merged.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trawl_sys::wait::readable;

use super::feed::Feed;
use super::marks::Marks;
use crate::exports::PathTranslator;
use crate::messages::{Code, News, NewsItems, Refusal};
use crate::server::{Job, Task};
use crate::wire::WATCH_MAX;

/// Minimum time between two rounds of news.
const ROUND: Duration = Duration::from_millis(100);
/// Interval after which the client hears that nothing changed, and in which unreported changes are
/// checked for.
const BEAT: Duration = Duration::from_secs(2);
/// Size at which a frame is ended, in bytes.
const FRAME_BYTES: usize = 256 << 10;
/// Maximum number of clients that one process watches for at the same time: each keeps a connection
/// and its thread.
const WATCHES_MAX: usize = 16;

static WATCHES: AtomicUsize = AtomicUsize::new(0);

/// A permit to watch, one of [`WATCHES_MAX`].
struct Turn;

impl Turn {
    fn take() -> Option<Turn> {
        let before = WATCHES.fetch_add(1, Ordering::Relaxed);
        let turn = Turn;
        (before < WATCHES_MAX).then_some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        WATCHES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers until the request is interrupted.
pub(super) fn watch(job: &Job<'_>, top: &[u8], dirs: Vec<Vec<u8>>) -> Result<Infallible, Refusal> {
    let task = job.task;
    let most = job.serving.limits.directories;
    if most == 0 {
        let text = "this server does not watch directories";
        return Err(Refusal::new(Code::System, 0, text));
    }
    let busy = || Refusal::new(Code::Busy, 0, "too many clients watch directories");
    let _turn = Turn::take().ok_or_else(busy)?;
    let cannot = |error: trawl_sys::SysError| {
        let text = format!("cannot watch directories: {error}");
        Refusal::new(Code::System, error.errno.0, &text)
    };
    let feed = task.feed().ok_or_else(busy)?;
    let mut marks = Marks::new(job.exports(), top, most).map_err(cannot)?;
    feed.put(dirs).map_err(|_| busy())?;
    let mut beat = Instant::now();
    loop {
        let mut news = Vec::new();
        if let Some(dirs) = feed.take() {
            if dirs.len() > WATCH_MAX {
                return Err(Refusal::new(
                    Code::Question,
                    0,
                    "there are too many directories",
                ));
            }
            let mut places = PathTranslator::new(job.exports());
            news.extend(dirs.into_iter().map(|dir| marks.add(&mut places, dir)));
            feed.answered();
        }
        news.extend(marks.news());
        let is_time = beat.elapsed() >= BEAT;
        if is_time {
            news.extend(marks.look());
        }
        if is_time || !news.is_empty() {
            beat = Instant::now();
            tell(job, news);
        }
        wait(feed, task, &marks, BEAT.saturating_sub(beat.elapsed())).map_err(cannot)?;
        if job.is_over() {
            return Err(Refusal::new(Code::Interrupted, 0, "it was interrupted"));
        }
    }
}

/// Waits for the next round.
fn wait(
    feed: &Feed,
    task: &Task,
    marks: &Marks<'_>,
    most: Duration,
) -> Result<(), trawl_sys::SysError> {
    // A request is answered at once; events are told after some time.
    let [is_asked] = readable([feed.as_fd()], Some(ROUND.min(most)))?;
    if !is_asked && !task.cancel.is_cancelled() {
        let most = most.saturating_sub(ROUND);
        readable([feed.as_fd(), marks.as_fd()], Some(most))?;
    }
    feed.reset();
    Ok(())
}

fn tell(job: &Job<'_>, news: Vec<News>) {
    let (mut frame, mut bytes) = (Vec::new(), 0);
    for one in news {
        bytes += one.length();
        frame.push(one);
        if bytes >= FRAME_BYTES {
            job.say(&NewsItems(std::mem::take(&mut frame)));
            bytes = 0;
        }
    }
    job.say(&NewsItems(frame));
}
