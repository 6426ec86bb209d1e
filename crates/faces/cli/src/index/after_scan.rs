//! What is brought up to date for each scanned source after the scan: packs of n-grams and keywords,
//! named indices.

use trawl_indexer::Job;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, say};

/// Brings something up to date for each source, by its root, and prints the lines that `update`
/// returns. A failure is reported and does not keep other sources from being updated.
pub(super) fn update_each(
    jobs: Vec<Job>,
    mut update: impl FnMut(&[u8]) -> Result<(Option<String>, Exit), Failure>,
) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    for job in jobs {
        match update(&job.root()?) {
            Ok((lines, of_source)) => {
                exit = exit.and(of_source);
                if let Some(lines) = lines {
                    output.put(lines)?;
                }
            }
            Err(failure) => {
                say(&failure);
                exit = exit.and(failure.exit());
            }
        }
    }
    output.finish()?;
    Ok(exit)
}
