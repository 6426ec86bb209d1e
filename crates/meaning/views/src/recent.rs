//! Names that were listed or found less than a second ago, for each user and view.
//!
//! A program that lists a directory looks its names up next. Without these, each would be a question
//! of its own. What is not here is asked for: a name is never reported missing on the word of this
//! module, and one is reported for at most [`AGE_MAX`] after a question's answer had it.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trawl_sys::become_user::User;

/// How long a name is known.
pub(crate) const AGE_MAX: Duration = Duration::from_secs(1);
/// Most names that are known of one view and user.
pub(crate) const NAMES_MAX: usize = 1 << 20;
/// Most names of a batch.
const BATCH_MAX: usize = 1 << 14;
/// How long a note is kept about what could not be looked at.
const NOTE_AGE_MAX: Duration = Duration::from_secs(60);
/// How many names in a row are asked for one by one, before all are asked for at once.
const SINGLE_MAX: u32 = 3;
/// How long one of these questions may take.
const SINGLE_TIME_MAX: Duration = Duration::from_millis(50);
/// How long ago questions belong together.
const ROW: Duration = Duration::from_secs(5);

/// A view, by its node's number, and a user.
pub(crate) type Key = (u64, User);

/// Names of one answer, in their order. [`Recents::gather`] makes it.
#[derive(Debug)]
pub(crate) struct Gathered {
    hasher: RandomState,
    batches: Vec<Batch>,
    count: usize,
}

impl Gathered {
    /// Adds a name, and the path of its member.
    pub(crate) fn push(&mut self, name: &[u8], path: &[u8]) {
        if self.count.is_multiple_of(BATCH_MAX) {
            self.batches.push(Batch::default());
        }
        if let Some(batch) = self.batches.last_mut() {
            batch.push(self.hasher.hash_one(name), name, path);
        }
        self.count += 1;
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.count
    }
}

/// Some names of one answer. All their bytes are in one buffer: with an allocation for each name, the
/// memory of the process would depend on the threads that made and dropped them.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    names: Vec<Name>,
}

/// Where a name and the path of its member are in the buffer of a batch: one behind the other.
#[derive(Clone, Copy, Debug)]
struct Name {
    hash: u64,
    start: usize,
    name_len: usize,
    path_len: usize,
}

impl Batch {
    fn push(&mut self, hash: u64, name: &[u8], path: &[u8]) {
        self.names.push(Name {
            hash,
            start: self.bytes.len(),
            name_len: name.len(),
            path_len: path.len(),
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(path);
    }

    /// Returns a name, and the path of its member.
    fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let name = self.names.get(index)?;
        let bytes = self.bytes.get(name.start..)?;
        let both = bytes.get(..name.name_len + name.path_len)?;
        Some(both.split_at(name.name_len))
    }
}

#[derive(Debug, Default)]
struct Recent {
    /// The batches by age, each with the time when its names were known.
    batches: VecDeque<(Instant, Batch)>,
    /// Number of batches before these.
    dropped: usize,
    /// By the hash of a name, the number of its last batch, and its place there. Of two names with the
    /// same hash, the first is not known.
    last: HashMap<u64, (usize, usize)>,
    /// Number of names in all batches.
    count: usize,
    note: Option<(Arc<Vec<u8>>, Instant)>,
    /// Number of names that were found one by one, and when the last was.
    singles: Option<(u32, Instant)>,
    /// Held by the thread that asks for all names.
    asking: Arc<Mutex<()>>,
}

impl Recent {
    fn add(&mut self, now: Instant, batch: Batch) {
        let number = self.dropped + self.batches.len();
        for (index, name) in batch.names.iter().enumerate() {
            self.last.insert(name.hash, (number, index));
        }
        self.count += batch.names.len();
        self.batches.push_back((now, batch));
    }

    /// Returns the path of the member with this name, whose hash is given, and when it was known last.
    fn get(&self, hash: u64, name: &[u8]) -> Option<(&[u8], Instant)> {
        let (number, index) = self.last.get(&hash)?;
        let (at, batch) = self.batches.get(number.checked_sub(self.dropped)?)?;
        let (known, path) = batch.get(*index)?;
        (known == name).then_some((path, *at))
    }

    fn expire(&mut self, now: Instant) {
        let is_old = |time: Instant| now.saturating_duration_since(time) > AGE_MAX;
        while let Some((at, batch)) = self.batches.front() {
            if !is_old(*at) && self.count <= NAMES_MAX {
                break;
            }
            for name in &batch.names {
                let last = self.last.get(&name.hash);
                if last.is_some_and(|(number, _)| *number == self.dropped) {
                    self.last.remove(&name.hash);
                }
            }
            self.count -= batch.names.len();
            self.batches.pop_front();
            self.dropped += 1;
        }
        if self.batches.is_empty() {
            self.last = HashMap::new();
        }
        let is_old = |at: Instant| now.saturating_duration_since(at) > NOTE_AGE_MAX;
        self.note = self.note.take().filter(|(_, at)| !is_old(*at));
        let is_past = |at: Instant| now.saturating_duration_since(at) > ROW;
        self.singles = self.singles.filter(|(_, at)| !is_past(*at));
    }

    fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.note.is_none() && self.singles.is_none()
    }
}

/// All names that are known.
#[derive(Debug, Default)]
pub(crate) struct Recents {
    all: Mutex<HashMap<Key, Recent>>,
    hasher: RandomState,
}

