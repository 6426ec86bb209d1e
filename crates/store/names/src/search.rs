//! Searches block by block for matching rows.
//!
//! The longest literal that every match contains leads: only rows whose name or
//! directory path contains it are examined. If the pattern consists of just
//! that literal, the literal also decides. If it must be at the end of names,
//! the codes tell which rows have it, and only the names of those rows are
//! decompressed.

use std::ops::{ControlFlow, Range};

use memchr::memmem::Finder;

use crate::dirs::DirCursor;
use crate::error::Result;
use crate::fold;
use crate::layout::BLOCK_ROWS;
use crate::name_block::{CodedBlock, NameBlock, RowPosition};
use crate::pattern::{Anchor, Beginning, Case, Decider, Literal, Pattern, Subject};
use crate::read_at::ReadAt;
use crate::reader::{Buffers, NameMatch, Names, RowRanges};
use crate::select::{self, Cut, anchored, reduced};
use crate::suffix::{self, Hit, Suffix};
use crate::symbols::Symbols;
use crate::trail::Trail;
use crate::writer::RowKind;

/// The results that the caller wants.
pub(crate) enum WantedResults<'w> {
    Rows(&'w mut dyn FnMut(NameMatch<'_>) -> ControlFlow<()>),
    Ranges(&'w mut dyn FnMut(Range<u64>) -> ControlFlow<()>),
}

/// The leading literal.
struct Lead {
    case: Case,
    /// True if a row that contains the literal matches.
    decides: bool,
    /// Finds the literal in a directory's path and a slash; `None` if it cannot
    /// be there.
    in_dir: Option<Finder<'static>>,
    /// The end that this text must have if the rest of the literal is in the
    /// name.
    head: Vec<u8>,
    /// Finds the literal in the text of a block.
    in_names: Finder<'static>,
    at_end: Option<Box<Ending>>,
}

/// A literal at the end of names, and the rows of a block that have it.
struct Ending {
    suffix: Suffix,
    decides: bool,
    block: CodedBlock,
    hits: Vec<Hit>,
    /// False if non-ASCII letters could be equal to ASCII letters of the
    /// literal.
    is_usable: bool,
}

/// Which rows to examine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidates {
    All,
    /// Rows with the leading literal in the name.
    Led,
}

pub(crate) struct Search<'s, R> {
    names: &'s Names<R>,
    pattern: &'s Pattern<'s>,
    wanted: WantedResults<'s>,
    lead: Option<Lead>,
    /// Rows of directories whose paths contain the leading literal; in all
    /// other rows it must be in the name. `None` if a slash divides the
    /// literal.
    inside: Option<RowRanges>,
    buffers: Buffers,
    block: NameBlock,
    /// The first row of the block that contains the leading literal, searching
    /// from the last examined row.
    next_hit: Option<RowPosition>,
    /// Whether the block can be searched in lower case, once that has been
    /// determined.
    is_searchable: Option<bool>,
    cursor: DirCursor,
    /// The directory's path and a slash, folded like the literals.
    dir_text: Vec<u8>,
    path: Vec<u8>,
    name: Vec<u8>,
    scratch: Vec<u8>,
    /// The state of a matcher after the directory's path.
    trail: Trail,
    /// Matching rows that have not been reported yet.
    pending: Range<u64>,
}

