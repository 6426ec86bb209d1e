//! Brings the packs of keywords of scanned sources up to date, and reports on it.

use std::path::Path;

use trawl_format::IndexDir;
use trawl_indexer::text::keywords::{KeywordsUpdated, update};
use trawl_indexer::{Job, ScanOptions, Scanner};
use trawl_text::units::{Scale, format};

use super::IndexArgs;
use super::progress::counted;
use super::scan::control;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::{Output, say};

/// Updates the packs of keywords of each source that has or shall have some.
pub(super) fn update_all(
    dir: &Path,
    jobs: Vec<Job>,
    (options, args): (&ScanOptions, &IndexArgs),
) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let control = control()?;
    let scanner = Scanner::new(&index, options, control)?;
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    for job in jobs {
        let root = job.root()?;
        let choice = args.keywords_choice();
        match update(&index, &root, (&scanner, choice), control) {
            Ok(Some(done)) if !args.quiet && !args.form.is_json() => {
                output.put(text(&root, &done))?;
            }
            Ok(_) => {}
            Err(error) => {
                let failure = Failure::from(error);
                say(&failure);
                exit = exit.and(failure.exit());
            }
        }
    }
    output.finish()?;
    Ok(exit)
}

/// Returns two lines for people.
fn text(root: &[u8], done: &KeywordsUpdated) -> String {
    let bytes = |bytes: u64| format(u128::from(bytes), Scale::Binary);
    format!(
        "{}: keywords of {}, {}\n  {} read ({}) in {}.{:02} s, {} not settled\n",
        shown(root),
        counted(done.files, "file"),
        bytes(done.size_bytes),
        done.read.0,
        bytes(done.read.1),
        done.elapsed.as_secs(),
        done.elapsed.subsec_millis() / 10,
        done.unsettled,
    )
}
