//! Brings the packs of keywords of scanned sources up to date, and reports on it.

use std::path::Path;

use trawl_format::{IndexDir, Source};
use trawl_indexer::text::Effort;
use trawl_indexer::text::keywords::{KeywordsChoice, KeywordsUpdated, Making, update};
use trawl_indexer::{Job, ScanOptions, Scanner};
use trawl_scan::Xattrs;
use trawl_text::units::{Scale, format};

use super::IndexArgs;
use super::after_scan::update_each;
use super::progress::counted;
use super::scan::control;
use crate::documents;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::{Output, say};

/// The option of a snapshot that was made from a trace.
const FROM_TRACE: &str = "from-trace";

/// Updates the packs of keywords of each source that has or shall have some.
pub(super) fn update_all(
    dir: &Path,
    jobs: Vec<Job>,
    (options, args): (&ScanOptions, &IndexArgs),
) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let control = control()?;
    let scanner = Scanner::new(&index, options, control)?;
    let making = Making {
        choice: args.keywords_choice(),
        effort: Effort::Full,
        documents: documents::loaded()?,
    };
    let is_shown = !args.quiet && !args.form.is_json();
    update_each(jobs, |root| {
        let Some(done) = update(&index, root, (&scanner, &making), control)? else {
            return Ok((None, Exit::Complete));
        };
        let exit = tell_issues(&done);
        Ok((is_shown.then(|| text(root, &done)), exit))
    })
}

/// Makes the packs of keywords of a scanned source, under the conditions of its last scan. They are
/// kept up to date from now on. Reports on it in two lines unless `output` is `None`.
pub(super) fn make(
    index: &IndexDir,
    source: &Source,
    output: Option<&mut Output>,
) -> Result<Exit, Failure> {
    let last = source.snapshots()?.pop().map(|info| info.options);
    let last = last.unwrap_or_default();
    if last.contains_key(FROM_TRACE) {
        let root = shown(source.root());
        return Err(Failure::Usage(format!(
            "{root} was indexed from a trace: the contents of its files are not known"
        )));
    }
    let control = control()?;
    let options = ScanOptions::again(&last, &[], Xattrs::default());
    let scanner = Scanner::new(index, &options, control)?;
    let making = Making {
        choice: KeywordsChoice::Wanted,
        effort: Effort::Full,
        documents: documents::loaded()?,
    };
    let done = update(index, source.root(), (&scanner, &making), control)?;
    let Some(done) = done else {
        return Ok(Exit::Complete);
    };
    let exit = tell_issues(&done);
    if let Some(output) = output {
        output.put(text(source.root(), &done))?;
    }
    Ok(exit)
}

/// Names the files that were read and of which something is not known.
fn tell_issues(done: &KeywordsUpdated) -> Exit {
    for issue in &done.issues {
        let path = shown(&issue.path);
        say(format_args!("{path}: {}", issue.reason));
    }
    Exit::from_issues(done.incomplete + done.issues.len() as u64)
}

/// Returns two lines for people.
fn text(root: &[u8], done: &KeywordsUpdated) -> String {
    let bytes = |bytes: u64| format(u128::from(bytes), Scale::Binary);
    let incomplete = match done.incomplete {
        0 => String::new(),
        files => format!(", {files} incomplete"),
    };
    format!(
        "{}: keywords of {}, {}\n  {} read ({}), {} moved in {}.{:02} s, {} not settled{}\n",
        shown(root),
        counted(done.files, "file"),
        bytes(done.size_bytes),
        done.read.0,
        bytes(done.read.1),
        done.moved,
        done.elapsed.as_secs(),
        done.elapsed.subsec_millis() / 10,
        done.unsettled,
        incomplete,
    )
}