fn lead(pattern: &Pattern<'_>) -> Option<Lead> {
    let needles = &pattern.needles;
    let single = needles.all.iter().filter_map(|any| match &any[..] {
        [only] => Some(reduced(only, needles.case)),
        _ => None,
    });
    let literal = single.max_by_key(|literal| literal.bytes.len())?;
    if literal.bytes.is_empty() {
        return None;
    }
    let is_plain = matches!(pattern.decider, Decider::Literal { .. });
    let sensitive = needles.case == Case::Sensitive;
    let is_ascii = needles.all.iter().flatten().all(|n| n.bytes.is_ascii());
    let lead = |head: &[u8], tail: &[u8], anchor, in_dir: Option<&Literal>, is_all: bool| Lead {
        case: needles.case,
        decides: is_all && sensitive,
        in_dir: in_dir.map(|literal| Finder::new(&literal.bytes).into_owned()),
        head: head.to_vec(),
        in_names: Finder::new(&anchored(tail, anchor)).into_owned(),
        at_end: Suffix::new(tail, anchor, needles.case).map(|suffix| {
            Box::new(Ending {
                suffix,
                decides: is_all && (sensitive || head.is_empty() && is_ascii),
                block: CodedBlock::default(),
                hits: Vec::new(),
                is_usable: false,
            })
        }),
    };
    Some(match needles.subject {
        Subject::Name => lead(b"", &literal.bytes, literal.anchor, None, is_plain),
        Subject::Path => {
            let cut = Cut::of(&literal);
            let floats = matches!(literal.anchor, Anchor::Anywhere | Anchor::End);
            let in_dir = cut.in_dir.then_some(&literal);
            let is_all = is_plain && floats;
            lead(cut.head, cut.tail, cut.tail_anchor, in_dir, is_all)
        }
    })
}

impl WantedResults<'_> {
    fn tell(&mut self, found: NameMatch<'_>) -> ControlFlow<()> {
        match self {
            WantedResults::Rows(tell) => tell(found),
            WantedResults::Ranges(_) => ControlFlow::Continue(()),
        }
    }
}

impl Ending {
    /// Reads a block and finds the rows that end with the literal.
    fn read<R: ReadAt>(
        &mut self,
        names: &Names<R>,
        number: usize,
        symbols: &Symbols,
    ) -> Result<()> {
        names.read_coded(number, &mut self.block)?;
        self.suffix.prepare(symbols);
        let codes = self.block.codes();
        let seen = self.suffix.find(symbols, codes, &mut self.hits);
        if seen.rows != self.block.rows {
            return Err(names.damaged_names(number));
        }
        self.is_usable = self.decides || !(self.suffix.is_folded() && seen.has_beyond_ascii);
        Ok(())
    }
}

/// Matches a name, or a path made of `directory` and the name, against a
/// pattern.
fn is_match(
    pattern: &Pattern<'_>,
    directory: &[u8],
    name: &[u8],
    (path, scratch): (&mut Vec<u8>, &mut Vec<u8>),
) -> bool {
    if pattern.needles.subject == Subject::Name {
        return pattern.is_match(name, scratch);
    }
    path.clear();
    path.extend_from_slice(directory);
    path.extend_from_slice(name);
    pattern.is_match(path, scratch)
}

