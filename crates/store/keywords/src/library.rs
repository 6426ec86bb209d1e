//! The packs that this process may open, as one collection.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::ops::Range;

use hashbrown::HashTable;
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
use crate::pack::{Listed, Pack};
use crate::query::{Expression, Query};
use crate::schema;
use crate::sidecar;
use crate::values::{AttributeValue, ValueTest};

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
pub(crate) struct Shelf {
    pack: Pack,
    searcher: Searcher,
}

impl Shelf {
    /// Opens the postings of a pack.
    ///
    /// # Errors
    /// If they are damaged.
    pub(crate) fn open(pack: Pack) -> Result<Shelf> {
        let searcher = guarded(|| {
            let reader = open(&pack)?
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into();
            let reader: tantivy::IndexReader = reader.map_err(cannot("open"))?;
            Ok(reader.searcher())
        })?;
        match searcher.segment_readers() {
            [only] if only.max_doc() as usize == pack.docs().len() => Ok(Shelf { pack, searcher }),
            _ => Err(KeywordsError::Damaged(
                "its postings are of other documents",
            )),
        }
    }
}

/// Function that adds the numbers and scores of a pack's documents that match.
type Ask<'a> = &'a mut dyn FnMut(&Shelf, &mut Vec<(u32, f32)>) -> Result<()>;

/// Packs, and which documents they have.
#[derive(Default)]
pub struct Library {
    shelves: Vec<Shelf>,
    /// The numbers of a pack and of a document in it, by the document's identity. The identity
    /// itself is in the pack: a table with copies would be four times as large, and new memory is
    /// what opening packs spends most of its time on.
    covered: HashTable<(u32, u32)>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Library({} packs)", self.shelves.len())
    }
}

fn listed(shelves: &[Shelf], pack: u32, at: u32) -> Option<Listed> {
    let docs = shelves.get(pack as usize)?.pack.docs();
    docs.get(at as usize).copied()
}

