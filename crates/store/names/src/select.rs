//! Selects the rows that can contain needles.
//!
//! A literal in a path is either within the directory's path, and then every
//! path below contains it too, or it extends into the name. Directories are
//! examined by their components. Each component is new in exactly one
//! directory: the first one in path order that has it; all directories that
//! share it follow. So a literal in a directory's path selects whole ranges of
//! rows.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use memchr::memmem::Finder;

use crate::dirs::{DirBlock, DirWalk};
use crate::error::Result;
use crate::fold;
use crate::layout::BLOCK_ROWS;
use crate::lists::Set;
use crate::pattern::{Anchor, Case, Literal, Needles, Subject};
use crate::read_at::ReadAt;
use crate::reader::{Buffers, Lists, Names, RowRanges};
use crate::trigrams::{AsciiOnly, lookup_keys};

/// Returns the ranges within `rows` that can meet the needles.
pub(crate) fn select<R: ReadAt>(
    names: &Names<R>,
    needles: &Needles,
    rows: Range<u64>,
) -> Result<RowRanges> {
    let rows = rows.start..rows.end.min(names.rows());
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = vec![rows.clone()];
    if needles.all.is_empty() {
        return Ok(found);
    }
    let mut selector = Selector {
        buffers: Buffers::default(),
        case: needles.case,
        names,
        rows,
    };
    for alternatives in &needles.all {
        let mut any = Vec::new();
        for literal in alternatives {
            any.extend(selector.rows_with(literal, needles.subject)?);
        }
        found = common(&found, &united(any));
        if found.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Returns the ranges within `rows` whose directory paths, followed by a slash,
/// contain a literal. The literal has no slashes.
pub(crate) fn in_dirs<R: ReadAt>(
    names: &Names<R>,
    literal: &[u8],
    case: Case,
    rows: Range<u64>,
) -> Result<RowRanges> {
    let mut selector = Selector {
        buffers: Buffers::default(),
        case,
        names,
        rows,
    };
    selector.within(literal)
}

/// A cache of the last literals that were looked up in the paths of all
/// directories, with the rows of the directories that contain them. Selecting
/// rows and searching in them ask for the same literals, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct KnownDirs(Mutex<VecDeque<KnownDir>>);

#[derive(Debug)]
struct KnownDir {
    literal: Vec<u8>,
    case: Case,
    rows: Arc<RowRanges>,
}

/// Number of literals kept.
const KNOWN_LITERALS: usize = 4;
/// Maximum number of ranges kept for each literal.
const KNOWN_RANGES: usize = 4096;

impl KnownDirs {
    fn rows_of(&self, literal: &[u8], case: Case) -> Option<Arc<RowRanges>> {
        let known = self.0.lock().ok()?;
        let same = |known: &&KnownDir| known.case == case && known.literal == literal;
        known.iter().find(same).map(|known| Arc::clone(&known.rows))
    }

    fn keep(&self, literal: &[u8], case: Case, rows: &Arc<RowRanges>) {
        let Ok(mut known) = self.0.lock() else {
            return;
        };
        if rows.len() > KNOWN_RANGES {
            return;
        }
        known.truncate(KNOWN_LITERALS - 1);
        known.push_front(KnownDir {
            literal: literal.to_vec(),
            case,
            rows: Arc::clone(rows),
        });
    }
}

/// Sorts ranges and merges those that overlap or touch.
fn united(mut ranges: RowRanges) -> RowRanges {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut out: RowRanges = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// Returns the intersection of two sorted lists of ranges.
fn common(a: &[Range<u64>], b: &[Range<u64>]) -> RowRanges {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut out = Vec::new();
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        let both = x.start.max(y.start)..x.end.min(y.end);
        if !both.is_empty() {
            out.push(both);
        }
        match x.end < y.end {
            true => a.next(),
            false => b.next(),
        };
    }
    out
}

/// Returns a literal as the filter uses it. If case is ignored, that is its
/// longest ASCII run, in lower case.
pub(crate) fn reduced(literal: &Literal, case: Case) -> Literal {
    if case == Case::Sensitive {
        return literal.clone();
    }
    let bytes = literal.bytes.to_ascii_lowercase();
    if bytes.is_ascii() {
        let anchor = literal.anchor;
        return Literal { bytes, anchor };
    }
    let is_start = matches!(literal.anchor, Anchor::Start | Anchor::Whole);
    let is_end = matches!(literal.anchor, Anchor::End | Anchor::Whole);
    let runs: Vec<&[u8]> = bytes.split(|byte| !byte.is_ascii()).collect();
    let longest = (0..runs.len())
        .max_by_key(|at| runs[*at].len())
        .unwrap_or(0);
    let starts = is_start && longest == 0;
    let ends = is_end && longest + 1 == runs.len();
    Literal {
        bytes: runs.get(longest).copied().unwrap_or_default().to_vec(),
        anchor: match (starts, ends) {
            (true, true) => Anchor::Whole,
            (true, false) => Anchor::Start,
            (false, true) => Anchor::End,
            (false, false) => Anchor::Anywhere,
        },
    }
}

/// Returns a name's bytes with the zero bytes that its anchor requires.
pub(crate) fn anchored(bytes: &[u8], anchor: Anchor) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 2);
    if matches!(anchor, Anchor::Start | Anchor::Whole) {
        text.push(0);
    }
    text.extend_from_slice(bytes);
    if matches!(anchor, Anchor::End | Anchor::Whole) {
        text.push(0);
    }
    text
}

