//! What a leaf knows besides the row: where it lies as seen from the start
//! point, how the world is, and where output goes.

use trawl_model::Timestamp;
use trawl_model::rows::Row;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;

use crate::base_name::bare_name;
use crate::environment::Environment;
use crate::file_systems::FileSystems;
use crate::lookups::Lookups;
use crate::output::Output;

/// What is the same for every row of a search.
#[derive(Debug)]
pub struct World {
    /// When the search began; ages count from here.
    pub now: Timestamp,
    /// The zone that times are printed in.
    pub zone: Zone,
    /// Names of owners.
    pub owners: Owners,
    /// How bytes are characters.
    pub locale: trawl_text::locale::Locale,
    /// Whether somebody watches the output.
    pub terminal: Terminal,
    /// Size of the blocks that `-ls` counts: 1024 bytes, or 512 if
    /// `POSIXLY_CORRECT` is set.
    pub ls_block_bytes: u64,
    /// Kinds of file systems by device.
    pub file_systems: FileSystems,
}

impl World {
    /// The world that a search in `env` sees.
    pub fn new(env: &Environment) -> World {
        World {
            now: env.now,
            zone: (env.zone)(),
            owners: Owners::default(),
            locale: env.locale,
            terminal: env.terminal,
            ls_block_bytes: env.ls_block_bytes,
            file_systems: FileSystems::default(),
        }
    }
}

/// Buffers that contexts hand on to each other.
#[derive(Debug, Default)]
pub struct Buffers {
    prefix: Vec<u8>,
    path: Vec<u8>,
}

/// Where a search begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartPoint {
    /// As the user wrote it.
    pub spelled: Vec<u8>,
    /// Where it lies in the index (see [`trawl_model::path`]).
    pub stored: Vec<u8>,
}

/// Where the current row lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// It is the start point itself.
    Start,
    /// It lies in the directory whose spelling is the prefix.
    Below,
}

/// The surroundings of the row at hand. One per worker; moved from directory
/// to directory.
#[derive(Debug)]
pub struct Context<'a> {
    /// What is the same for every row.
    pub world: &'a World,
    /// Where the search began.
    pub start: &'a StartPoint,
    /// What was looked up of the whole scope.
    pub lookups: &'a Lookups,
    /// How many levels below the start point the row lies.
    pub depth: usize,
    /// What was printed.
    pub out: Output,
    /// Set by `-prune` on a directory.
    pub pruned: bool,
    /// Set by `-quit`.
    pub quit: bool,
    /// What could not be told of the row, for standard error, line by line.
    pub complaints: Vec<u8>,
    position: Position,
    /// The spelled path of the row's directory with a slash behind it.
    prefix: Vec<u8>,
    /// The spelled path, of the row named in `path_of`.
    path: Vec<u8>,
    path_of: Option<usize>,
}

impl<'a> Context<'a> {
    /// A context that stands at the start point.
    pub fn new(world: &'a World, start: &'a StartPoint, lookups: &'a Lookups) -> Context<'a> {
        Context {
            world,
            start,
            lookups,
            depth: 0,
            out: Output::default(),
            pruned: false,
            quit: false,
            complaints: Vec::new(),
            position: Position::Start,
            prefix: Vec::new(),
            path: Vec::new(),
            path_of: None,
        }
    }

    /// Uses these buffers; [`Context::into_buffers`] gives them back.
    #[must_use]
    pub fn with_buffers(mut self, buffers: Buffers) -> Context<'a> {
        self.prefix = buffers.prefix;
        self.path = buffers.path;
        self.path_of = None;
        self
    }

    /// The buffers, the output and the complaints.
    pub fn into_buffers(self) -> (Buffers, Output, Vec<u8>) {
        let buffers = Buffers {
            prefix: self.prefix,
            path: self.path,
        };
        (buffers, self.out, self.complaints)
    }

