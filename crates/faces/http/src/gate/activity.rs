//! Connections that do nothing: they are closed, so that they keep nobody else out.
//!
//! A connection is idle while no request is being answered, or while its client does not read an answer
//! that is there. It is not idle while an answer is waited for.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::{Sleep, sleep};
use trawl_model::sync::lock;

use crate::limits::QUIET;

/// Time between two looks at a connection.
const LOOK: Duration = Duration::from_secs(5);

/// Time after which a client is told that an answer breaks off. Until then, what came before is written:
/// when a body fails, hyper drops what it has not written yet, even the head.
const BREAK_OFF: Duration = Duration::from_millis(100);

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
    body: Body,
    /// What happens on the connection.
    activity: Activity,
    /// Whether its next part is waited for.
    awaited: Option<Awaited>,
    /// Why it breaks off, and the time until the client is told.
    broken: Option<(axum::Error, Pin<Box<Sleep>>)>,
}

impl Watched {
    /// Returns this body of an answer on a connection.
    pub fn new(body: Body, activity: Activity) -> Watched {
        Watched {
            body,
            activity,
            awaited: None,
            broken: None,
        }
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.broken.is_none() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Err(error)) => self.broken = Some((error, Box::pin(sleep(BREAK_OFF)))),
                other => return Poll::Ready(other),
            }
        }
        if let Some((_, wait)) = &mut self.broken {
            ready!(wait.as_mut().poll(cx));
        }
        Poll::Ready(self.broken.take().map(|(error, _)| Err(error)))
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = self.poll_next(cx);
        match (&polled, &self.awaited) {
            (Poll::Pending, None) => self.awaited = Some(self.activity.wait()),
            (Poll::Ready(_), None) => drop(self.activity.wait()),
            (Poll::Ready(_), Some(_)) => self.awaited = None,
            (Poll::Pending, Some(_)) => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.broken.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{Request, Response};
    use hyper::service::service_fn;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use std::convert::Infallible;
    use std::future::poll_fn;

    /// A body that has one part and then fails.
    struct Failing(Option<Bytes>);

    impl http_body::Body for Failing {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
            let part = self.0.take().map(Frame::data);
            Poll::Ready(Some(part.ok_or_else(|| std::io::Error::other("too much"))))
        }
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_sent_until_there() {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let service = service_fn(|_| async {
            let body = Body::new(Failing(Some(Bytes::from_static(b"begun"))));
            Ok::<_, Infallible>(Response::new(Watched::new(body, Activity::default())))
        });
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        tokio::spawn(server.serve_connection(TokioIo::new(ours), service));
        let client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let (mut sender, connection) = client.handshake(TokioIo::new(theirs)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::get("http://localhost/").body(Body::empty());
        let answer = sender.send_request(request.unwrap()).await;
        let mut body = answer.expect("the head is sent").into_body();
        let mut next = async || poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        let part = next().await.unwrap().expect("a part is sent");
        assert_eq!(part.into_data().unwrap(), "begun");
        next().await.unwrap().expect_err("it broke off");
    }

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