/// A literal of a path, split at its last slash.
#[derive(Debug)]
pub(crate) struct Cut<'l> {
    /// The end that a directory's path followed by a slash must have; empty if
    /// there is no slash.
    pub(crate) head: &'l [u8],
    /// The bytes in the name, and their anchor.
    pub(crate) tail: &'l [u8],
    pub(crate) tail_anchor: Anchor,
    /// True if the literal can also lie entirely within the directory's path.
    pub(crate) in_dir: bool,
}

impl Cut<'_> {
    pub(crate) fn of(literal: &Literal) -> Cut<'_> {
        let bytes = &literal.bytes[..];
        let slash = bytes.iter().rposition(|byte| *byte == b'/');
        let (head, tail) = bytes.split_at(slash.map_or(0, |slash| slash + 1));
        let ends = matches!(literal.anchor, Anchor::End | Anchor::Whole);
        let tail_anchor = match (head.is_empty(), ends) {
            (true, false) => Anchor::Anywhere,
            (true, true) => Anchor::End,
            (false, false) => Anchor::Start,
            (false, true) => Anchor::Whole,
        };
        Cut {
            head,
            tail,
            tail_anchor,
            in_dir: !ends,
        }
    }
}

struct Selector<'n, R> {
    names: &'n Names<R>,
    case: Case,
    rows: Range<u64>,
    buffers: Buffers,
}

