//! Reads the names in directories from an index after a barrier.

use std::collections::HashSet;
use std::ffi::CString;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;

use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::Row;
use trawl_model::sync::lock;
use trawl_model::{FileType, path};
use trawl_open::place::asker;
use trawl_query::{DecodedListings, Index, Listings, Located, Start};
use trawl_table_service::{Name, Sign, Stat, Time, WantedDirectory};

use crate::asking::stored;

/// Columns read of each row besides its name.
const COLUMNS: [Column; 6] = [
    Column::Ino,
    Column::Dev,
    Column::Mode,
    Column::Ctime,
    Column::CtimeNs,
    Column::Attributes,
];
/// `STATX_ATTR_MOUNT_ROOT`
const MOUNT_ROOT: u64 = 0x2000;

/// An index as of some moment.
pub(crate) struct Reading {
    /// Every change before this time, by the monotonic clock, is in it.
    pub(crate) begun_ns: i64,
    /// The generation of the run's page at that time.
    pub(crate) generation: u64,
    /// The directory that it was opened for, in the index's form.
    pub(crate) top: Vec<u8>,
    start: Start,
    /// The index's own directory, whose changes no daemon watches.
    place: Option<Vec<u8>>,
    /// Directories with entries that could not be read.
    unread: HashSet<Vec<u8>>,
    /// Hashes of directories whose names were given out: their names must come in the same order
    /// again.
    told: Mutex<HashSet<u64>>,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}

impl Reading {
    /// Opens the index for the directory `top` and everything below. Returns `None` if the index
    /// cannot tell what a walk would find there, or if its source is not fresh.
    pub(crate) fn open(
        index: &Path,
        top: &[u8],
        is_fresh: impl Fn(&[u8]) -> bool,
    ) -> Option<Reading> {
        let opened = Index::open(index, asker().ok()?).ok()?;
        let Located::Found(start) = opened.locate(top).ok()? else {
            return None;
        };
        let start = start.for_many();
        let is_whole = trawl_call::index::why_other(&start.view).is_none();
        if !start.is_dir || !is_whole || !is_fresh(start.view.root()) {
            return None;
        }
        let mut unread = HashSet::new();
        for issue in start.recorded_issues(None).ok()? {
            if issue.op.hides_entries() {
                unread.extend(path::split(&issue.path).map(|(above, _)| above.to_vec()));
                unread.insert(issue.path);
            }
        }
        let place = std::fs::canonicalize(index).ok();
        Some(Reading {
            begun_ns: 0,
            generation: 0,
            top: top.to_vec(),
            start,
            place: place.map(|place| place.as_os_str().as_bytes().to_vec()),
            unread,
            told: Mutex::default(),
        })
    }

    /// Returns the names in a directory, if they are known and at most `names_max`.
    pub(crate) fn names(
        &self,
        wanted: &WantedDirectory<'_>,
        decoded: &mut Option<DecodedListings>,
        names_max: u64,
    ) -> Option<Vec<Name>> {
        let dir = stored(wanted.path);
        let is_own = |place: &Vec<u8>| path::is_within(dir, place);
        if self.place.as_ref().is_some_and(is_own) || self.unread.contains(dir) {
            return None;
        }
        let hash = hash(dir);
        if wanted.is_on_the_way && !self.told().contains(&hash) {
            return None;
        }
        let columns = ColumnSet::of(&COLUMNS);
        let view = &self.start.view;
        let mut listings = Listings::going_on(view, columns, decoded.take().unwrap_or_default());
        let names = self.listing(dir, wanted, &mut listings, names_max);
        *decoded = Some(listings.into_decoded());
        if names.is_some() {
            self.told().insert(hash);
        }
        names
    }

    fn told(&self) -> std::sync::MutexGuard<'_, HashSet<u64>> {
        lock(&self.told)
    }

    fn listing(
        &self,
        dir: &[u8],
        wanted: &WantedDirectory<'_>,
        listings: &mut Listings<'_>,
        names_max: u64,
    ) -> Option<Vec<Name>> {
        let sign = match wanted.sign {
            Some(sign) => sign,
            None => self.sign(dir, listings)?,
        };
        if sign != Sign::of(wanted.stat) {
            return None;
        }
        let place = listings.find(dir).ok()?;
        // Without an outline nothing is known, or this user may not list it.
        let outline = listings.outline(&place)?;
        let is_it = is_of(wanted.stat, outline.dev.as_u64(), outline.ino);
        if !is_it || outline.rows > names_max {
            return None;
        }
        let mut names = Vec::new();
        let mut is_plain = true;
        let visit = |row: &Row<'_>| match name(row, wanted.stat.dev) {
            Some(name) => names.push(name),
            None => is_plain = false,
        };
        listings.rows(dir, &place, visit).ok()?;
        // Several segments may have parts of it.
        if !names.is_sorted_by(|one, two| one.name < two.name) {
            names.sort_by(|one, two| one.name.cmp(&two.name));
        }
        let is_each_once = names.windows(2).all(|two| two[0].name != two[1].name);
        (is_plain && is_each_once && names.len() as u64 == outline.rows).then_some(names)
    }

    /// Returns the state of a directory when it was indexed, from its own row.
    fn sign(&self, dir: &[u8], listings: &mut Listings<'_>) -> Option<Sign> {
        if dir == self.start.path {
            return Some(sign(&self.start.own_row()));
        }
        let (above, name) = path::split(dir)?;
        listings.entry(above, name, sign).ok()?
    }
}

fn is_of(stat: &Stat, dev: u64, ino: u64) -> bool {
    (stat.dev, stat.ino) == (dev, ino)
}

fn sign(row: &Row<'_>) -> Sign {
    Sign {
        dev: row.dev().as_u64(),
        ino: row.ino(),
        ctime: Time {
            secs: row.ctime().secs,
            nanos: row.ctime().nanos,
        },
    }
}

/// Returns a name in a directory on this device; `None` where something is mounted, whose inode
/// number is not that of the name.
fn name(row: &Row<'_>, dev: u64) -> Option<Name> {
    let is_mounted = row.dev().as_u64() != dev || row.attributes() & MOUNT_ROOT != 0;
    let name = CString::new(row.name()).ok().filter(|_| !is_mounted)?;
    let is_directory = row.file_type() == FileType::Directory;
    Some(Name {
        name,
        ino: row.ino(),
        kind: (row.mode() >> 12) as u8,
        sign: is_directory.then(|| sign(row)),
    })
}

fn hash(dir: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    dir.hash(&mut hasher);
    hasher.finish()
}
