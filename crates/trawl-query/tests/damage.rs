//! Damages files of an index. Queries must return either an error that names
//! the file or the right answer, and never panic.

mod support;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use support::{Random, Shape, Tree, made_of};
use trawl_model::column::ColumnSet;
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_query::{
    DirRequest, DuplicateRequest, Index, LinkCount, Listing, Located, QueryError, RankBy, RankEnd,
    RankRequest, Ranked, Request, SeenLinks, Start, StatsRequest, Trait, UsageRequest,
};

/// Runs all queries and returns their answers as one text.
fn answers(index: &Path, root: &[u8], child: &[u8]) -> Result<String, QueryError> {
    let index = Index::open(index, Credentials::default())?;
    let mut out = String::new();
    for path in [root, child] {
        let start = match index.locate(path)? {
            Located::Found(start) => start,
            other => {
                out.push_str(&format!("{other:?}\n"));
                continue;
            }
        };
        let request = Request {
            columns: ColumnSet::all(),
            ..Request::default()
        };
        let work = |listing: &Listing<'_>, out: &mut String| {
            for at in listing.range.clone() {
                let (batch, dir) = (listing.batch, listing.dir.path);
                out.push_str(&format!("{dir:?} {:?}\n", made_of(&Row { batch, at, dir })));
            }
        };
        index.walk(&start, &request, work, |part: String| {
            out.push_str(&part);
            ControlFlow::Continue(())
        })?;
        index.directories(&start, &DirRequest::default(), |directory| {
            out.push_str(&format!("{:?} {:?}\n", directory.path, directory.sums));
            ControlFlow::Continue(())
        })?;
        let usage = UsageRequest::default();
        let total = index.usage(&start, &usage, &mut SeenLinks::new(), |_| {
            ControlFlow::Continue(())
        })?;
        out.push_str(&format!("{total:?} {:?}", index.totals(&start)?));
        out.push_str(&format!("{:?}\n", index.issues(&start, None)?));
        summaries(&index, &start, &mut out)?;
    }
    Ok(out)
}

/// Appends the answers of queries that scan columns or search for few rows
/// among many.
fn summaries(index: &Index, start: &Start, out: &mut String) -> Result<(), QueryError> {
    let request = StatsRequest {
        traits: &[Trait::Size, Trait::NameLength, Trait::Depth],
        links: LinkCount::Once,
        ..StatsRequest::default()
    };
    let stats = index.stats(start, &request)?;
    out.push_str(&format!(
        "{:?} {:?} {:?}\n",
        stats.whole, stats.sizes, stats.depths
    ));
    let request = RankRequest {
        by: RankBy::Modified,
        end: RankEnd::Greatest,
        of: Ranked::Everything,
        limit: 5,
        columns: ColumnSet::all(),
        test: None,
        threads: None,
        cancel: None,
    };
    let mut paths = Vec::new();
    for entry in index.ranked(start, &request)? {
        out.push_str(&format!("{:?} {:?}\n", entry.path, made_of(&entry.row())));
        paths.push([&entry.path[..], b"/x"].concat());
        paths.push(entry.path);
    }
    for located in index.locate_all(&paths, ColumnSet::all())? {
        let Located::Found(start) = located else {
            out.push_str("not there\n");
            continue;
        };
        out.push_str(&format!("{:?}\n", made_of(&start.own_row())));
    }
    index.duplicates(start, &DuplicateRequest::default(), |group| {
        group
            .iter()
            .for_each(|entry| out.push_str(&format!("{:?}\n", entry.path)));
        ControlFlow::Continue(())
    })
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}

/// Damages each file in turn, about `wanted` times in all.
fn damage_each(wanted: usize, mut damage: impl FnMut(&mut Vec<u8>, &mut Random)) -> (usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("index");
    let shape = Shape {
        dirs: 40,
        entries: 25,
    };
    let tree = Tree::random(77, "/r", shape);
    tree.write(&place, &mut Random(4));
    let child = tree.dirs[tree.dirs.len() / 2].path.clone();
    let packed = answers(&place, &tree.root, &child).unwrap();
    let mut files = Vec::new();
    files_below(&place, &mut files);
    files.sort();
    // The pack would replace the manifests and the list of shards.
    let is_pack = |file: &PathBuf| file.extension().is_some_and(|end| end == "pack");
    let pack = files.iter().position(is_pack).expect("a pack");
    std::fs::remove_file(files.remove(pack)).unwrap();
    let right = answers(&place, &tree.root, &child).unwrap();
    assert!(packed == right, "the pack says something else");
    let rounds = (wanted / files.len()).max(1);
    let mut random = Random(1);
    let (mut errors, mut tries) = (0, 0);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        if bytes.is_empty() {
            continue;
        }
        for _ in 0..rounds {
            let mut damaged = bytes.clone();
            damage(&mut damaged, &mut random);
            std::fs::write(&file, &damaged).unwrap();
            tries += 1;
            match answers(&place, &tree.root, &child) {
                Ok(answer) => {
                    let lines = answer.lines().zip(right.lines());
                    let other = lines.into_iter().find(|(a, b)| a != b);
                    let name = file.display();
                    assert!(answer == right, "{name} gave another answer: {other:?}");
                }
                Err(error) => {
                    errors += 1;
                    let name = file.file_name().unwrap().to_str().unwrap();
                    assert!(error.to_string().contains(name), "{name}: {error}");
                }
            }
        }
        std::fs::write(&file, &bytes).unwrap();
    }
    (errors, tries)
}

#[test]
fn a_flipped_bit_anywhere_is_named_or_harmless() {
    let (errors, tries) = damage_each(600, |bytes, random| {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
    });
    assert!(tries > 300 && errors > tries / 3, "{errors} of {tries}");
}

#[test]
fn a_cut_anywhere_is_named() {
    let (errors, tries) = damage_each(100, |bytes, random| {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
    });
    assert!(errors > tries / 2, "{errors} of {tries}");
}
