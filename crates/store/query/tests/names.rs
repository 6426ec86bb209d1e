//! Searches by name give the right results with name sidecars, without them and
//! with damaged ones.

mod support;

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use support::{Random, Shape, Tree};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::Filter;
use trawl_model::guard::Credentials;
use trawl_model::need::{At, Letters, Literal, Need, Within};
use trawl_model::{Subtrees, path};
use trawl_query::{Event, Hit, Index, Listing, Located, NameRequest, Request, Start};

struct Written {
    tree: Tree,
    place: PathBuf,
    _dir: tempfile::TempDir,
}

fn written(seed: u64, shape: Shape) -> Written {
    let dir = tempfile::tempdir().unwrap();
    let tree = Tree::random(seed, "/srv/x", shape);
    let place = dir.path().join("index");
    tree.write(&place, &mut Random(seed ^ 7));
    Written {
        tree,
        place,
        _dir: dir,
    }
}

fn open(place: &Path) -> Index {
    Index::open(place, Credentials::default()).unwrap()
}

fn found(index: &Index, path: &[u8]) -> Start {
    match index.locate(path).unwrap() {
        Located::Found(start) => *start,
        other => panic!("{}: {other:?}", String::from_utf8_lossy(path)),
    }
}

/// A query: a literal, and how to search for it.
#[derive(Clone, Debug)]
struct Question {
    literal: Literal,
    /// True if the search is told that the literal is the whole test.
    is_told: bool,
    threads: usize,
}

impl Question {
    fn matches(&self, text: &[u8]) -> bool {
        let lower = text.to_ascii_lowercase();
        let text = match self.literal.letters {
            Letters::Exact => text,
            Letters::Folded => &lower,
        };
        let bytes = self.literal.bytes.as_slice();
        match self.literal.at {
            At::Anywhere => text.windows(bytes.len()).any(|window| window == bytes),
            At::Start => text.starts_with(bytes),
            At::End => text.ends_with(bytes),
            At::Whole => text == bytes,
        }
    }

    fn ask(&self, index: &Index, start: &Start, skip: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let test = |text: &[u8]| self.matches(text);
        let need = Need::Has(self.literal.clone());
        let is_exact = self.literal.letters == Letters::Exact;
        let skip: Subtrees = skip.iter().cloned().collect();
        let request = NameRequest {
            within: self.literal.within,
            need: &need,
            test: &test,
            literal: (self.is_told && is_exact).then_some(&self.literal),
            keep: None,
            skip: &skip,
            threads: NonZeroUsize::new(self.threads),
            cancel: None,
        };
        let (mut paths, mut dirs) = (Vec::new(), Vec::<Vec<u8>>::new());
        let mut emit = |event: Event<'_>| {
            if let Event::Hit(Hit { dir, name }) = event {
                paths.push(path::join(dir, name));
                dirs.push(dir.to_vec());
            }
            ControlFlow::Continue(())
        };
        index.search_names(start, &request, &mut emit).unwrap();
        assert!(dirs.is_sorted_by(|a, b| path::cmp(a, b).is_le()));
        let mut apart = BTreeSet::new();
        let add = |hit: Hit<'_>, list: &mut Vec<Vec<u8>>| list.push(path::join(hit.dir, hit.name));
        let join = |list: Vec<Vec<u8>>| {
            apart.extend(list);
            ControlFlow::Continue(())
        };
        index
            .search_names_apart(start, &request, add, join)
            .unwrap();
        assert_eq!(apart, paths.iter().cloned().collect());
        paths.sort();
        paths
    }

    /// Returns the expected results, computed from the tree.
    fn expected(&self, tree: &Tree, start: &[u8], skip: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut paths = Vec::new();
        for (dir, made) in tree.within(start) {
            for entry in &made.entries {
                let path = path::join(dir, &entry.name);
                let text = match self.literal.within {
                    Within::Name => &entry.name,
                    Within::Path => &path,
                };
                if self.matches(text) && !skip.iter().any(|out| path::is_within(&path, out)) {
                    paths.push(path);
                }
            }
        }
        paths.sort();
        paths
    }
}

fn any_question() -> impl Strategy<Value = (Question, u64)> {
    let within = proptest::sample::select(vec![Within::Name, Within::Path]);
    let at = proptest::sample::select(vec![At::Anywhere, At::Start, At::End, At::Whole]);
    let letters = proptest::sample::select(vec![Letters::Exact, Letters::Folded]);
    let seed = any::<u64>();
    (within, at, letters, any::<bool>(), 1usize..4, seed).prop_map(
        |(within, at, letters, is_told, threads, seed)| {
            let literal = Literal {
                bytes: Vec::new(),
                within,
                at,
                letters,
            };
            let question = Question {
                literal,
                is_told,
                threads,
            };
            (question, seed)
        },
    )
}

