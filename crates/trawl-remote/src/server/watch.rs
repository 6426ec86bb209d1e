//! Tells a client what changes in directories that it caches, until the client interrupts the
//! request.
//!
//! Each round first marks and answers the directories that the client has requested, and then tells
//! all events that the kernel has reported. So the last news about a directory is never older than
//! its mark. Some time passes between rounds, in which repeated events are merged.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trawl_sys::wait::readable;

use super::marks::Marks;
use super::outlet::{Outlet, Task, refusal};
use super::{Serving, feed::Feed};
use crate::exports::Places;
use crate::wire::{Code, Message, News, WATCH_MAX};

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

/// Answers until the request is interrupted, and returns the final message.
pub(super) fn watch(
    serving: &Serving,
    outlet: &Outlet,
    id: u32,
    task: &Task,
    (top, dirs): (&[u8], Vec<Vec<u8>>),
) -> Result<Message, Message> {
    let most = serving.limits.directories;
    if most == 0 {
        let text = "this server does not watch directories";
        return Err(refusal(Code::System, 0, text));
    }
    let busy = || refusal(Code::Busy, 0, "too many clients watch directories");
    let _turn = Turn::take().ok_or_else(busy)?;
    let cannot = |error: trawl_sys::SysError| {
        let text = format!("cannot watch directories: {error}");
        refusal(Code::System, error.errno.0, &text)
    };
    let feed = task.feed().ok_or_else(busy)?;
    let mut marks = Marks::new(&serving.exports, top, most).map_err(cannot)?;
    feed.put(dirs).map_err(|_| busy())?;
    let mut beat = Instant::now();
    loop {
        let mut news = Vec::new();
        if let Some(dirs) = feed.take() {
            if dirs.len() > WATCH_MAX {
                return Err(refusal(Code::Question, 0, "there are too many directories"));
            }
            let mut places = Places::new(&serving.exports);
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
            tell(outlet, id, news);
        }
        wait(feed, task, &marks, BEAT.saturating_sub(beat.elapsed())).map_err(cannot)?;
        if task.cancel.is_cancelled() || outlet.is_broken() {
            return Err(refusal(Code::Interrupted, 0, "it was interrupted"));
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

fn tell(outlet: &Outlet, id: u32, news: Vec<News>) {
    let (mut frame, mut bytes) = (Vec::new(), 0);
    for one in news {
        bytes += one.length();
        frame.push(one);
        if bytes >= FRAME_BYTES {
            outlet.say(id, &Message::News(std::mem::take(&mut frame)));
            bytes = 0;
        }
    }
    outlet.say(id, &Message::News(frame));
}
