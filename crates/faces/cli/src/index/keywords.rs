//! Brings the packs of keywords of scanned sources up to date, and reports on it.

use std::path::Path;

use trawl_format::IndexDir;
use trawl_indexer::text::Effort;
use trawl_indexer::text::keywords::{KeywordsUpdated, Making, update};
use trawl_indexer::{Job, ScanOptions, Scanner};
use trawl_text::units::{Scale, format};

use super::IndexArgs;
use super::progress::counted;
use super::scan::control;
use crate::documents;
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
    let making = Making {
        choice: args.keywords_choice(),
        effort: Effort::Full,
        documents: documents::loaded()?,
    };
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    for job in jobs {
        let root = job.root()?;
        match update(&index, &root, (&scanner, &making), control) {
            Ok(Some(done)) => {
                exit = exit.and(Exit::from_issues(
                    done.incomplete + done.issues.len() as u64,
                ));
                tell_issues(&done);
                if !args.quiet && !args.form.is_json() {
                    output.put(text(&root, &done))?;
                }
            }
            Ok(None) => {}
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

/// Names the files that were read and of which something is not known.
fn tell_issues(done: &KeywordsUpdated) {
    for issue in &done.issues {
        let path = shown(&issue.path);
        say(format_args!("{path}: {}", issue.reason));
    }
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
