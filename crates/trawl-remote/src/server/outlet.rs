//! Sends frames to a client from several threads, within the credit of each request.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trawl_call::Cancel;

use super::feed::Feed;
use crate::frames::send;
use crate::transport::Transmit;
use crate::wire::{Code, Message};

/// The sending half of a client's connection.
pub(super) struct Outlet {
    to: Mutex<Box<dyn Transmit>>,
    stall: Duration,
    is_broken: AtomicBool,
    /// The client's feature bits.
    features: AtomicU64,
}

impl Outlet {
    pub(super) fn new(to: Box<dyn Transmit>, stall: Duration) -> Outlet {
        Outlet {
            to: Mutex::new(to),
            stall,
            is_broken: AtomicBool::new(false),
            features: AtomicU64::new(0),
        }
    }

    /// Stores the client's feature bits.
    pub(super) fn set_features(&self, features: u64) {
        self.features.store(features, Ordering::Relaxed);
    }

    /// Returns the client's feature bits.
    pub(super) fn features(&self) -> u64 {
        self.features.load(Ordering::Relaxed)
    }

    /// Returns whether the client has this feature.
    pub(super) fn understands(&self, feature: u64) -> bool {
        self.features() & feature != 0
    }

    /// Sends a frame. After a failure nothing else is sent, so the client never receives the end of
    /// an incomplete answer.
    pub(super) fn say(&self, id: u32, message: &Message) {
        let frame = message.encode(id);
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_broken() && send(&mut **to, &frame, self.stall).is_err() {
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }

    /// Sends an error message.
    pub(super) fn refuse(&self, id: u32, code: Code, text: &str) {
        self.say(id, &refusal(code, 0, text));
    }

    /// Returns whether sending has failed.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    pub(super) fn stall(&self) -> Duration {
        self.stall
    }
}

/// Returns an error message.
pub(super) fn refusal(code: Code, errno: i32, text: &str) -> Message {
    let text = text.to_owned();
    Message::Error { code, errno, text }
}

/// A running request.
pub(super) struct Task {
    pub(super) cancel: Cancel,
    /// Number of bytes that may be sent; the last frame may exceed it.
    credit: Mutex<i64>,
    changed: Condvar,
    /// Further batches, for a request that accepts them.
    feed: Option<Feed>,
}

/// Whether a frame may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    Granted,
    /// The client granted no more credit in time.
    Late,
    Interrupted,
}

impl Task {
    pub(super) fn new(message: &Message) -> Task {
        let credit = match message {
            Message::Search(question) => question.credit,
            Message::List { credit, .. } => *credit,
            _ => u32::MAX,
        };
        Task {
            cancel: Cancel::default(),
            credit: Mutex::new(credit.into()),
            changed: Condvar::new(),
            feed: match message {
                Message::Watch { .. } => Feed::new().ok(),
                _ => None,
            },
        }
    }

    /// Returns the further batches, for a request that accepts them.
    pub(super) fn feed(&self) -> Option<&Feed> {
        self.feed.as_ref()
    }

    pub(super) fn interrupt(&self) {
        self.cancel.cancel();
        drop(self.credit.lock());
        self.changed.notify_all();
        if let Some(feed) = &self.feed {
            feed.wake();
        }
    }

    pub(super) fn allow(&self, bytes: u32) {
        let mut credit = self.credit.lock().unwrap_or_else(PoisonError::into_inner);
        *credit = (*credit).saturating_add(bytes.into());
        self.changed.notify_all();
    }

    /// Waits until a frame may be sent, and takes its size from the credit.
    pub(super) fn leave(&self, bytes: usize, stall: Duration) -> Leave {
        let until = Instant::now() + stall;
        let mut credit = self.credit.lock().unwrap_or_else(PoisonError::into_inner);
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
            let waited = self.changed.wait_timeout(credit, left);
            credit = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
