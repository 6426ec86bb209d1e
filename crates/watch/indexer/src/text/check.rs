//! Reads all packs of a source and reports damaged ones.

use trawl_format::store::if_there;
use trawl_format::{Source, guard_walk, layout};
use trawl_grams::{GramsError, Pack};
use trawl_writer::verify::{Finding, Problem, Verified};

use crate::error::Result;

/// Checks every byte of a source's packs against their hashes. Needs no lock: packs that are
/// replaced meanwhile are left out.
///
/// # Errors
/// If a directory cannot be listed.
pub fn check(source: &Source, done: &mut Verified) -> Result<()> {
    let Some(top) = if_there(source.dir().open_dir(layout::TEXT))? else {
        return Ok(());
    };
    guard_walk::walk(&top, &mut |_, dir| {
        for name in dir.list()? {
            if !name.ends_with(layout::GRAMS_ENDING) {
                continue;
            }
            let Some(file) = if_there(dir.open_file(&name))? else {
                continue;
            };
            done.files += 1;
            done.size_bytes += file.metadata().map_or(0, |meta| meta.len());
            let checked = Pack::open(file).and_then(|pack| pack.check());
            done.findings.extend(checked.err().map(|error| Finding {
                path: dir.join(&name),
                problem: problem(&error),
            }));
        }
        Ok(())
    })?;
    Ok(())
}

fn problem(error: &GramsError) -> Problem {
    Problem::Text(error.to_string())
}
