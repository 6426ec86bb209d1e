//! Has the server watch what is used of a tree, and hears what it says.
//!
//! Nothing is watched while a tree is young: most commands end before it would pay. What was
//! listed before its directory was watched keeps the short age; it is asked for once more.
//!
//! Invariant: news are taken in before anybody is told of them, and whoever was about to tell what
//! was known before has told it by then: so what they make is in time to be undone.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use trawl_model::relative_path::{is_within, join};
use trawl_remote::RemoteError;
use trawl_remote::client::Watch;
use trawl_remote::wire::News;

use super::{Asking, Inner, Tree};

/// How old a tree is before anything is watched, at most.
const YOUNG: Duration = Duration::from_secs(5);
/// So often it is looked for what else is to be watched.
const LOOK: Duration = Duration::from_millis(100);
/// The server may say nothing for so long at least; it says something every 2 s.
const SILENCE: Duration = Duration::from_secs(10);
/// So long it is waited after a server said no, and after it was gone at most.
const REFUSED: Duration = Duration::from_secs(60);
const GONE: Duration = Duration::from_secs(5);

/// Is told what changed.
pub type Hear = dyn Fn(Vec<News>) + Send;

impl Tree {
    /// Has the server say what changes; what it says is told when the tree knows it. Where it
    /// cannot, or nothing is to be kept, everything keeps the short age.
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
    /// Until the tree ends, or the server cannot do it.
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

    /// Waits until something is to be watched; false at the end.
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
            let waited = self.changed.wait_timeout(state, left.max(2 * LOOK));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn follow(&self, mut watch: Watch, hear: &Hear) -> Result<(), RemoteError> {
        let begun = Instant::now();
        loop {
            let mut state = self.state();
            // Marks of what nobody uses any more may be in the way of others.
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
        // Whoever tells what was known before has told it when this is had.
        drop(self.telling.write().unwrap_or_else(PoisonError::into_inner));
        hear(news);
    }
}