impl<R: ReadAt> Selector<'_, R> {
    fn rows_with(&mut self, literal: &Literal, subject: Subject) -> Result<RowRanges> {
        let literal = reduced(literal, self.case);
        if subject == Subject::Name {
            return self.named(&literal.bytes, literal.anchor);
        }
        let cut = Cut::of(&literal);
        let mut found = self.named(cut.tail, cut.tail_anchor)?;
        if cut.head.len() > 1 && !found.is_empty() {
            found = common(&found, &self.dirs(cut.head, BytePosition::End)?);
        }
        if cut.in_dir {
            found.extend(self.within(&literal.bytes)?);
        }
        Ok(found)
    }

    /// Returns the rows of blocks that can have these bytes in a name.
    fn named(&mut self, bytes: &[u8], anchor: Anchor) -> Result<RowRanges> {
        let text = anchored(bytes, anchor);
        let blocks = self.blocks(Lists::Names, &text)?;
        let mut found: RowRanges = Vec::new();
        let size = BLOCK_ROWS as u64;
        for block in blocks.iter() {
            let start = u64::from(block) * size;
            let range = start.max(self.rows.start)..(start + size).min(self.rows.end);
            match found.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ if range.is_empty() => {}
                _ => found.push(range),
            }
        }
        Ok(found)
    }

    /// Returns the blocks that can contain a text.
    fn blocks(&mut self, lists: Lists, text: &[u8]) -> Result<Set> {
        let layout = self.names.layout();
        let count = match lists {
            Lists::Names => layout.names.len(),
            Lists::Dirs => layout.dir_blocks.len(),
        };
        let mut blocks = Set::all(count as u32);
        let ascii_only = match self.case {
            Case::Folded => AsciiOnly::Yes,
            Case::Sensitive => AsciiOnly::No,
        };
        for key in lookup_keys(text, ascii_only) {
            let with_key = self.names.blocks_with(lists, key, &mut self.buffers)?;
            blocks.keep_common(&with_key);
            if blocks.count() <= 1 {
                break;
            }
        }
        Ok(blocks)
    }

    /// Returns the rows of directories whose path, followed by a slash,
    /// contains these bytes anywhere.
    fn within(&mut self, bytes: &[u8]) -> Result<RowRanges> {
        let (names, rows) = (self.names, self.rows.clone());
        let known = names.known_dirs();
        let all = match known.rows_of(bytes, self.case) {
            Some(all) => all,
            None => {
                self.rows = 0..names.rows();
                let found = self.dirs(bytes, BytePosition::Within);
                self.rows = rows.clone();
                let all = Arc::new(united(found?));
                known.keep(bytes, self.case, &all);
                all
            }
        };
        Ok(common(&all, &[rows]))
    }

    /// Returns the rows of directories whose path, followed by a slash,
    /// contains these bytes at `place`.
    fn dirs(&mut self, bytes: &[u8], place: BytePosition) -> Result<RowRanges> {
        // The last component of the literal is new in the directory where a
        // match begins. A trailing slash does not count.
        let upto = bytes.len().saturating_sub(1);
        let slash = bytes[..upto].iter().rposition(|byte| *byte == b'/');
        let last = &bytes[slash.unwrap_or(0)..];
        let blocks = self.blocks(Lists::Dirs, last)?;
        let dirs = DirSearch {
            place,
            bytes,
            finder: Finder::new(bytes),
            case: self.case,
            open: None,
            found: Vec::new(),
            folded: Vec::new(),
        };
        dirs.run(self, &blocks)
    }
}

/// Where bytes must be in a directory's path followed by a slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BytePosition {
    /// Anywhere; then all paths below contain them too.
    Within,
    /// At the end; only the directory's own entries count.
    End,
}

struct DirSearch<'b> {
    place: BytePosition,
    bytes: &'b [u8],
    finder: Finder<'b>,
    case: Case,
    /// The matching subtree that the walk is in: the length of its path, and
    /// its first row.
    open: Option<(usize, u64)>,
    found: RowRanges,
    folded: Vec<u8>,
}