fn hash_of(id: DocId) -> u64 {
    BuildHasherDefault::<AsIs>::default().hash_one(id)
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
        self.put(Shelf::open(pack)?);
        Ok(())
    }

    /// Adds an open pack. Documents that an earlier pack has remain that pack's.
    pub(crate) fn put(&mut self, shelf: Shelf) {
        let number = self.shelves.len() as u32;
        self.shelves.push(shelf);
        let shelves = &self.shelves;
        let id = |&(pack, at): &(u32, u32)| listed(shelves, pack, at).map(|doc| doc.id);
        let hash = |place: &(u32, u32)| id(place).map_or(0, hash_of);
        let docs = shelves.last().map_or(&[][..], |shelf| shelf.pack.docs());
        self.covered.reserve(docs.len(), hash);
        for (doc, at) in docs.iter().zip(0u32..) {
            self.covered
                .entry(hash_of(doc.id), |place| id(place) == Some(doc.id), hash)
                .or_insert((number, at));
        }
    }

    /// Returns the numbers of the pack and of the document in it with this identity.
    fn find(&self, id: DocId) -> Option<(u32, u32, Gaps)> {
        let listed = |&(pack, at): &(u32, u32)| listed(&self.shelves, pack, at);
        let is_it = |place: &(u32, u32)| listed(place).is_some_and(|doc| doc.id == id);
        let place = self.covered.find(hash_of(id), is_it)?;
        Some((place.0, place.1, listed(place)?.gaps))
    }

    /// Returns whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.covered.is_empty()
    }

    /// Returns the number of the pack that has a document, and what is missing of the document.
    pub(crate) fn place(&self, id: DocId) -> Option<(u32, Gaps)> {
        let (pack, _, gaps) = self.find(id)?;
        Some((pack, gaps))
    }

    /// Returns the references of a document; `None` if no pack has the document as a whole.
    ///
    /// # Errors
    /// If its pack is damaged.
    pub fn references(&self, id: DocId) -> Result<Option<Vec<Reference>>> {
        let Some((pack, at, gaps)) = self.find(id) else {
            return Ok(None);
        };
        if gaps != Gaps::default() {
            return Ok(None);
        }
        let shelf = self.shelves.get(pack as usize);
        shelf
            .map(|shelf| sidecar::references(&shelf.pack, at))
            .transpose()
    }

    /// Returns the documents that match a query, with scores. Documents of packs that turn out to be
    /// damaged are not among them.
    pub fn query(&self, query: &Query) -> Answer {
        let statistics = Statistics::of(self);
        self.ask(&mut |shelf, found| {
            for reader in shelf.searcher.segment_readers() {
                let scoring =
                    EnableScoring::enabled_from_statistics_provider(&statistics, &shelf.searcher);
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

    /// Returns the values of an attribute that pass a test, in order, by document, and the numbers of
    /// packs that could not be asked, with the reason.
    pub(crate) fn values(
        &self,
        test: &ValueTest,
    ) -> (ById<Vec<AttributeValue>>, Vec<(u32, String)>) {
        let (mut all, mut lost) = (ById::default(), Vec::new());
        for (shelf, number) in self.shelves.iter().zip(0u32..) {
            let mut found: Vec<(u32, AttributeValue)> = Vec::new();
            let read = guarded(|| {
                let readers = shelf.searcher.segment_readers().iter();
                readers
                    .clone()
                    .try_for_each(|reader| values(reader, test, &mut found))
            });
            if let Err(error) = read {
                lost.push((number, error.to_string()));
                continue;
            }
            for (doc, value) in found {
                let Some(doc) = shelf.pack.docs().get(doc as usize) else {
                    continue;
                };
                // Of a document in two packs, the first one's values count.
                if self.place(doc.id).is_some_and(|(pack, _)| pack == number) {
                    let values: &mut Vec<AttributeValue> = all.entry(doc.id).or_default();
                    values.push(value);
                }
            }
        }
        all.values_mut().for_each(|values| values.sort_unstable());
        (all, lost)
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
    let shelf = Shelf::open(pack.clone())?;
    guarded(|| {
        shelf
            .searcher
            .segment_readers()
            .iter()
            .try_for_each(|reader| {
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

/// Statistics of a library, each computed once: Tantivy asks for them again in each pack.
struct Statistics<'l> {
    library: &'l Library,
    tokens: RefCell<HashMap<Field, u64>>,
    freqs: RefCell<HashMap<Term, u64>>,
}

impl Statistics<'_> {
    fn of(library: &Library) -> Statistics<'_> {
        Statistics {
            library,
            tokens: RefCell::default(),
            freqs: RefCell::default(),
        }
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        if let Some(known) = self.tokens.borrow().get(&field) {
            return Ok(*known);
        }
        let tokens = self.library.total_num_tokens(field)?;
        self.tokens.borrow_mut().insert(field, tokens);
        Ok(tokens)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.library.total_num_docs()
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        if let Some(known) = self.freqs.borrow().get(term) {
            return Ok(*known);
        }
        let freq = self.library.doc_freq(term)?;
        self.freqs.borrow_mut().insert(term.clone(), freq);
        Ok(freq)
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

/// Adds the values of an attribute that pass a test, in order, with the numbers of their documents.
fn values(
    reader: &SegmentReader,
    test: &ValueTest,
    found: &mut Vec<(u32, AttributeValue)>,
) -> Result<()> {
    let postings = reader
        .inverted_index(schema::attributes())
        .map_err(cannot("query"))?;
    for range in test.ranges() {
        let terms = postings.terms().range().ge(&range.start).lt(&range.end);
        let mut terms = terms.into_stream()?;
        while let Some((term, info)) = terms.next() {
            let Some(value) = test.pass(term) else {
                continue;
            };
            let mut docs = postings.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
            let mut doc = docs.doc();
            while doc != TERMINATED {
                found.push((doc, value.clone()));
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