/// Takes the literal from some path of the tree.
fn filled(mut question: Question, tree: &Tree, random: &mut Random) -> Question {
    let dirs: Vec<_> = tree
        .dirs
        .iter()
        .filter(|dir| !dir.entries.is_empty())
        .collect();
    let dir = dirs[random.below(dirs.len() as u64) as usize];
    let entry = &dir.entries[random.below(dir.entries.len() as u64) as usize];
    let path = path::join(&dir.path, &entry.name);
    let text = match question.literal.within {
        Within::Name => entry.name.clone(),
        Within::Path => path,
    };
    let start = random.below(text.len() as u64) as usize;
    let end = (start + 1 + random.below(9) as usize).min(text.len());
    let mut bytes = match question.literal.at {
        At::Anywhere => text[start..end].to_vec(),
        At::Start => text[..end].to_vec(),
        At::End => text[start..].to_vec(),
        At::Whole => text,
    };
    if question.literal.letters == Letters::Folded {
        bytes.make_ascii_lowercase();
        // Case folding is known only for ASCII.
        if !bytes.is_ascii() {
            question.literal.letters = Letters::Exact;
            bytes = entry.name.clone();
            question.literal.at = At::End;
        }
    }
    question.literal.bytes = bytes;
    question
}

/// Returns the paths from a walk with the need as filter.
fn walked(index: &Index, start: &Start, question: &Question) -> Vec<Vec<u8>> {
    let request = Request {
        columns: ColumnSet::of(&[Column::Name]),
        filter: Filter::of_need(Need::Has(question.literal.clone())),
        ..Request::default()
    };
    let work = |listing: &Listing<'_>, out: &mut Vec<Vec<u8>>| {
        let names = listing.range.clone().map(|at| listing.batch.name.get(at));
        for name in names {
            let path = path::join(listing.dir.path, name);
            let text = match question.literal.within {
                Within::Name => name,
                Within::Path => &path,
            };
            if question.matches(text) {
                out.push(path);
            }
        }
    };
    let mut paths = Vec::new();
    let emit = |list: Vec<Vec<u8>>| {
        paths.extend(list);
        ControlFlow::Continue(())
    };
    index.walk(start, &request, work, emit).unwrap();
    paths.sort();
    paths
}

/// Returns all name sidecars of an index.
fn sidecars(place: &Path) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![place.to_owned()]);
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            match entry.file_type().unwrap().is_dir() {
                true => pending.push(path),
                false if path.extension().is_some_and(|e| e == "names") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

fn check(written: &Written, question: &Question, start: &[u8]) {
    let index = open(&written.place);
    let start = found(&index, start);
    let skip = match written.tree.dirs.get(3) {
        Some(dir) if question.is_told && start.path != dir.path => vec![dir.path.clone()],
        _ => Vec::new(),
    };
    let expected = question.expected(&written.tree, &start.path, &skip);
    assert_eq!(
        question.ask(&index, &start, &skip),
        expected,
        "{question:?}"
    );
    let expected = question.expected(&written.tree, &start.path, &[]);
    assert_eq!(walked(&index, &start, question), expected, "{question:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_search_finds_what_is_there(
        questions in proptest::collection::vec(any_question(), 3),
        seed: u64,
        large: bool,
    ) {
        let shape = match large {
            true => Shape { dirs: 12, entries: 300 },
            false => Shape { dirs: 60, entries: 20 },
        };
        let written = written(seed, shape);
        let mut random = Random(seed ^ 99);
        let ask_all = |random: &mut Random| {
            for (question, seed) in &questions {
                let question = filled(question.clone(), &written.tree, &mut Random(*seed));
                let dirs = &written.tree.dirs;
                let start = &dirs[random.below(dirs.len() as u64 * 2) as usize % dirs.len()].path;
                check(&written, &question, start);
                check(&written, &question, &written.tree.root);
            }
        };
        ask_all(&mut random);
        let names = sidecars(&written.place);
        // Damaged sidecars are treated as absent.
        for path in &names {
            let mut bytes = std::fs::read(path).unwrap();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
            }
            std::fs::write(path, bytes).unwrap();
        }
        ask_all(&mut random);
        names.iter().for_each(|path| std::fs::remove_file(path).unwrap());
        ask_all(&mut random);
    }
}

#[test]
fn a_search_may_end_early() {
    let written = written(
        5,
        Shape {
            dirs: 50,
            entries: 100,
        },
    );
    let index = open(&written.place);
    let start = found(&index, &written.tree.root);
    let (test, need) = (|_: &[u8]| true, Need::Nothing);
    for threads in [1, 3] {
        let request = NameRequest {
            within: Within::Path,
            need: &need,
            test: &test,
            literal: None,
            keep: None,
            skip: &Subtrees::new(),
            threads: NonZeroUsize::new(threads),
            cancel: None,
        };
        let mut left = 3;
        let mut emit = |event: Event<'_>| {
            left -= i32::from(matches!(event, Event::Hit(_)));
            match left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        index.search_names(&start, &request, &mut emit).unwrap();
        assert_eq!(left, 0);
    }
}
