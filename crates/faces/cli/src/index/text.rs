//! Brings the packs of n-grams of scanned sources up to date, and reports on it.

use std::path::Path;

use trawl_format::IndexDir;
use trawl_indexer::text::{Effort, TextUpdated, update};
use trawl_indexer::{Job, ScanOptions, Scanner};
use trawl_text::units::{Scale, format};

use super::IndexArgs;
use super::after_scan::update_each;
use super::progress::counted;
use super::scan::control;
use crate::exit::Exit;
use crate::failure::{Failure, shown};

/// Updates the packs of each source that has or shall have some.
pub(super) fn update_all(
    dir: &Path,
    jobs: Vec<Job>,
    (options, args): (&ScanOptions, &IndexArgs),
) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let control = control()?;
    let scanner = Scanner::new(&index, options, control)?;
    let is_shown = !args.quiet && !args.form.is_json();
    update_each(jobs, |root| {
        let how = (&scanner, args.text_choice(), Effort::Full);
        let done = update(&index, root, how, control)?.filter(|_| is_shown);
        Ok((done.map(|done| text(root, &done)), Exit::Complete))
    })
}

/// Returns two lines for people.
fn text(root: &[u8], done: &TextUpdated) -> String {
    let bytes = |bytes: u64| format(u128::from(bytes), Scale::Binary);
    format!(
        "{}: text of {}, {}\n  {} read ({}) in {}.{:02} s, {} too large, {} not settled\n",
        shown(root),
        counted(done.files, "file"),
        bytes(done.size_bytes),
        done.read.0,
        bytes(done.read.1),
        done.elapsed.as_secs(),
        done.elapsed.subsec_millis() / 10,
        done.left_out,
        done.unsettled,
    )
}
