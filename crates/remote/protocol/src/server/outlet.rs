//! Sends frames to a client from several threads, within the credit of each request.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use trawl_call::Cancel;
use trawl_model::sync::{lock, wait_for};

use crate::frames::send;
use crate::messages::watch::feed::Feed;
use crate::messages::{Body, Code, Refusal, Serve, encode};
use crate::transport::Transmit;

/// The sending half of a client's connection.
pub(crate) struct Outlet {
    to: Mutex<Box<dyn Transmit>>,
    stall: Duration,
    is_broken: AtomicBool,
    /// The client's feature bits.
    features: AtomicU64,
}

impl Outlet {
    pub(crate) fn new(to: Box<dyn Transmit>, stall: Duration) -> Outlet {
        Outlet {
            to: Mutex::new(to),
            stall,
            is_broken: AtomicBool::new(false),
            features: AtomicU64::new(0),
        }
    }

    /// Stores the client's feature bits.
    pub(crate) fn set_features(&self, features: u64) {
        self.features.store(features, Ordering::Relaxed);
    }

    /// Returns the client's feature bits.
    pub(crate) fn features(&self) -> u64 {
        self.features.load(Ordering::Relaxed)
    }

    /// Returns whether the client has this feature.
    pub(crate) fn understands(&self, feature: u64) -> bool {
        self.features() & feature != 0
    }

    /// Sends a frame. After a failure nothing else is sent, so the client never receives the end of
    /// an incomplete answer.
    pub(crate) fn say<M: Body>(&self, id: u32, message: &M) {
        let frame = encode(message, id);
        let mut to = lock(&self.to);
        if !self.is_broken() && send(&mut **to, &frame, self.stall).is_err() {
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }

    /// Sends an error message.
    pub(crate) fn refuse(&self, id: u32, code: Code, text: &str) {
        self.say(id, &Refusal::new(code, 0, text));
    }

    /// Returns whether sending has failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    pub(crate) fn stall(&self) -> Duration {
        self.stall
    }
}

/// A running request.
pub(crate) struct Task {
    pub(crate) cancel: Cancel,
    /// Number of bytes that may be sent; the last frame may exceed it.
    credit: Mutex<i64>,
    changed: Condvar,
    /// Further batches, for a request that accepts them.
    feed: Option<Feed>,
}

/// Whether a frame may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    Granted,
    /// The client granted no more credit in time.
    Late,
    Interrupted,
}

impl Task {
    pub(crate) fn new(request: &dyn Serve) -> Task {
        Task {
            cancel: Cancel::default(),
            credit: Mutex::new(request.credit().into()),
            changed: Condvar::new(),
            feed: request.feed(),
        }
    }

    /// Returns the further batches, for a request that accepts them.
    pub(crate) fn feed(&self) -> Option<&Feed> {
        self.feed.as_ref()
    }

    pub(crate) fn interrupt(&self) {
        self.cancel.cancel();
        drop(self.credit.lock());
        self.changed.notify_all();
        if let Some(feed) = &self.feed {
            feed.wake();
        }
    }

    pub(crate) fn allow(&self, bytes: u32) {
        let mut credit = lock(&self.credit);
        *credit = (*credit).saturating_add(bytes.into());
        self.changed.notify_all();
    }

    /// Waits until a frame may be sent, and takes its size from the credit.
    pub(crate) fn leave(&self, bytes: usize, stall: Duration) -> Leave {
        let until = Instant::now() + stall;
        let mut credit = lock(&self.credit);
        loop {
            if self.cancel.is_cancelled() {
                return Leave::Interrupted;
            }
            if *credit > 0 {
                *credit -= i64::try_from(bytes).unwrap_or(i64::MAX);
                return Leave::Granted;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Leave::Late;
            }
            credit = wait_for(&self.changed, credit, left);
        }
    }
}
