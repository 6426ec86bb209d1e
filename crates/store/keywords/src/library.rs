//! The packs that this process may open, as one collection.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use tantivy::postings::Postings;
use tantivy::query::{
    Bm25StatisticsProvider, EnableScoring, PhraseQuery, Query as TantivyQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, ReloadPolicy, Searcher, SegmentReader, TERMINATED, Term};
use trawl_grams::DocId;

use crate::attribute::AttributeTest;
use crate::builder::{guarded, open};
use crate::document::{Gaps, Reference};
use crate::error::{KeywordsError, Result, cannot};
use crate::matching::term;
use crate::pack::Pack;
use crate::query::{Expression, Query};
use crate::schema;
use crate::sidecar;

/// Identities are hashes already.
#[derive(Clone, Debug, Default)]
pub(crate) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(32) ^ number;
    }
}

/// A map by identities.
pub(crate) type ById<T> = HashMap<DocId, T, BuildHasherDefault<AsIs>>;

/// A pack whose postings are open.
struct Shelf {
    pack: Pack,
    searcher: Searcher,
}

/// Function that adds the numbers and scores of a pack's documents that match.
type Ask<'a> = &'a mut dyn FnMut(&Shelf, &mut Vec<(u32, f32)>) -> Result<()>;

/// Packs, and which documents they have.
#[derive(Default)]
pub struct Library {
    shelves: Vec<Shelf>,
    /// The pack of each document, its number there, and what is missing of it.
    covered: ById<(u32, u32, Gaps)>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Library({} packs)", self.shelves.len())
    }
}

/// The documents of a library that match.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Matching documents with their scores; 0 where there are none.
    pub(crate) matching: ById<f32>,
    /// Numbers of packs that could not be asked, with the reason.
    pub(crate) lost: Vec<(u32, String)>,
}

impl Answer {
    /// Returns the score of a document that matches.
    pub fn score(&self, id: DocId) -> Option<f32> {
        self.matching.get(&id).copied()
    }

    /// Returns whether a pack could not be asked.
    pub fn is_partial(&self) -> bool {
        !self.lost.is_empty()
    }
}

impl Library {
    /// Adds a pack.
    ///
    /// # Errors
    /// If its postings cannot be opened.
    pub fn add(&mut self, pack: Pack) -> Result<()> {
        let searcher = guarded(|| {
            let reader = open(&pack)?
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into();
            let reader: tantivy::IndexReader = reader.map_err(cannot("open"))?;
            Ok(reader.searcher())
        })?;
        match searcher.segment_readers() {
            [only] if only.max_doc() as usize == pack.docs().len() => {}
            _ => {
                return Err(KeywordsError::Damaged(
                    "its postings are of other documents",
                ));
            }
        }
        let number = self.shelves.len() as u32;
        self.covered.reserve(pack.docs().len());
        for (doc, at) in pack.docs().iter().zip(0u32..) {
            self.covered.entry(doc.id).or_insert((number, at, doc.gaps));
        }
        self.shelves.push(Shelf { pack, searcher });
        Ok(())
    }

    /// Returns whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.covered.is_empty()
    }

    /// Returns the number of the pack that has a document, and what is missing of the document.
    pub(crate) fn place(&self, id: DocId) -> Option<(u32, Gaps)> {
        let (pack, _, gaps) = self.covered.get(&id)?;
        Some((*pack, *gaps))
    }

    /// Returns the references of a document; `None` if no pack has the document as a whole.
    ///
    /// # Errors
    /// If its pack is damaged.
    pub fn references(&self, id: DocId) -> Result<Option<Vec<Reference>>> {
        let Some((pack, at, gaps)) = self.covered.get(&id) else {
            return Ok(None);
        };
        if *gaps != Gaps::default() {
            return Ok(None);
        }
        let shelf = self.shelves.get(*pack as usize);
        shelf
            .map(|shelf| sidecar::references(&shelf.pack, *at))
            .transpose()
    }

    /// Returns the documents that match a query, with scores. Documents of packs that turn out to be
    /// damaged are not among them.
    pub fn query(&self, query: &Query) -> Answer {
        self.ask(&mut |shelf, found| {
            for reader in shelf.searcher.segment_readers() {
                let scoring =
                    EnableScoring::enabled_from_statistics_provider(self, &shelf.searcher);
                let scores = evaluate(query.expression(), scoring, reader)?;
                let scores = scores.into_iter().zip(0..);
                found.extend(scores.filter_map(|(score, doc)| Some((doc, score?))));
            }
            Ok(())
        })
    }

    /// Returns the documents whose attributes pass a test.
    pub fn attribute(&self, test: &AttributeTest) -> Answer {
        self.ask(&mut |shelf, found| {
            for reader in shelf.searcher.segment_readers() {
                let docs = reader.max_doc() as usize;
                let mut passes = vec![false; docs];
                mark(reader, test.wanted(), &mut passes, true)?;
                mark(reader, test.unwanted(), &mut passes, false)?;
                let passing = passes.iter().zip(0..).filter(|(passes, _)| **passes);
                found.extend(passing.map(|(_, doc)| (doc, 0.0)));
            }
            Ok(())
        })
    }

    fn ask(&self, ask: Ask<'_>) -> Answer {
        let mut answer = Answer::default();
        for (shelf, number) in self.shelves.iter().zip(0u32..) {
            let mut found = Vec::new();
            match guarded(|| ask(shelf, &mut found)) {
                Ok(()) => {
                    let docs = shelf.pack.docs();
                    let found = found
                        .iter()
                        .filter_map(|(doc, score)| Some((docs.get(*doc as usize)?.id, *score)));
                    answer.matching.extend(found);
                }
                Err(error) => answer.lost.push((number, error.to_string())),
            }
        }
        answer
    }
}

