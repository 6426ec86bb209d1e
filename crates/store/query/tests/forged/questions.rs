//! The queries to run on an index with forged files. Each must end with an
//! answer or an error.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use trawl_model::column::ColumnSet;
use trawl_model::guard::Credentials;
use trawl_query::{
    Detail, DirRequest, DuplicateRequest, Index, Listing, Located, Order, RankBy, RankEnd,
    RankRequest, Ranked, Request, Result, SeenLinks, StatsRequest, Trait, UsageRequest,
};

/// Start paths of queries, below the root.
pub const PLACES: [&[u8]; 5] = [b"", b"/a/b", b"/private", b"/d/again", b"/d/absent"];

/// Queries an index at this path about a stored path.
pub type Question = fn(&Path, &[u8]) -> Result<()>;

/// All queries.
pub const QUESTIONS: [Question; 6] = [list, sum, count, group, rank, pair];

fn list(index: &Path, path: &[u8]) -> Result<()> {
    let index = Index::open(index, Credentials::default())?;
    let Located::Found(start) = index.locate(path)? else {
        return Ok(());
    };
    for order in [Order::Forward, Order::Backward] {
        let request = Request {
            columns: ColumnSet::all(),
            order,
            threads: NonZeroUsize::new(1),
            ..Request::default()
        };
        let work = |listing: &Listing<'_>, bytes: &mut usize| {
            for at in listing.range.clone() {
                *bytes += listing.batch.name.get(at).len() + listing.dir.path.len();
            }
        };
        index.walk(&start, &request, work, |_| ControlFlow::Continue(()))?;
    }
    Ok(())
}

fn sum(index: &Path, path: &[u8]) -> Result<()> {
    let index = Index::open(index, Credentials::default())?;
    let Located::Found(start) = index.locate(path)? else {
        return Ok(());
    };
    index.totals(&start)?;
    for detail in [Detail::Directories, Detail::Everything] {
        let request = UsageRequest {
            detail,
            ..UsageRequest::default()
        };
        index.usage(&start, &request, &mut SeenLinks::new(), |_| {
            ControlFlow::Continue(())
        })?;
    }
    Ok(())
}

fn count(index: &Path, path: &[u8]) -> Result<()> {
    let index = Index::open(index, Credentials::default())?;
    let Located::Found(start) = index.locate(path)? else {
        return Ok(());
    };
    index.directories(
        &start,
        &DirRequest::default(),
        |_| ControlFlow::Continue(()),
    )?;
    index.issues(&start, None)?;
    Ok(())
}

fn group(index: &Path, path: &[u8]) -> Result<()> {
    let index = Index::open(index, Credentials::default())?;
    let Located::Found(start) = index.locate(path)? else {
        return Ok(());
    };
    let request = StatsRequest {
        traits: &[Trait::Type, Trait::Extension, Trait::Depth],
        threads: NonZeroUsize::new(1),
        ..StatsRequest::default()
    };
    index.stats(&start, &request).map(drop)
}

fn rank(index: &Path, path: &[u8]) -> Result<()> {
    let index = Index::open(index, Credentials::default())?;
    let Located::Found(start) = index.locate(path)? else {
        return Ok(());
    };
    let request = RankRequest {
        by: RankBy::Size,
        end: RankEnd::Greatest,
        of: Ranked::Everything,
        limit: 3,
        columns: ColumnSet::all(),
        test: None,
        threads: NonZeroUsize::new(1),
        cancel: None,
    };
    let found = index.ranked(&start, &request)?.into_iter();
    let paths: Vec<Vec<u8>> = found.map(|entry| entry.path).collect();
    index.locate_all(&paths, ColumnSet::all())?;
    index.fullest(&start, 3, None).map(drop)
}

fn pair(index: &Path, path: &[u8]) -> Result<()> {
    let index = Index::open(index, Credentials::default())?;
    let Located::Found(start) = index.locate(path)? else {
        return Ok(());
    };
    let request = DuplicateRequest {
        threads: NonZeroUsize::new(1),
        ..DuplicateRequest::default()
    };
    index.duplicates(&start, &request, |_| ControlFlow::Continue(()))
}
