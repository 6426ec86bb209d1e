//! Requests that the server watch used directories, and handles its news.
//!
//! Nothing is watched while a tree is young, because most commands end before it would pay off.
//! Listings from before their directory was watched keep the short age; such a directory is listed
//! once more.
//!
//! Invariant: the tree applies news before it passes them on, and waits until every reply based on
//! older facts has been sent; so the recipient of the news can still undo the effect of those
//! replies.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use trawl_model::relative_path::{is_within, join};
use trawl_model::sync::wait_for;
use trawl_remote::RemoteError;
use trawl_remote::client::Watch;
use trawl_remote::wire::News;

use super::{Asking, Inner, Tree};

/// Maximum age of a tree before it is watched.
const YOUNG: Duration = Duration::from_secs(5);
/// Interval of checks for further directories to watch.
const LOOK: Duration = Duration::from_millis(100);
/// Minimum silence of the server that counts as failure; a server sends something every 2 s.
const SILENCE: Duration = Duration::from_secs(10);
/// Time to wait after a server's refusal, and maximum time after a lost connection.
const REFUSED: Duration = Duration::from_secs(60);
const GONE: Duration = Duration::from_secs(5);

/// Receives changes.
pub type Hear = dyn Fn(Vec<News>) + Send;

impl Tree {
    /// Asks the server to report changes; `hear` receives them after the tree has applied them. If
    /// the server does not support it, or nothing is to be cached, everything keeps the short age.
    pub fn watch(&self, hear: Box<Hear>) {
        let inner = &self.0;
        let is_kept = !inner.max_age.is_zero() && inner.watched_age > inner.max_age;
        if !is_kept || inner.asking == Asking::Each {
            return;
        }
        let mut state = inner.state();
        state.watched.set_on(true);
        state.running += 1;
        drop(state);
        let ours = Arc::clone(inner);
        let work = move || {
            ours.keep_watching(&*hear);
            let mut state = ours.state();
            state.watched.set_on(false);
            state.running -= 1;
            drop(state);
            ours.changed.notify_all();
        };
        let thread = std::thread::Builder::new().name("watch".into());
        if thread.spawn(work).is_err() {
            let mut state = inner.state();
            state.watched.set_on(false);
            state.running -= 1;
        }
    }
}

impl Inner {
    /// Watches until the tree ends, or the server proves unable to.
    fn keep_watching(&self, hear: &Hear) {
        let mut not_before = Instant::now() + YOUNG.min(self.max_age / 2);
        while self.is_wanted(not_before) {
            let silence = SILENCE.max(self.max_age);
            let watch = self.remote.watch(&self.server_path(b""), silence);
            let ended = match watch {
                Ok(None) => return,
                Ok(Some(watch)) => self.follow(watch, hear),
                Err(error) => Err(error),
            };
            let was_watched = self.state().watched.clear();
            if was_watched {
                self.tell_news(vec![News::Lost(Vec::new())], hear);
            }
            not_before = Instant::now()
                + match ended {
                    Err(RemoteError::Refused { .. }) => REFUSED,
                    _ => GONE.min(self.max_age),
                };
        }
    }

    /// Waits until some directory is to be watched; false when the tree ends.
    fn is_wanted(&self, not_before: Instant) -> bool {
        let mut state = self.state();
        loop {
            let left = not_before.saturating_duration_since(Instant::now());
            if state.has_ended {
                return false;
            }
            if left.is_zero() && state.watched.has_wishes() {
                return true;
            }
            state = wait_for(&self.changed, state, left.max(2 * LOOK));
        }
    }

    fn follow(&self, mut watch: Watch, hear: &Hear) -> Result<(), RemoteError> {
        let begun = Instant::now();
        loop {
            let mut state = self.state();
            // Marks of directories that are no longer used may prevent others.
            let is_stuck = state.watched.is_short() && begun.elapsed() > self.watched_age;
            if state.has_ended || is_stuck {
                return Ok(());
            }
            let wishes = match watch.is_ready() {
                true => state.watched.take_wishes(),
                false => Vec::new(),
            };
            drop(state);
            if !wishes.is_empty() {
                watch.add(wishes)?;
            }
            let news = watch.next(LOOK)?;
            if news.is_empty() {
                continue;
            }
            self.take_news(&news);
            let is_change = |one: &News| matches!(one, News::Changed { .. } | News::Lost(_));
            let news: Vec<News> = news.into_iter().filter(is_change).collect();
            if !news.is_empty() {
                self.tell_news(news, hear);
            }
        }
    }

    fn take_news(&self, news: &[News]) {
        let mut state = self.state();
        let state = &mut *state;
        for one in news {
            state.watched.hear(one, Instant::now());
            match one {
                News::Changed { dir, names } => {
                    for name in names {
                        let path = match &name.name[..] {
                            b"." => dir.clone(),
                            name => join(dir, name),
                        };
                        state.singles.remove(&path);
                        state.targets.remove(&path);
                    }
                }
                News::Lost(path) => {
                    state.store.remove(path);
                    state.singles.remove_below(path);
                    state.targets.remove_below(path);
                    for bulk in &state.bulks {
                        if is_within(&bulk.top, path) {
                            bulk.cancel();
                        }
                    }
                }
                News::Watched(_) | News::Unwatched(_) => {}
            }
        }
    }

    fn tell_news(&self, news: Vec<News>, hear: &Hear) {
        // Acquiring the lock waits until all replies based on older facts have been sent.
        drop(self.telling.write().unwrap_or_else(PoisonError::into_inner));
        hear(news);
    }
}