impl Recents {
    fn all(&self) -> MutexGuard<'_, HashMap<Key, Recent>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the names of an answer are gathered in.
    pub(crate) fn gather(&self) -> Gathered {
        Gathered {
            hasher: self.hasher.clone(),
            batches: Vec::new(),
            count: 0,
        }
    }

    fn with<T>(&self, key: &Key, work: impl FnOnce(&mut Recent) -> T) -> T {
        let mut all = self.all();
        match all.get_mut(key) {
            Some(recent) => work(recent),
            None => work(all.entry(key.clone()).or_default()),
        }
    }

    /// Notes that an answer has had these names until now.
    pub(crate) fn add(&self, key: &Key, now: Instant, names: Gathered) {
        self.with(key, |recent| {
            for batch in names.batches {
                recent.add(now, batch);
            }
            recent.expire(now);
        });
    }

    /// Returns the path of the member with this name, if an answer had it just now, and when.
    pub(crate) fn get(&self, key: &Key, now: Instant, name: &[u8]) -> Option<(Vec<u8>, Instant)> {
        let hash = self.hasher.hash_one(name);
        let all = self.all();
        let (path, at) = all.get(key)?.get(hash, name)?;
        (now.saturating_duration_since(at) <= AGE_MAX).then(|| (path.to_vec(), at))
    }

    /// Keeps what the last listing could not look at; `None` if it was complete.
    pub(crate) fn note(&self, key: &Key, now: Instant, text: Option<Arc<Vec<u8>>>) {
        self.with(key, |recent| recent.note = text.map(|text| (text, now)));
    }

    /// Returns what the last listing could not look at.
    pub(crate) fn noted(&self, key: &Key) -> Option<Arc<Vec<u8>>> {
        let all = self.all();
        let (text, _) = all.get(key)?.note.as_ref()?;
        Some(Arc::clone(text))
    }

    /// Notes that a name was found by a question of its own, which took this long. Returns true if all
    /// names should be asked for instead of the next one.
    pub(crate) fn single(&self, key: &Key, now: Instant, took: Duration) -> bool {
        self.with(key, |recent| {
            recent.expire(now);
            let before = recent.singles.map_or(0, |(count, _)| count);
            let count = match took > SINGLE_TIME_MAX {
                true => before + SINGLE_MAX,
                false => before + 1,
            };
            recent.singles = Some((count, now));
            count > SINGLE_MAX
        })
    }

    /// Returns whether all names should be asked for instead of one.
    pub(crate) fn wants_all(&self, key: &Key, now: Instant) -> bool {
        self.with(key, |recent| {
            recent.expire(now);
            recent.singles.is_some_and(|(count, _)| count >= SINGLE_MAX)
        })
    }

    /// Returns the lock of the thread that asks for all names.
    pub(crate) fn asking(&self, key: &Key) -> Arc<Mutex<()>> {
        self.with(key, |recent| Arc::clone(&recent.asking))
    }

    /// Drops what is too old.
    pub(crate) fn sweep(&self, now: Instant) {
        self.all().retain(|_, recent| {
            recent.expire(now);
            !recent.is_empty() || Arc::strong_count(&recent.asking) > 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        let user = User {
            uid: 1,
            gid: 1,
            groups: vec![2],
        };
        (7, user)
    }

    #[test]
    fn names_are_known_for_a_second_and_to_their_user_only() {
        let (recents, start) = (Recents::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        let gathered = |path: &str| {
            let mut names = recents.gather();
            names.push(b"a", path.as_bytes());
            names
        };
        recents.add(&key(), start, gathered("/a"));
        let known = |path: &str, at| Some((path.as_bytes().to_vec(), at));
        assert_eq!(recents.get(&key(), after(1000), b"a"), known("/a", start));
        assert_eq!(recents.get(&key(), after(1001), b"a"), None);
        let mut other = key();
        other.1.groups.clear();
        assert_eq!(recents.get(&other, start, b"a"), None);
        recents.add(&key(), after(900), gathered("/b"));
        recents.sweep(after(1500));
        assert_eq!(
            recents.get(&key(), after(1500), b"a"),
            known("/b", after(900))
        );
        recents.sweep(after(2000));
        assert!(recents.all().is_empty());
    }

    #[test]
    fn names_in_a_row_are_asked_for_together() {
        let (recents, start) = (Recents::default(), Instant::now());
        for _ in 0..SINGLE_MAX {
            assert!(!recents.wants_all(&key(), start));
            recents.single(&key(), start, Duration::ZERO);
        }
        assert!(recents.wants_all(&key(), start));
        assert!(!recents.wants_all(&key(), start + 2 * ROW));
        recents.single(&key(), start + 2 * ROW, Duration::from_secs(1));
        assert!(recents.wants_all(&key(), start + 2 * ROW));
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        let (recents, now) = (Recents::default(), Instant::now());
        let names: Vec<[u8; 4]> = (0..NAMES_MAX as u32 + 10).map(u32::to_le_bytes).collect();
        let mut gathered = recents.gather();
        for name in &names {
            gathered.push(name, b"/");
        }
        assert_eq!(gathered.len(), names.len());
        recents.add(&key(), now, gathered);
        let count = recents.with(&key(), |recent| {
            assert_eq!(recent.last.len(), recent.count);
            recent.count
        });
        assert!((NAMES_MAX - BATCH_MAX..=NAMES_MAX).contains(&count));
        assert_eq!(recents.get(&key(), now, &names[0]), None);
        let last = names.last().unwrap();
        assert_eq!(recents.get(&key(), now, last), Some((b"/".to_vec(), now)));
    }
}
