//! Receives news about the directories that a client caches.

use std::time::{Duration, Instant};

use super::WatchRequest;
use crate::client::{Connection, Remote};
use crate::error::RemoteError;
use crate::messages::stat::STAT_MAX_BYTES;
use crate::messages::{Kind, Message, News, NewsItems, StatRequest};
use crate::wire::{BadFrame, WATCH_MAX};

/// A connection on which a server sends news. Dropping it ends the watch.
#[derive(Debug)]
pub struct Watch {
    connection: Connection,
    top: Vec<u8>,
    /// Number of the request, once it was sent.
    id: Option<u32>,
    /// Number of directories that were requested and not yet answered.
    waiting: usize,
    silence: Duration,
    heard: Instant,
}

impl Watch {
    /// Opens a connection for news; `None` if the server does not support it.
    pub(super) fn open(
        remote: &Remote,
        top: Vec<u8>,
        silence: Duration,
    ) -> Result<Option<Watch>, RemoteError> {
        // A separate connection, so that other requests do not delay it.
        let mut connection = Connection::open(&remote.0.address, remote.0.patience.silence)?;
        let stat = StatRequest {
            of_link: false,
            path: top.clone(),
        };
        remote.ask_on(&mut connection, &stat, STAT_MAX_BYTES)?;
        if !connection.can(WatchRequest::FEATURE) {
            return Ok(None);
        }
        Ok(Some(Watch {
            connection,
            top,
            id: None,
            waiting: 0,
            silence,
            heard: Instant::now(),
        }))
    }

    /// Returns whether more directories can be requested.
    pub fn is_ready(&self) -> bool {
        self.waiting == 0
    }

    /// Requests that directories be watched, parents before their subdirectories; at most
    /// [`WATCH_MAX`], and only when [`Watch::is_ready`].
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub fn add(&mut self, mut dirs: Vec<Vec<u8>>) -> Result<(), RemoteError> {
        dirs.truncate(WATCH_MAX);
        self.waiting = dirs.len();
        let top = self.top.clone();
        let message = WatchRequest { top, dirs };
        match self.id {
            Some(id) => self.connection.say(id, &message)?,
            None => self.id = Some(self.connection.request(&message)?),
        }
        Ok(())
    }

    /// Returns the server's news, if any arrive within `wait`.
    ///
    /// # Errors
    /// Fails if the server no longer watches, or sends nothing for too long. All watched
    /// directories must then be treated as changed.
    pub fn next(&mut self, wait: Duration) -> Result<Vec<News>, RemoteError> {
        let Some(id) = self.id else {
            std::thread::sleep(wait);
            return Ok(Vec::new());
        };
        let Some(message) = self.connection.poll(id, wait)? else {
            return match self.heard.elapsed() < self.silence {
                true => Ok(Vec::new()),
                false => Err(self.connection.silent(self.silence)),
            };
        };
        self.heard = Instant::now();
        let Message::News(NewsItems(news)) = message else {
            return Err(self.connection.nonsense(BadFrame::Unexpected("answer")));
        };
        for one in &news {
            if let News::Watched(_) | News::Unwatched(_) = one {
                let left = self.waiting.checked_sub(1);
                let bad = || self.connection.nonsense(BadFrame::Field("news"));
                self.waiting = left.ok_or_else(bad)?;
            }
        }
        Ok(news)
    }
}
