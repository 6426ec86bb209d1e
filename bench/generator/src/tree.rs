//! Generates the tree: directories in depth-first order, names within each sorted, each with its
//! entries.
//!
//! Memory is bounded by the depth and by the widest directory, so the number of entries is
//! unlimited; it is met exactly.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, Write};

use crate::line::{Attributes, Lines};
use crate::pattern::{Pattern, Series, Vocabulary};
use crate::people::{Owner, User};
use crate::plan::{self, Child};
use crate::random::Random;
use crate::themes::{ThemeId, Themes};
use crate::words::ODD;

/// The end of the recorded time, seconds since 1970.
pub(crate) const NOW: i64 = 1_760_000_000;
pub(crate) const DAY: f64 = 86_400.0;
/// A table of names is freed if it grew beyond this capacity.
const NAMES_KEPT: usize = 4096;

/// Hashes of names.
type Names = HashSet<u64, BuildHasherDefault<AsItIs>>;

/// A hasher for values that are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The inputs shared by the whole tree.
pub(crate) struct World {
    pub(crate) themes: Themes,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) users: Vec<User>,
    /// Users by group.
    pub(crate) members: BTreeMap<u32, Vec<u32>>,
}

/// Properties that a directory inherits from its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Above {
    pub(crate) ino: u64,
    pub(crate) depth: u32,
    /// Start of activity there.
    pub(crate) since: i64,
}

/// A directory to make.
pub(crate) struct Wanted<'n> {
    pub(crate) name: &'n [u8],
    pub(crate) theme: ThemeId,
    pub(crate) owner: Owner,
    /// Number of entries, including itself.
    pub(crate) rows: u64,
}

/// Generates and writes trees.
pub(crate) struct Grower<'w, W: Write> {
    world: &'w World,
    lines: Lines<W>,
    pub(crate) random: Random,
    path: Vec<u8>,
    names: Names,
    name: Vec<u8>,
    next_ino: u64,
    /// Files with names still to come, each with the number of these.
    linked: Vec<(Attributes, u64)>,
}

/// The directory whose files are being written.
struct Here {
    owner: Owner,
    ino: u64,
    since: i64,
    /// Duration of activity here, in seconds.
    span: f64,
    first_ino: u64,
    files: u64,
}

impl<'w, W: Write> Grower<'w, W> {
    pub(crate) fn new(world: &'w World, out: W, random: Random) -> Self {
        Grower {
            world,
            lines: Lines::new(out),
            random,
            path: Vec::new(),
            names: Names::default(),
            name: Vec::new(),
            next_ino: 2,
            linked: Vec::new(),
        }
    }

