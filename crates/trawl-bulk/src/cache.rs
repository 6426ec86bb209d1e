//! Tables that were made for one program and serve another.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::source::Demand;

/// No more tables are kept than that, and not more bytes of them.
const TABLES_MAX: usize = 256;
const BYTES_MAX: u64 = 512 << 20;

/// A table in sealed memory.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// The memory.
    pub(crate) memory: OwnedFd,
    /// How long it is.
    pub(crate) bytes: u64,
    /// The page's generation when it was begun.
    pub(crate) generation: u64,
    /// When it was begun, by the monotonic clock.
    pub(crate) begun_ns: i64,
    /// The first directory that did not fit.
    pub(crate) left_off: Option<Vec<u8>>,
}

/// Who waits for a table that is being made waits no longer than this.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
enum State {
    /// Somebody makes it.
    Coming,
    There(Arc<Sealed>),
}

type Tables = HashMap<Demand, State>;

/// Tables by what was asked.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    tables: Mutex<Tables>,
    came: Condvar,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table that answers this, if it is of this generation and no older than that; one that is
    /// being made is waited for.
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

    /// Says that a table is going to be made; false if it is there or somebody makes it.
    pub(crate) fn promise(&self, demand: &Demand) -> bool {
        let mut tables = self.lock();
        let is_new = !tables.contains_key(demand);
        if is_new {
            tables.insert(demand.clone(), State::Coming);
        }
        is_new
    }

    /// Takes a promise back.
    pub(crate) fn give_up(&self, demand: &Demand) {
        let mut tables = self.lock();
        if matches!(tables.get(demand), Some(State::Coming)) {
            tables.remove(demand);
        }
        self.came.notify_all();
    }

    /// Keeps a table; what is older than `since_ns` goes.
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
