//! Makes packs: from documents, or from other packs.

use std::path::{Path, PathBuf};

use tantivy::directory::RamDirectory;
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};
use tantivy::index::SegmentComponent;
use tantivy::indexer::merge_filtered_segments;
use tantivy::{
    BitSet, Directory, Index, Segment, SingleSegmentIndexWriter, TantivyDocument, directory,
};
use trawl_grams::DocId;

use crate::attribute::terms_of;
use crate::directory::PackFiles;
use crate::document::Document;
use crate::error::{KeywordsError, Result, cannot};
use crate::pack::{Listed, Pack, encode};
use crate::schema;
use crate::sidecar::{self, Origin, Sidecars};

/// Maximum number of documents of a pack.
pub const DOCS_MAX: usize = 1 << 17;
/// Memory for postings of a pack, by which Tantivy sizes its tables at the beginning.
const MEMORY_BYTES: usize = 32 << 20;
const META: &str = "meta.json";
/// The files of a segment that readers open.
const COMPONENTS: [SegmentComponent; 6] = [
    SegmentComponent::Terms,
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::FieldNorms,
    SegmentComponent::FastFields,
    SegmentComponent::Store,
];

/// Collects documents.
pub struct Builder {
    writer: SingleSegmentIndexWriter,
    files: RamDirectory,
    fingerprint: u64,
    docs: Vec<Listed>,
    beside: Sidecars,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Builder({} documents)", self.docs.len())
    }
}

impl Builder {
    /// Creates an empty builder for documents of a source with this fingerprint.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn new(fingerprint: u64) -> Result<Builder> {
        let files = RamDirectory::create();
        let writer = Index::builder()
            .schema(schema::schema())
            .settings(schema::settings())
            .tokenizers(schema::tokenizers())
            .single_segment_index_writer(files.clone(), MEMORY_BYTES)
            .map_err(cannot("make"))?;
        Ok(Builder {
            writer,
            files,
            fingerprint,
            docs: Vec::new(),
            beside: Sidecars::default(),
        })
    }

    /// Adds a document. `still_id` is the identity that stays when the file is moved
    /// ([`crate::Documents::still_id`]).
    ///
    /// # Errors
    /// If it cannot be added.
    pub fn add(&mut self, id: DocId, still_id: u64, document: &Document) -> Result<()> {
        let mut fields = TantivyDocument::new();
        if !document.text.is_empty() {
            fields.add_text(schema::text(), &document.text);
        }
        let mut terms = terms_of(document);
        terms.sort_unstable();
        terms.dedup();
        for term in &terms {
            fields.add_bytes(schema::attributes(), term);
        }
        self.writer.add_document(fields).map_err(cannot("add"))?;
        self.docs.push(Listed {
            id,
            gaps: document.gaps,
        });
        let origin = Origin {
            still_id,
            content_hash: document.content_hash,
        };
        self.beside.push(origin, &document.references)
    }

    /// Number of documents.
    pub fn docs(&self) -> usize {
        self.docs.len()
    }

    /// Memory in use, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let docs = self.docs.len() * size_of::<Listed>();
        self.writer.mem_usage() + docs + self.beside.memory_bytes()
    }

    /// Returns the bytes of the pack.
    ///
    /// # Errors
    /// If postings cannot be made.
    pub fn finish(self) -> Result<Vec<u8>> {
        let index = self.writer.finalize().map_err(cannot("finish"))?;
        packed(
            &index,
            &self.files,
            (self.fingerprint, &self.docs),
            self.beside,
        )
    }
}

/// Returns the bytes of a pack with some documents of other packs: those that `stays` is true of, by
/// their numbers. `None` if there are none.
///
/// # Errors
/// If a pack is damaged.
pub fn merge(packs: &[(Pack, Vec<bool>)]) -> Result<Option<Vec<u8>>> {
    let with_ids = |(pack, stays): &(Pack, Vec<bool>)| {
        let docs = pack.docs().iter().zip(stays);
        let ids = docs.map(|(doc, stays)| stays.then_some(doc.id)).collect();
        (pack.clone(), ids)
    };
    let packs: Vec<(Pack, Vec<Option<DocId>>)> = packs.iter().map(with_ids).collect();
    merge_as(&packs)
}