/// Reads all lists of postings of a pack.
///
/// # Errors
/// If one cannot be read, or has a document that the pack does not have.
pub(crate) fn check(pack: &Pack) -> Result<()> {
    let mut library = Library::default();
    library.add(pack.clone())?;
    guarded(|| {
        let shelves = library.shelves.iter();
        let mut readers = shelves.flat_map(|shelf| shelf.searcher.segment_readers());
        readers.try_for_each(|reader| {
            check_lists(
                reader,
                schema::text(),
                IndexRecordOption::WithFreqsAndPositions,
            )?;
            check_lists(reader, schema::attributes(), IndexRecordOption::Basic)
        })
    })
}

fn check_lists(reader: &SegmentReader, field: Field, parts: IndexRecordOption) -> Result<()> {
    const DAMAGED: KeywordsError = KeywordsError::Damaged("a list of postings makes no sense");
    let postings = reader.inverted_index(field).map_err(cannot("check"))?;
    let mut terms = postings.terms().stream()?;
    let mut positions = Vec::new();
    while let Some((_, info)) = terms.next() {
        let mut docs = postings.read_postings_from_terminfo(info, parts)?;
        let (mut doc, mut found) = (docs.doc(), 0);
        while doc != TERMINATED {
            if doc >= reader.max_doc() {
                return Err(DAMAGED);
            }
            if parts.has_positions() {
                docs.positions(&mut positions);
            }
            found += 1;
            doc = docs.advance();
        }
        if found != info.doc_freq {
            return Err(DAMAGED);
        }
    }
    Ok(())
}

/// Statistics of all packs of the library: nobody's scores depend on a pack that they may not open.
impl Bm25StatisticsProvider for Library {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let of_shelf = |shelf: &Shelf| shelf.searcher.total_num_tokens(field);
        let all: tantivy::Result<Vec<u64>> = self.shelves.iter().map(of_shelf).collect();
        // At least one, since it is divided by.
        Ok(all?.iter().sum::<u64>().max(1))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        let docs = self
            .shelves
            .iter()
            .map(|shelf| shelf.pack.docs().len() as u64);
        Ok(docs.sum::<u64>().max(1))
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let mut sum = 0;
        for shelf in &self.shelves {
            // A damaged pack may count more documents than it has.
            let most = shelf.pack.docs().len() as u64;
            sum += shelf.searcher.doc_freq(term).unwrap_or_default().min(most);
        }
        Ok(sum)
    }
}

/// Sets `passes` for the documents that have a term in one of the ranges.
fn mark(
    reader: &SegmentReader,
    ranges: &[Range<Vec<u8>>],
    passes: &mut [bool],
    value: bool,
) -> Result<()> {
    let postings = reader
        .inverted_index(schema::attributes())
        .map_err(cannot("query"))?;
    for range in ranges {
        let terms = postings.terms().range().ge(&range.start).lt(&range.end);
        let mut terms = terms.into_stream()?;
        while let Some((_, info)) = terms.next() {
            let mut docs = postings.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
            let mut doc = docs.doc();
            while doc != TERMINATED {
                if let Some(passes) = passes.get_mut(doc as usize) {
                    *passes = value;
                }
                doc = docs.advance();
            }
        }
    }
    Ok(())
}

/// The scores of a segment's documents; `None` where a document does not match.
type Scores = Vec<Option<f32>>;

/// Evaluates an expression on a segment. Tantivy answers words and phrases; they are joined here,
/// since its phrases assert in an exclusion what does not hold there (0.27).
fn evaluate(
    expression: &Expression,
    scoring: EnableScoring<'_>,
    reader: &SegmentReader,
) -> Result<Scores> {
    let part = |part: &Expression| evaluate(part, scoring, reader);
    match expression {
        Expression::Word(word) => {
            let query = TermQuery::new(term(word), IndexRecordOption::WithFreqs);
            postings(&query, scoring, reader)
        }
        Expression::Phrase(words) => {
            let query = PhraseQuery::new(words.iter().map(|word| term(word)).collect());
            postings(&query, scoring, reader)
        }
        Expression::And(parts) => join(parts.iter().map(part), |a, b| Some(a? + b?)),
        Expression::Or(parts) => join(parts.iter().map(part), |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        }),
        Expression::Not(inner) => {
            let turned = |score: Option<f32>| score.is_none().then_some(0.0);
            Ok(part(inner)?.into_iter().map(turned).collect())
        }
    }
}

fn join(
    parts: impl Iterator<Item = Result<Scores>>,
    two: fn(Option<f32>, Option<f32>) -> Option<f32>,
) -> Result<Scores> {
    let mut joined: Option<Scores> = None;
    for part in parts {
        let part = part?;
        joined = Some(match joined {
            None => part,
            Some(before) => before
                .into_iter()
                .zip(part)
                .map(|(a, b)| two(a, b))
                .collect(),
        });
    }
    Ok(joined.unwrap_or_default())
}

fn postings(
    query: &dyn TantivyQuery,
    scoring: EnableScoring<'_>,
    reader: &SegmentReader,
) -> Result<Scores> {
    let mut scores = vec![None; reader.max_doc() as usize];
    let weight = query.weight(scoring).map_err(cannot("query"))?;
    let mut put = |doc: u32, score: f32| {
        if let Some(place) = scores.get_mut(doc as usize) {
            *place = Some(score);
        }
    };
    weight.for_each(reader, &mut put).map_err(cannot("query"))?;
    Ok(scores)
}