impl<'s, R: ReadAt> Search<'s, R> {
    pub(crate) fn new(
        names: &'s Names<R>,
        pattern: &'s Pattern<'s>,
        wanted: WantedResults<'s>,
    ) -> Search<'s, R> {
        Search {
            names,
            pattern,
            wanted,
            lead: lead(pattern),
            inside: None,
            buffers: Buffers::default(),
            block: NameBlock::default(),
            next_hit: None,
            is_searchable: None,
            cursor: DirCursor::default(),
            dir_text: Vec::new(),
            path: Vec::new(),
            name: Vec::new(),
            scratch: Vec::new(),
            trail: Trail::default(),
            pending: 0..0,
        }
    }

    /// Searches `rows`; returns whether the caller broke off.
    pub(crate) fn run(self, rows: Range<u64>) -> Result<ControlFlow<()>> {
        let selected = select::select(self.names, &self.pattern.needles, rows)?;
        self.run_among(&selected)
    }

    /// Searches ranges that were selected before.
    pub(crate) fn run_among(mut self, selected: &[Range<u64>]) -> Result<ControlFlow<()>> {
        let size = BLOCK_ROWS as u64;
        if let [first, ..] = selected
            && let [.., last] = selected
        {
            self.inside = self.find_inside(first.start..last.end.min(self.names.rows()))?;
        }
        for range in selected {
            let range = range.start..range.end.min(self.names.rows());
            let mut start = range.start;
            while start < range.end {
                let end = range.end.min((start / size + 1) * size);
                if self.part(start..end)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                start = end;
            }
        }
        Ok(self.tell_pending())
    }

    fn find_inside(&self, rows: Range<u64>) -> Result<Option<RowRanges>> {
        let lead = self.lead.as_ref().filter(|lead| lead.head.is_empty());
        let Some((case, in_dir)) = lead.and_then(|lead| Some((lead.case, lead.in_dir.as_ref()?)))
        else {
            return Ok(None);
        };
        select::in_dirs(self.names, in_dir.needle(), case, rows).map(Some)
    }

    /// Searches rows of one block.
    fn part(&mut self, rows: Range<u64>) -> Result<ControlFlow<()>> {
        if matches!(self.pattern.decider, Decider::Everything) {
            return self.all_of(rows);
        }
        if self.pattern.needles.subject == Subject::Name {
            let candidates = match self.lead {
                Some(_) => Candidates::Led,
                None => Candidates::All,
            };
            return self.names_in(rows, candidates);
        }
        let mut start = rows.start;
        while start < rows.end {
            let (end, told) = match self.name_only_until(start) {
                Some(end) => {
                    let end = end.min(rows.end);
                    (end, self.names_in(start..end, Candidates::Led)?)
                }
                None => {
                    self.go_to_dir(start)?;
                    let end = self.cursor.dir.rows.end.min(rows.end);
                    (end, self.dir(start..end)?)
                }
            };
            if told.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            start = end;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the end of the rows, starting at this one, whose directories do
    /// not contain the leading literal; `None` if this row's directory contains
    /// it, or may.
    fn name_only_until(&self, row: u64) -> Option<u64> {
        let inside = self.inside.as_ref()?;
        match inside.get(inside.partition_point(|range| range.end <= row)) {
            Some(next) if next.start <= row => None,
            Some(next) => Some(next.start),
            None => Some(u64::MAX),
        }
    }

    fn go_to_dir(&mut self, row: u64) -> Result<()> {
        let (cursor, names) = (&mut self.cursor, self.names);
        if cursor.go_to(names, row, &mut self.buffers)? {
            let text = cursor.dir.text();
            match self.pattern.needles.case {
                Case::Folded => fold::fold_into(text, &mut self.dir_text),
                Case::Sensitive => {
                    self.dir_text.clear();
                    self.dir_text.extend_from_slice(text);
                }
            }
        }
        Ok(())
    }

    /// Searches rows of the current directory by their paths.
    fn dir(&mut self, rows: Range<u64>) -> Result<ControlFlow<()>> {
        let Some(lead) = &self.lead else {
            return self.continued_in(rows);
        };
        let in_dir = lead.in_dir.as_ref();
        if in_dir.is_some_and(|finder| finder.find(&self.dir_text).is_some()) {
            return match lead.decides {
                true => self.all_of(rows),
                false => self.continued_in(rows),
            };
        }
        match self.dir_text.ends_with(&lead.head) {
            true => self.names_in(rows, Candidates::Led),
            false => Ok(ControlFlow::Continue(())),
        }
    }

    /// Tests rows of the current directory with a matcher, continuing from the
    /// directory's path if the matcher supports it.
    fn continued_in(&mut self, rows: Range<u64>) -> Result<ControlFlow<()>> {
        let pattern = self.pattern;
        let Decider::Matcher(matcher) = pattern.decider else {
            return self.names_in(rows, Candidates::All);
        };
        let place = match matcher.begin(self.cursor.dir.text(), &mut self.trail) {
            Beginning::Unknown => return self.names_in(rows, Candidates::All),
            Beginning::Decided(true) => return self.all_of(rows),
            Beginning::Decided(false) => return Ok(ControlFlow::Continue(())),
            Beginning::Open(place) => place,
        };
        let rows = self.load(&rows)?;
        self.block.go_to(rows.start);
        for row in rows {
            let name = self.block.name();
            let next = RowPosition {
                at: self.block.current().at + 1 + name.len(),
                row: row + 1,
            };
            let is_match = match matcher.goes_on(place, name) {
                Some(told) => told,
                None => self.is_match_here()?,
            };
            if is_match && self.tell_row()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.block.set(next);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads the block that holds these rows, and returns their numbers within
    /// the block.
    fn load(&mut self, rows: &Range<u64>) -> Result<Range<usize>> {
        let number = (rows.start / BLOCK_ROWS as u64) as usize;
        if !self.block.is(number) {
            self.names
                .read_names(number, &mut self.block, &mut self.buffers)?;
            self.is_searchable = None;
            self.find_hit(RowPosition::default(), 0);
        }
        let first = (number * BLOCK_ROWS) as u64;
        Ok((rows.start - first) as usize..(rows.end - first) as usize)
    }

    /// Finds the leading literal in the block's text from `at` on. The position
    /// `at` is in the name of row `from` or right after it.
    fn find_hit(&mut self, from: RowPosition, at: usize) {
        self.next_hit = None;
        let Some(lead) = &self.lead else {
            return;
        };
        let text = match lead.case {
            Case::Sensitive => self.block.text(),
            Case::Folded => self.block.folded(),
        };
        if at + 1 >= text.len() {
            return;
        }
        if let Some(found) = lead.in_names.find(&text[at..]) {
            self.next_hit = Some(self.block.place_of(at + found, from));
        }
    }

    /// Searches rows of one block by name, or by path within the current
    /// directory.
    fn names_in(&mut self, rows: Range<u64>, candidates: Candidates) -> Result<ControlFlow<()>> {
        if candidates == Candidates::Led
            && let Some(told) = self.endings_in(&rows)?
        {
            return Ok(told);
        }
        let rows = self.load(&rows)?;
        if candidates == Candidates::All || !self.is_searchable() {
            for row in rows {
                self.block.go_to(row);
                if self.is_match_here()? && self.tell_row()?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            return Ok(ControlFlow::Continue(()));
        }
        let decides = self.lead.as_ref().is_some_and(|lead| lead.decides);
        while let Some(hit) = self.next_hit.filter(|hit| hit.row < rows.end) {
            if hit.row < rows.start {
                self.block.go_to(rows.start);
                let start = self.block.current();
                self.find_hit(start, start.at);
                continue;
            }
            self.block.set(hit);
            if (decides || self.is_match_here()?) && self.tell_row()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.find_hit(hit, self.block.end());
        }
        Ok(ControlFlow::Continue(()))
    }

    /// False if folding would change offsets in the text.
    fn is_searchable(&mut self) -> bool {
        let folded = self.pattern.needles.case == Case::Folded;
        let block = &self.block;
        *self
            .is_searchable
            .get_or_insert_with(|| !folded || !block.has_special())
    }

    /// Searches rows of one block by the ends of their names; `None` if all
    /// names are needed for that.
    fn endings_in(&mut self, rows: &Range<u64>) -> Result<Option<ControlFlow<()>>> {
        let at_end = self.lead.as_mut().and_then(|lead| lead.at_end.take());
        let Some(mut ending) = at_end else {
            return Ok(None);
        };
        let mut name = std::mem::take(&mut self.name);
        let told = self.endings(&mut ending, &mut name, rows);
        self.name = name;
        if let Some(lead) = &mut self.lead {
            lead.at_end = Some(ending);
        }
        told
    }

    fn endings(
        &mut self,
        ending: &mut Ending,
        name: &mut Vec<u8>,
        rows: &Range<u64>,
    ) -> Result<Option<ControlFlow<()>>> {
        let number = (rows.start / BLOCK_ROWS as u64) as usize;
        let first = (number * BLOCK_ROWS) as u64;
        let symbols = self.names.symbols(&mut self.buffers)?;
        if !ending.block.is(number) {
            ending.read(self.names, number, symbols)?;
        }
        if !ending.is_usable {
            return Ok(None);
        }
        let needs_name = !ending.decides || matches!(self.wanted, WantedResults::Rows(_));
        let hits = &ending.hits;
        let from = hits.partition_point(|hit| first + (hit.row as u64) < rows.start);
        let upto = hits.partition_point(|hit| first + (hit.row as u64) < rows.end);
        for hit in hits.get(from..upto).unwrap_or_default() {
            if needs_name {
                suffix::name_of(symbols, ending.block.codes(), hit.last, name);
            }
            let row = first + hit.row as u64;
            if ending.decides || self.is_match(row, name)? {
                let told = self.tell_named(row, name, ending.block.kind(hit.row))?;
                if told.is_break() {
                    return Ok(Some(told));
                }
            }
        }
        Ok(Some(ControlFlow::Continue(())))
    }

    /// Moves to a row's directory if its path matters.
    fn find_dir(&mut self, row: u64) -> Result<()> {
        match self.pattern.needles.subject {
            Subject::Name => Ok(()),
            Subject::Path => self.go_to_dir(row),
        }
    }

    /// Matches the current row against the pattern.
    fn is_match_here(&mut self) -> Result<bool> {
        self.find_dir(self.block.segment_row())?;
        let directory = self.cursor.dir.text();
        let texts = (&mut self.path, &mut self.scratch);
        let name = self.block.name();
        Ok(is_match(self.pattern, directory, name, texts))
    }

    /// Matches a row against the pattern.
    fn is_match(&mut self, row: u64, name: &[u8]) -> Result<bool> {
        self.find_dir(row)?;
        let directory = self.cursor.dir.text();
        let texts = (&mut self.path, &mut self.scratch);
        Ok(is_match(self.pattern, directory, name, texts))
    }

    /// Reports rows that all match.
    fn all_of(&mut self, rows: Range<u64>) -> Result<ControlFlow<()>> {
        if let WantedResults::Ranges(_) = self.wanted {
            return Ok(self.tell_range(rows));
        }
        for row in self.load(&rows)? {
            self.block.go_to(row);
            if self.tell_row()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reports the current row of the block.
    fn tell_row(&mut self) -> Result<ControlFlow<()>> {
        let row = self.block.segment_row();
        if let WantedResults::Ranges(_) = self.wanted {
            return Ok(self.tell_range(row..row + 1));
        }
        self.go_to_dir(row)?;
        let found = NameMatch {
            row,
            dir: self.cursor.dir.path(),
            name: self.block.name(),
            kind: self.block.kind(),
        };
        Ok(self.wanted.tell(found))
    }

    /// Reports a row.
    fn tell_named(&mut self, row: u64, name: &[u8], kind: RowKind) -> Result<ControlFlow<()>> {
        if let WantedResults::Ranges(_) = self.wanted {
            return Ok(self.tell_range(row..row + 1));
        }
        self.go_to_dir(row)?;
        let found = NameMatch {
            row,
            dir: self.cursor.dir.path(),
            name,
            kind,
        };
        Ok(self.wanted.tell(found))
    }

    fn tell_range(&mut self, rows: Range<u64>) -> ControlFlow<()> {
        if self.pending.end == rows.start && !self.pending.is_empty() {
            self.pending.end = rows.end;
            return ControlFlow::Continue(());
        }
        let told = self.tell_pending();
        self.pending = rows;
        told
    }

    fn tell_pending(&mut self) -> ControlFlow<()> {
        let rows = std::mem::replace(&mut self.pending, 0..0);
        match &mut self.wanted {
            WantedResults::Ranges(tell) if !rows.is_empty() => tell(rows),
            _ => ControlFlow::Continue(()),
        }
    }
}
