//! Files that `du` reads: patterns of paths to leave out, and names of paths.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_answers::du::Excluded;

use crate::failure::Failure;

/// Returns the given patterns and those in the lines of files.
pub(crate) fn excluded(given: &[OsString], files: &[PathBuf]) -> Result<Excluded, Failure> {
    let texts = files.iter().map(|file| contents(file));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let lines = texts.iter().flat_map(|text| text.split(|b| *b == b'\n'));
    let lines = lines.map(<[u8]>::trim_ascii_end);
    let lines = lines.filter(|line| !line.is_empty());
    let given = given.iter().map(|text| text.as_bytes());
    Ok(Excluded::new(given.chain(lines)))
}

/// Returns the content of a file, or of standard input if it is `-`.
pub(crate) fn contents(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => std::fs::read(file).map(|read| bytes = read),
    };
    read.map(|()| bytes).map_err(|source| Failure::File {
        action: "read",
        path: file.to_owned(),
        source,
    })
}
