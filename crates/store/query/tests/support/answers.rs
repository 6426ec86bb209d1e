//! Asks an index everything that a test can compare as one text.

use super::made_of;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use trawl_model::column::ColumnSet;
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_query::{
    DirRequest, DuplicateRequest, Index, LinkCount, Listing, Located, QueryError, RankBy, RankEnd,
    RankRequest, Ranked, Request, SeenLinks, Start, StatsRequest, Trait, UsageRequest,
};

/// Runs all queries and returns their answers as one text.
pub fn answers(index: &Path, root: &[u8], child: &[u8]) -> Result<String, QueryError> {
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

/// Collects the files below a directory.
pub fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}
