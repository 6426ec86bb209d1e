//! Stores tables that were made for one program and serve others.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::source::Demand;
use trawl_model::sync::lock;

/// Maximum number of tables, and of their bytes.
const TABLES_MAX: usize = 256;
const BYTES_MAX: u64 = 512 << 20;

/// A table in sealed memory.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// The memory's descriptor.
    pub(crate) memory: OwnedFd,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// The page's generation when it was begun.
    pub(crate) generation: u64,
    /// When it was begun, by the monotonic clock, in nanoseconds.
    pub(crate) begun_ns: i64,
    /// The first directory that did not fit.
    pub(crate) left_off: Option<Vec<u8>>,
}

/// Maximum time that a client waits for a table that is being made.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum State {
    /// A thread is making it.
    Coming,
    There(Arc<Sealed>),
}

type Tables = HashMap<Demand, State>;

/// Tables by demand.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    tables: Mutex<Tables>,
    came: Condvar,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Tables> {
        lock(&self.tables)
    }

    /// Returns the table for this demand, if it has this generation and was not begun before
    /// `since_ns`; waits for one that is being made.
    pub(crate) fn get(
        &self,
        demand: &Demand,
        generation: u64,
        since_ns: i64,
    ) -> Option<Arc<Sealed>> {
        let is_coming = |tables: &mut Tables| matches!(tables.get(demand), Some(State::Coming));
        let waited = self
            .came
            .wait_timeout_while(self.lock(), PATIENCE, is_coming);
        let (tables, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(State::There(table)) = tables.get(demand) else {
            return None;
        };
        let is_good = table.generation == generation && table.begun_ns >= since_ns;
        is_good.then(|| Arc::clone(table))
    }

    /// Announces that a table is going to be made; returns false if it exists or is being made.
    pub(crate) fn promise(&self, demand: &Demand) -> bool {
        let mut tables = self.lock();
        let is_new = !tables.contains_key(demand);
        if is_new {
            tables.insert(demand.clone(), State::Coming);
        }
        is_new
    }

    /// Withdraws an announcement.
    pub(crate) fn give_up(&self, demand: &Demand) {
        let mut tables = self.lock();
        if matches!(tables.get(demand), Some(State::Coming)) {
            tables.remove(demand);
        }
        self.came.notify_all();
    }

    /// Stores a table; removes those begun before `since_ns`.
    pub(crate) fn put(&self, demand: Demand, table: Arc<Sealed>, since_ns: i64) {
        let mut tables = self.lock();
        let generation = table.generation;
        tables.retain(|_, old| match old {
            State::Coming => true,
            State::There(old) => old.generation == generation && old.begun_ns >= since_ns,
        });
        let of = |state: &State| match state {
            State::Coming => 0,
            State::There(old) => old.bytes,
        };
        let bytes: u64 = tables.values().map(of).sum();
        if tables.len() >= TABLES_MAX || bytes + table.bytes > BYTES_MAX {
            tables.retain(|_, old| matches!(old, State::Coming));
        }
        tables.insert(demand, State::There(table));
        self.came.notify_all();
    }
}
