//! Tells a client what changes in directories that it keeps, until it wants that no more.
//!
//! A round is: what the client asks to be watched is marked and answered, then all that the kernel
//! has said is told. So what a client is told last of a directory is never older than its mark.
//! Between rounds some time passes, in which what happens again and again becomes one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trawl_sys::wait::readable;

use super::marks::Marks;
use super::outlet::{Outlet, Task, refusal};
use super::{Serving, feed::Feed};
use crate::exports::Places;
use crate::wire::{Code, Message, News, WATCH_MAX};

/// So often at most something is told.
const ROUND: Duration = Duration::from_millis(100);
/// So often the client hears that everything is as it was, and it is looked for what no event tells.
const BEAT: Duration = Duration::from_secs(2);
/// A frame is ended when it has so many bytes.
const FRAME_BYTES: usize = 256 << 10;
/// Clients of one process that are told at the same time: each takes a connection for good.
const WATCHES_MAX: usize = 16;

static WATCHES: AtomicUsize = AtomicUsize::new(0);

/// One of [`WATCHES_MAX`].
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

/// Answers until it is interrupted: what is to be said last.
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
    let busy = || refusal(Code::Busy, 0, "too many clients are told what changes");
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
    // What is asked is answered at once, what happens is told when some time is over.
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