impl DirSearch<'_> {
    fn run<R: ReadAt>(mut self, selector: &mut Selector<'_, R>, blocks: &Set) -> Result<RowRanges> {
        let (names, rows) = (selector.names, selector.rows.clone());
        let all = &names.layout().dir_blocks;
        let after = all.partition_point(|dir| u64::from(dir.first_row) <= rows.start);
        let first = after.saturating_sub(1);
        let (mut block, mut walk) = (DirBlock::default(), DirWalk::default());
        for (number, dir) in all.iter().enumerate().skip(first) {
            if u64::from(dir.first_row) >= rows.end {
                break;
            }
            let ends_here = self
                .open
                .is_some_and(|(len, _)| (dir.shared_least as usize) < len);
            // The blocks before the first one were not examined, so its first
            // directory needs a full comparison. Nothing precedes the very
            // first block.
            let is_cut = number == first && first > 0;
            if !is_cut && !ends_here && !blocks.contains(number as u32) {
                continue;
            }
            names.read_dirs(number, &mut block, &mut selector.buffers)?;
            block.begin(&mut walk);
            let mut is_first = number == first;
            while block.step(&mut walk) {
                if is_first {
                    walk.shared = 0;
                }
                is_first = false;
                self.look_at(&walk);
            }
        }
        self.close(rows.end);
        Ok(common(&self.found, &[rows]))
    }

    fn look_at(&mut self, walk: &DirWalk) {
        if self.place == BytePosition::End {
            let bytes = self.bytes;
            if self.comparable(walk.text()).ends_with(bytes) {
                self.push(walk.rows.clone());
            }
            return;
        }
        if let Some((len, _)) = self.open {
            if walk.shared >= len {
                return;
            }
            self.close(walk.rows.start);
        }
        if let Some(len) = self.matched_len(walk) {
            self.open = Some((len, walk.rows.start));
        }
    }

    /// Ends the subtree before this row.
    fn close(&mut self, row: u64) {
        if let Some((_, start)) = self.open.take() {
            self.push(start..row);
        }
    }

    fn push(&mut self, range: Range<u64>) {
        match self.found.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ if range.is_empty() => {}
            _ => self.found.push(range),
        }
    }

    fn comparable<'t>(&'t mut self, text: &'t [u8]) -> &'t [u8] {
        match self.case {
            Case::Sensitive => text,
            Case::Folded => {
                fold::fold_into(text, &mut self.folded);
                &self.folded
            }
        }
    }

    /// The slower form of [`DirSearch::matched_len`] for text whose offsets
    /// change when folded.
    fn folded_len(&mut self, text: &[u8]) -> Option<usize> {
        let slashes = (0..text.len()).filter(|at| text[*at] == b'/');
        slashes.into_iter().find(|slash| {
            fold::fold_into(&text[..=*slash], &mut self.folded);
            self.finder.find(&self.folded).is_some()
        })
    }

    /// Returns the length of the shortest prefix of the directory's path that
    /// contains the bytes, if the match ends in a component that is new in this
    /// directory.
    fn matched_len(&mut self, walk: &DirWalk) -> Option<usize> {
        let text = walk.text();
        if self.bytes.is_empty() {
            return Some(0);
        }
        if self.case == Case::Folded && fold::has_special(text) {
            return self.folded_len(text);
        }
        let start = (walk.shared + 2).saturating_sub(self.bytes.len());
        let start = if walk.shared == 0 { 0 } else { start };
        let new = text.get(start..)?;
        let len = self.bytes.len();
        let finder = &self.finder;
        let at = match self.case {
            Case::Sensitive => finder.find(new)?,
            Case::Folded => {
                self.folded.clear();
                self.folded.extend_from_slice(new);
                self.folded.make_ascii_lowercase();
                finder.find(&self.folded)?
            }
        };
        let last = start + at + len - 1;
        let slash = text[last..].iter().position(|byte| *byte == b'/');
        Some(last + slash.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_unite_and_meet() {
        assert_eq!(united(vec![5..7, 0..2, 2..3, 6..9]), [0..3, 5..9]);
        assert_eq!(common(&[0..3, 5..9], &[1..6, 8..20]), [1..3, 5..6, 8..9]);
        assert!(common(&[0..3, 7..8], &[3..4, 5..7]).is_empty());
    }

    #[test]
    fn literals_beyond_ascii_are_looked_up_by_their_ascii() {
        let literal = Literal {
            bytes: "Éabcd".as_bytes().to_vec(),
            anchor: Anchor::Whole,
        };
        let found = reduced(&literal, Case::Folded);
        assert_eq!(
            (&found.bytes[..], found.anchor),
            (&b"abcd"[..], Anchor::End)
        );
        assert_eq!(reduced(&literal, Case::Sensitive), literal);
    }
}
