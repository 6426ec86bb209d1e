//! Connections that do nothing: they are closed, so that they keep nobody else out.
//!
//! A connection is idle while no request is being answered, or while its client does not read an answer
//! that is there. It is not idle while an answer is waited for.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use trawl_model::sync::lock;

use crate::limits::QUIET;

/// Time between two looks at a connection.
const LOOK: Duration = Duration::from_secs(5);

/// What happens on a connection.
#[derive(Clone, Debug)]
pub struct Activity(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Answers that are waited for.
    awaited: usize,
    /// When something happened last.
    last: Instant,
}

impl Default for Activity {
    fn default() -> Activity {
        Activity(Arc::new(Mutex::new(State {
            awaited: 0,
            last: Instant::now(),
        })))
    }
}

impl Activity {
    /// Notes that an answer is waited for, until the value is dropped.
    pub fn wait(&self) -> Awaited {
        lock(&self.0).awaited += 1;
        Awaited(self.clone())
    }

    /// Returns once the connection has been idle for too long.
    pub async fn idle(&self) {
        while !self.is_idle(Instant::now()) {
            tokio::time::sleep(LOOK).await;
        }
    }

    fn is_idle(&self, now: Instant) -> bool {
        let state = lock(&self.0);
        state.awaited == 0 && now.saturating_duration_since(state.last) >= QUIET
    }
}

/// An answer that is waited for.
#[derive(Debug)]
pub struct Awaited(Activity);

impl Drop for Awaited {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        state.awaited -= 1;
        state.last = Instant::now();
    }
}

/// The body of an answer, which notes what happens to it.
pub struct Watched {
    /// The body.
    pub body: Body,
    /// What happens on the connection.
    pub activity: Activity,
    /// Whether its next part is waited for.
    pub awaited: Option<Awaited>,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match (&polled, &self.awaited) {
            (Poll::Pending, None) => self.awaited = Some(self.activity.wait()),
            (Poll::Ready(_), None) => drop(self.activity.wait()),
            (Poll::Ready(_), Some(_)) => self.awaited = None,
            (Poll::Pending, Some(_)) => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_idle_when_nothing_is_waited_for() {
        let activity = Activity::default();
        let later = || Instant::now() + QUIET;
        assert!(!activity.is_idle(Instant::now()) && activity.is_idle(later()));
        let one = activity.wait();
        let two = activity.wait();
        drop(one);
        assert!(!activity.is_idle(later()));
        drop(two);
        assert!(!activity.is_idle(Instant::now()) && activity.is_idle(later()));
    }
}