    /// Writes the buffered lines; returns the number of entries.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.lines.flush()?;
        Ok(self.lines.count())
    }

    /// Writes a directory whose content the caller adds, and enters it.
    pub(crate) fn enter(
        &mut self,
        name: &[u8],
        owner: Owner,
        above: Above,
        dirs: u64,
    ) -> io::Result<Above> {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        let ino = self.next_ino;
        self.next_ino += 1;
        let since = (above.since + self.random.exponential(200.0 * DAY) as i64).min(NOW);
        self.own_line(ino, owner, above.ino, since, dirs, dirs)?;
        Ok(Above {
            ino,
            depth: above.depth + 1,
            since,
        })
    }

    /// Leaves the directory that [`Grower::enter`] entered.
    pub(crate) fn leave(&mut self, name: &[u8]) {
        self.path.truncate(self.path.len() - name.len());
        if self.path.last() == Some(&b'/') {
            self.path.pop();
        }
    }

    /// Writes a directory and everything below it.
    pub(crate) fn grow(&mut self, wanted: &Wanted<'_>, above: Above) -> io::Result<()> {
        let world = self.world;
        let theme = world.themes.get(wanted.theme);
        let inside = wanted.rows - 1;
        let mut files = plan::files(theme, &mut self.random).min(inside);
        let (children, left) = plan::children(
            &world.themes,
            wanted.theme,
            inside - files,
            above.depth,
            &mut self.random,
        );
        files += left;
        self.clear_names();
        let series = world.vocabulary.series(&mut self.random);
        let children = self.name_children(children, series, wanted.owner, above.depth);
        let here = self.enter_grown(wanted, above, files, children.len() as u64)?;
        self.files(wanted, here, files, series)?;
        for child in &children {
            self.grow(&child.as_wanted(), here)?;
        }
        self.leave(wanted.name);
        Ok(())
    }

    fn enter_grown(
        &mut self,
        wanted: &Wanted<'_>,
        above: Above,
        files: u64,
        dirs: u64,
    ) -> io::Result<Above> {
        self.path.push(b'/');
        self.path.extend_from_slice(wanted.name);
        let ino = self.next_ino;
        self.next_ino += 1 + self.random.below(3);
        let since = (above.since + self.random.exponential(40.0 * DAY) as i64).min(NOW);
        self.own_line(ino, wanted.owner, above.ino, since, dirs, files + dirs)?;
        Ok(Above {
            ino,
            depth: above.depth + 1,
            since,
        })
    }

    fn own_line(
        &mut self,
        ino: u64,
        owner: Owner,
        parent_ino: u64,
        since: i64,
        dirs: u64,
        entries: u64,
    ) -> io::Result<()> {
        let changed = (since + self.random.exponential(30.0 * DAY) as i64).min(NOW);
        let size_bytes = (entries * 40).next_multiple_of(4096).max(4096);
        let is = Attributes {
            kind: b'd',
            mode: 0o040_000 | owner.dir_mode,
            nlink: 2 + dirs,
            uid: owner.uid,
            gid: owner.gid,
            ino,
            parent_ino,
            size_bytes,
            blocks: size_bytes / 512,
            atime: self.later(changed, 60.0),
            mtime: changed,
            ctime: changed,
            btime: since,
        };
        self.lines.put(&self.path, &is, b"")
    }

    fn clear_names(&mut self) {
        if self.names.capacity() > NAMES_KEPT {
            self.names = Names::default();
        } else {
            self.names.clear();
        }
    }

    /// Puts a name that is new in this directory into `self.name`.
    fn new_name(&mut self, patterns: &[&Pattern], series: &mut Series) -> usize {
        let mut at = 0;
        for _ in 0..4 {
            at = self.random.below(patterns.len() as u64) as usize;
            self.name.clear();
            let (random, name) = (&mut self.random, &mut self.name);
            self.world
                .vocabulary
                .fill(patterns[at], series, random, name);
            if self.names.insert(hash(&self.name)) {
                return at;
            }
        }
        let end = self.name.iter().skip(1).position(|byte| *byte == b'.');
        let end = end.map_or(self.name.len(), |end| end + 1);
        let rest = self.name.split_off(end);
        loop {
            self.name.truncate(end);
            let number = format!("_{}", self.names.len() as u64 + self.random.below(100));
            self.name.extend_from_slice(number.as_bytes());
            self.name.extend_from_slice(&rest);
            if self.names.insert(hash(&self.name)) {
                return at;
            }
        }
    }

    /// Gives sub-directories names and owners, and sorts them by name.
    fn name_children(
        &mut self,
        children: Vec<Child<'_>>,
        mut series: Series,
        owner: Owner,
        depth: u32,
    ) -> Vec<Named> {
        let mut named: Vec<Named> = Vec::with_capacity(children.len());
        for child in children {
            self.new_name(&[child.pattern], &mut series);
            named.push(Named {
                name: self.name.clone(),
                theme: child.theme,
                rows: child.rows,
                owner: self.heir(owner, depth),
            });
        }
        named.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        named
    }

    /// Returns the owner of a sub-directory: mostly the same owner with the same permissions.
    fn heir(&mut self, mut owner: Owner, depth: u32) -> Owner {
        // A directory with the set-group-id bit belongs to a group whose members each own a part.
        let part = if depth < 3 { 300 } else { 5 };
        if owner.dir_mode & 0o2000 != 0
            && self.random.per_mille(part)
            && let Some(members) = self.world.members.get(&owner.gid)
        {
            owner.uid = *self.random.pick(members);
        }
        match self.random.below(1000) {
            0..15 => owner.dir_mode = 0o700,
            15..25 => owner.dir_mode = 0o750,
            25..28 => owner.dir_mode = 0o711,
            28..31 => owner.dir_mode = 0o777 | 0o1000,
            _ => {}
        }
        owner
    }

    fn files(
        &mut self,
        wanted: &Wanted<'_>,
        above: Above,
        files: u64,
        mut series: Series,
    ) -> io::Result<()> {
        let theme = self.world.themes.get(wanted.theme);
        let all = theme.names.all();
        let some: Vec<&Pattern> = (0..theme.mix)
            .map(|_| &all[theme.names.draw(&mut self.random)])
            .collect();
        let here = Here {
            owner: wanted.owner,
            ino: above.ino,
            since: above.since,
            span: self.random.log_normal(15.0 * DAY, 1.6),
            first_ino: self.next_ino,
            files,
        };
        self.next_ino += files + self.random.below(4);
        for number in 0..files {
            if some.is_empty() {
                let one = [&all[theme.names.draw(&mut self.random)]];
                self.file(&here, &one, &mut series, number)?;
            } else {
                self.file(&here, &some, &mut series, number)?;
            }
        }
        Ok(())
    }

    /// Writes an entry that is not a directory.
    fn file(
        &mut self,
        here: &Here,
        patterns: &[&Pattern],
        series: &mut Series,
        number: u64,
    ) -> io::Result<()> {
        let at = self.new_name(patterns, series);
        if self.random.once_in(40_000) {
            let odd = *self.random.pick(ODD);
            if self.names.insert(hash(odd)) {
                self.name.clear();
                self.name.extend_from_slice(odd);
            }
        }
        let length = self.path.len();
        self.path.push(b'/');
        self.path.extend_from_slice(&self.name);
        let mut is = self.attributes(here, patterns[at], number);
        let mut target = Vec::new();
        match self.random.below(60_000) {
            0 => become_special(&mut is, b'p', 0o010_000),
            1 => become_special(&mut is, b's', 0o140_000),
            2..700 => target = self.become_link(&mut is),
            700..900 => self.share(&mut is),
            900..1300 => self.join_links(&mut is, here),
            _ => {}
        }
        self.lines.put(&self.path, &is, &target)?;
        self.path.truncate(length);
        Ok(())
    }

    fn attributes(&mut self, here: &Here, pattern: &Pattern, number: u64) -> Attributes {
        // Made one after the other, but not in the order of their names.
        let place = match here.files % 7919 {
            0 => number,
            _ => (number * 7919 + 13) % here.files,
        };
        let size_bytes = pattern.content.size_bytes(&mut self.random);
        let mut blocks = size_bytes.div_ceil(4096) * 8;
        if size_bytes > 1 << 24 && self.random.per_mille(20) {
            blocks /= 8;
        }
        let mtime = (here.since + self.random.exponential(here.span) as i64).min(NOW);
        let moved = self.random.per_mille(120);
        let ctime = if moved {
            self.later(mtime, 90.0)
        } else {
            mtime
        };
        let read = self.random.per_mille(450);
        Attributes {
            kind: b'f',
            mode: 0o100_000 | self.file_mode(here.owner, pattern),
            nlink: 1,
            uid: here.owner.uid,
            gid: here.owner.gid,
            ino: here.first_ino + place,
            parent_ino: here.ino,
            size_bytes,
            blocks,
            atime: if read {
                self.later(mtime, 120.0)
            } else {
                mtime
            },
            mtime,
            ctime,
            btime: mtime.min(here.since + self.random.exponential(here.span / 2.0) as i64),
        }
    }

    fn file_mode(&mut self, owner: Owner, pattern: &Pattern) -> u32 {
        let all = if pattern.content.executable {
            0o777
        } else {
            0o666
        };
        match self.random.below(1000) {
            0..12 => 0o600,
            12..18 => 0o444,
            18..22 => 0o777,
            22 if owner.uid == 0 && pattern.content.executable => 0o4755,
            _ => all & !owner.umask,
        }
    }

    /// Returns a later time, some days later on average.
    fn later(&mut self, time: i64, days: f64) -> i64 {
        (time + self.random.exponential(days * DAY) as i64).min(NOW)
    }

    /// Makes the entry a symbolic link; returns its target.
    fn become_link(&mut self, is: &mut Attributes) -> Vec<u8> {
        let word = self.world.vocabulary.word(&mut self.random);
        let target = match self.random.below(4) {
            0 => [b"../", word.as_bytes()].concat(),
            1 => [b"/sw/", word.as_bytes(), b"/current"].concat(),
            2 => [&self.name, &b".1"[..]].concat(),
            _ => [word.as_bytes(), b"/", &self.name].concat(),
        };
        is.kind = b'l';
        is.mode = 0o120_777;
        is.size_bytes = target.len() as u64;
        is.blocks = 0;
        target
    }

    /// Gives the file more names, which come later.
    fn share(&mut self, is: &mut Attributes) {
        is.nlink = 2 + (self.random.pareto(1.2) as u64 - 1).min(30);
        self.linked.push((*is, is.nlink - 1));
    }

    /// Makes the entry another name of a file with several names.
    fn join_links(&mut self, is: &mut Attributes, here: &Here) {
        let Some((file, left)) = self.linked.last_mut() else {
            return;
        };
        if file.uid != here.owner.uid {
            return self.linked.clear();
        }
        *is = Attributes {
            parent_ino: is.parent_ino,
            ..*file
        };
        *left -= 1;
        if *left == 0 {
            self.linked.pop();
        }
    }
}

/// A sub-directory with its name.
struct Named {
    name: Vec<u8>,
    theme: ThemeId,
    owner: Owner,
    rows: u64,
}

impl Named {
    fn as_wanted(&self) -> Wanted<'_> {
        Wanted {
            name: &self.name,
            theme: self.theme,
            owner: self.owner,
            rows: self.rows,
        }
    }
}

/// Makes the entry a named pipe or a socket.
fn become_special(is: &mut Attributes, kind: u8, type_bits: u32) {
    is.kind = kind;
    is.mode = type_bits | is.mode & 0o777;
    is.size_bytes = 0;
    is.blocks = 0;
}

/// Hashes a name. Two names with the same hash count as equal, and the second one is replaced.
fn hash(name: &[u8]) -> u64 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = name.len() as u64;
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    }
    hash
}
