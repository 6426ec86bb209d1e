//! A server that says what changes in the directories that are kept of it.

use std::time::{Duration, Instant};

use super::connection::Connection;
use super::{Remote, STAT_MAX_BYTES};
use crate::error::RemoteError;
use crate::wire::{BadFrame, Message, News, WATCH_MAX, feature};

/// A connection on which a server says what has changed. It ends when this is dropped.
#[derive(Debug)]
pub struct Watch {
    connection: Connection,
    top: Vec<u8>,
    /// Of the request, once there is one.
    id: Option<u32>,
    /// Directories that were asked for and not answered yet.
    waiting: usize,
    silence: Duration,
    heard: Instant,
}

impl Remote {
    /// A server that will say what changes below a directory; `None` if it is none of those that
    /// can. It must say something at least every so often.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn watch(&self, top: &[u8], silence: Duration) -> Result<Option<Watch>, RemoteError> {
        // One of its own: whoever asks on it is not kept waiting by others.
        let mut connection = Connection::open(&self.0.address)?;
        let stat = Message::Stat {
            of_link: false,
            path: top.to_vec(),
        };
        self.ask_on(&mut connection, &stat, STAT_MAX_BYTES)?;
        if !connection.can(feature::WATCH) {
            return Ok(None);
        }
        Ok(Some(Watch {
            connection,
            top: top.to_vec(),
            id: None,
            waiting: 0,
            silence,
            heard: Instant::now(),
        }))
    }
}

impl Watch {
    /// Whether more directories can be asked for.
    pub fn is_ready(&self) -> bool {
        self.waiting == 0
    }

    /// Asks for directories to be watched, those above others first; at most [`WATCH_MAX`], when
    /// [`Watch::is_ready`].
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn add(&mut self, mut dirs: Vec<Vec<u8>>) -> Result<(), RemoteError> {
        dirs.truncate(WATCH_MAX);
        self.waiting = dirs.len();
        let top = self.top.clone();
        let message = Message::Watch { top, dirs };
        match self.id {
            Some(id) => self.connection.say(id, &message)?,
            None => self.id = Some(self.connection.request(&message)?),
        }
        Ok(())
    }

    /// What the server says, if it says anything so soon.
    ///
    /// # Errors
    /// If it does not watch any more, or says nothing for too long: whatever was watched has to be
    /// taken for changed.
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
        let Message::News(news) = message else {
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