    /// Moves to the rows of the directory `dir` (its stored path), which lies
    /// `depth` levels below the start point (0 for the start point itself).
    pub fn enter(&mut self, dir: &[u8], depth: usize) {
        self.position = Position::Below;
        self.depth = depth + 1;
        self.path_of = None;
        self.prefix.clear();
        self.prefix.extend_from_slice(&self.start.spelled);
        if !self.prefix.ends_with(b"/") {
            self.prefix.push(b'/');
        }
        let below = dir.strip_prefix(&self.start.stored[..]).unwrap_or(dir);
        let below = below.strip_prefix(b"/").unwrap_or(below);
        if !below.is_empty() {
            self.prefix.extend_from_slice(below);
            self.prefix.push(b'/');
        }
    }

    /// The row's path as find spells it: from the start point as given.
    pub fn path(&mut self, row: &Row<'_>) -> &[u8] {
        self.fill_path(row);
        &self.path
    }

    fn fill_path(&mut self, row: &Row<'_>) {
        if self.path_of == Some(row.at) {
            return;
        }
        self.path.clear();
        match self.position {
            Position::Start => self.path.extend_from_slice(&self.start.spelled),
            Position::Below => {
                self.path.extend_from_slice(&self.prefix);
                self.path.extend_from_slice(row.name());
            }
        }
        self.path_of = Some(row.at);
    }

    /// The part of the path below the start point; empty for the start point.
    pub fn path_below_start(&mut self, row: &Row<'_>) -> &[u8] {
        if self.position == Position::Start {
            return b"";
        }
        self.fill_path(row);
        let start = &self.start.spelled;
        let slash = usize::from(!start.ends_with(b"/"));
        self.path.get(start.len() + slash..).unwrap_or_default()
    }

    /// The name that `-name` looks at: of a start point, the last component
    /// as it was spelled.
    pub fn name<'r>(&self, row: &Row<'r>) -> &'r [u8]
    where
        'a: 'r,
    {
        match self.position {
            Position::Start => bare_name(&self.start.spelled),
            Position::Below => row.name(),
        }
    }

    /// Prints the path and one byte.
    pub fn print_path(&mut self, row: &Row<'_>, end: u8, terminal: Terminal) {
        let Output { bytes, .. } = &mut self.out;
        match (self.position, terminal) {
            (Position::Below, Terminal::Absent) => {
                bytes.extend_from_slice(&self.prefix);
                bytes.extend_from_slice(row.name());
            }
            _ => {
                self.fill_path(row);
                self.out.bytes.extend_from_slice(&terminal.show(&self.path));
            }
        }
        self.out.bytes.push(end);
    }

    /// Notes a line for standard error; the exit code becomes 1.
    pub fn complain(&mut self, line: &str) {
        self.complaints.extend_from_slice(line.as_bytes());
        self.complaints.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{batch_of_names, world};

    #[test]
    fn paths_are_spelled_from_the_start() {
        let (world, none) = (world(), Lookups::default());
        let batch = batch_of_names(&[b"n"]);
        for (spelled, stored, dir, expected, below) in [
            (".", "/w", "/w", "./n", "n"),
            ("a/", "/w/a", "/w/a/b", "a/b/n", "b/n"),
            ("a//", "/w/a", "/w/a", "a//n", "n"),
            ("/", "", "", "/n", "n"),
            ("//", "", "/x", "//x/n", "x/n"),
            ("..", "", "/x/y", "../x/y/n", "x/y/n"),
        ] {
            let start = StartPoint {
                spelled: spelled.into(),
                stored: stored.into(),
            };
            let mut cx = Context::new(&world, &start, &none);
            let row = Row {
                batch: &batch,
                at: 0,
                dir: dir.as_bytes(),
            };
            assert_eq!(cx.path(&row), spelled.as_bytes());
            assert_eq!(cx.path_below_start(&row), b"");
            cx.enter(dir.as_bytes(), 0);
            assert_eq!(cx.path(&row), expected.as_bytes());
            assert_eq!(cx.path_below_start(&row), below.as_bytes());
        }
    }
}