/// Returns the bytes of a pack with some documents of other packs, each with the identity that it has
/// now. Documents without one are left out. `None` if there are none.
///
/// # Errors
/// If a pack is damaged, or packs are of different sources.
pub fn merge_as(packs: &[(Pack, Vec<Option<DocId>>)]) -> Result<Option<Vec<u8>>> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut alive = Vec::new();
    let (mut docs, mut beside) = (Vec::new(), Sidecars::default());
    let fingerprint = packs.first().map_or(0, |(pack, _)| pack.fingerprint());
    for (pack, ids) in packs {
        if pack.fingerprint() != fingerprint {
            return Err(KeywordsError::Hooks);
        }
        let mut bits = BitSet::with_max_value(pack.docs().len() as u32);
        let old = sidecar::read(pack)?;
        for ((doc, number), id) in pack.docs().iter().zip(0u32..).zip(ids) {
            if let Some(id) = *id {
                bits.insert(number);
                let gaps = doc.gaps;
                docs.push(Listed { id, gaps });
                beside.absorb(&old, number)?;
            }
        }
        let mut bytes = Vec::new();
        write_alive_bitset(&bits, &mut bytes)?;
        alive.push(Some(AliveBitSet::open(directory::OwnedBytes::new(bytes))));
        segments.push(segment_of(&open(pack)?, pack)?);
    }
    if docs.is_empty() {
        return Ok(None);
    }
    let files = RamDirectory::create();
    let merged = guarded(|| {
        let files: Box<dyn Directory> = Box::new(files.clone());
        merge_filtered_segments(&segments, schema::settings(), alive, files)
            .map_err(cannot("merge"))
    })?;
    packed(&merged, &files, (fingerprint, &docs), beside).map(Some)
}

/// Opens the postings of a pack.
pub(crate) fn open(pack: &Pack) -> Result<Index> {
    let index = Index::open(PackFiles(pack.clone())).map_err(cannot("open"))?;
    match index.schema() == schema::schema() {
        true => Ok(index),
        false => Err(KeywordsError::Damaged("its fields are others")),
    }
}

/// Returns the only segment of a pack.
fn segment_of(index: &Index, pack: &Pack) -> Result<Segment> {
    let mut segments = index.searchable_segments().map_err(cannot("open"))?;
    match (segments.pop(), segments.is_empty()) {
        (Some(segment), true) if segment.meta().max_doc() as usize == pack.docs().len() => {
            Ok(segment)
        }
        _ => Err(KeywordsError::Damaged(
            "its postings are of other documents",
        )),
    }
}

/// Runs `work` on bytes that may be damaged: a panic of Tantivy becomes an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or(Err(KeywordsError::Damaged("its postings make no sense")))
}

/// Puts the files of an index with one segment into a pack.
fn packed(
    index: &Index,
    files: &RamDirectory,
    (fingerprint, docs): (u64, &[Listed]),
    beside: Sidecars,
) -> Result<Vec<u8>> {
    // A merge notes there which segments it was made from.
    let mut meta = index.load_metas().map_err(cannot("finish"))?;
    meta.payload = None;
    let meta = serde_json::to_vec(&meta).map_err(std::io::Error::from)?;
    let mut names: Vec<PathBuf> = Vec::new();
    for segment in index.searchable_segment_metas().map_err(cannot("finish"))? {
        let path = |component: &SegmentComponent| segment.relative_path(component.clone());
        names.extend(COMPONENTS.iter().map(path));
    }
    let mut contents = vec![(META.to_owned(), meta)];
    for name in &names {
        if files.exists(name).map_err(cannot("finish"))? {
            let bytes = whole(files, name)?;
            contents.push((name.to_string_lossy().into_owned(), bytes));
        }
    }
    contents.extend(beside.finish());
    encode(fingerprint, docs, &contents)
}

fn whole(files: &RamDirectory, name: &Path) -> Result<Vec<u8>> {
    let file = files.open_read(name).map_err(cannot("finish"))?;
    Ok(file.read_bytes()?.to_vec())
}
