//! Bodies of requests that are answered before they are read. Some clients of HTTP/2, curl among them,
//! take a stream that ends before they have sent everything for a failure, and drop the answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::timeout;

use crate::limits::{BODY, BODY_BYTES};
use trawl_model::sync::lock;

/// The body of a request, which somebody else may read.
#[derive(Debug)]
pub struct Unread(Arc<Mutex<Body>>);

/// Keeps the body of a request, which can still be read from the request.
pub fn keep(request: &mut Request) -> Unread {
    let body = std::mem::take(request.body_mut());
    let kept = Arc::new(Mutex::new(body));
    *request.body_mut() = Body::new(Shared(Arc::clone(&kept)));
    Unread(kept)
}

/// Reads what nobody has read, up to the limits of a body, and drops it.
pub async fn discard(Unread(body): Unread) {
    let mut rest = Shared(body);
    let read = async {
        let mut left = BODY_BYTES;
        while !rest.is_end_stream() {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut rest).poll_frame(cx)).await;
            let Some(Ok(frame)) = frame else { return };
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(less) = left.checked_sub(length) else {
                return;
            };
            left = less;
        }
    };
    // A client that sends nothing more is told the answer all the same.
    let _ = timeout(BODY, read).await;
}

struct Shared(Arc<Mutex<Body>>);

impl http_body::Body for Shared {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *lock(&self.0)).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).size_hint()
    }
}
