//! Reads all packs of a source, and reports damaged ones and guards that admit others.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;

use trawl_format::store::{Dir, if_there};
use trawl_format::{IndexDir, Source, guard_walk};
use trawl_grams::Identity;
use trawl_model::Timestamp;
use trawl_scan::WalkOptions;
use trawl_writer::verify::{Finding, Problem, Verified};
use trawl_writer::{PackKind, TextStore};

use super::rows;
use super::sink::{Covered, Covering, Feed, Finder, Place};
use crate::error::Result;
use crate::options::Control;

/// Guards by the names of directories that lead to them.
type Guards = HashMap<Vec<String>, Arc<Place>>;

/// Checks every byte of a source's packs against their hashes, that their lists are about their
/// documents, and the permissions of the guards. Needs no lock: packs that are replaced meanwhile are
/// left out.
///
/// # Errors
/// If a directory cannot be listed.
pub fn check(index: &IndexDir, source: &Source, done: &mut Verified) -> Result<()> {
    let mut guards = None;
    for kind in [PackKind::Grams, PackKind::Keywords] {
        let Some(top) = if_there(source.dir().open_dir(kind.directory()))? else {
            continue;
        };
        // The rows of a damaged index say nothing of guards.
        let known = match done.has_damage() {
            true => &Guards::new(),
            false => guards.get_or_insert_with(|| guards_of(index, source)),
        };
        check_packs(kind, (&top, known), done)?;
    }
    Ok(())
}

fn check_packs(kind: PackKind, (top, known): (&Dir, &Guards), done: &mut Verified) -> Result<()> {
    guard_walk::walk(top, &mut |components, dir| {
        if let Some(place) = known.get(components) {
            let wrong = TextStore::wrong_access(top, &place.guard)?;
            done.findings.extend(wrong.into_iter().map(|path| Finding {
                path,
                problem: Problem::Permissions,
            }));
        }
        for name in dir.list()? {
            if !name.ends_with(kind.ending()) {
                continue;
            }
            let Some(file) = if_there(dir.open_file(&name))? else {
                continue;
            };
            done.files += 1;
            done.size_bytes += file.metadata().map_or(0, |meta| meta.len());
            done.findings
                .extend(problem(kind, file).map(|problem| Finding {
                    path: dir.join(&name),
                    problem,
                }));
        }
        Ok(())
    })?;
    // Several guards lie behind one.
    done.findings.sort_by(|a, b| a.path.cmp(&b.path));
    done.findings.dedup();
    Ok(())
}

fn problem(kind: PackKind, file: File) -> Option<Problem> {
    match kind {
        PackKind::Grams => {
            let checked = trawl_grams::Pack::open(file).and_then(|pack| pack.check());
            checked.err().map(|error| Problem::Text(error.to_string()))
        }
        PackKind::Keywords => {
            let checked = trawl_keywords::Pack::open(file).and_then(|pack| pack.check());
            let problem = |error: trawl_keywords::KeywordsError| error.to_string();
            checked.err().map(problem).map(Problem::Keywords)
        }
        // They are checked by their definitions, in `crate::indices`.
        PackKind::Indices => None,
    }
}

/// Takes every file for one that a pack covers.
struct Nothing;

impl Covered for Nothing {
    fn cover(&mut self, _: &Arc<Place>, _: &Identity, _: &[u8]) -> Covering {
        Covering::Covered
    }
}

/// Returns the guards of the packs of the files that have rows; none if the root cannot be opened now.
fn guards_of(index: &IndexDir, source: &Source) -> Guards {
    let mut finder = Finder::new(source.root(), Nothing, u64::MAX);
    let never = AtomicBool::new(false);
    let control = Control {
        cancel: &never,
        clock: Timestamp::default,
    };
    let (sender, _) = sync_channel(0);
    let mut sink = Feed {
        finder: &mut finder,
        sender,
    };
    let options = WalkOptions::new(&never);
    let fed = rows::feed((index, source.root()), &options, &mut sink, control);
    let places = match fed {
        Ok(()) => finder.places(),
        Err(_) => Vec::new(),
    };
    let named = places.into_iter();
    named
        .map(|place| (place.components.clone(), place))
        .collect()
}
