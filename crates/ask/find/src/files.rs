//! The files that `-fprint` and related actions write to.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;

use trawl_model::sync::lock;
use trawl_text::quote::Terminal;

use crate::environment::Environment;
use crate::output::Sink;
use crate::reference::error_text;

/// A file that is written to during the search.
#[derive(Debug)]
pub struct OutputFile {
    /// The path as it was spelled.
    pub path: Vec<u8>,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stderr,
    File(Mutex<Writing>),
}

/// An open file. The first error is kept, and reported at the end.
#[derive(Debug)]
struct Writing {
    file: io::BufWriter<File>,
    trouble: Option<String>,
}

impl Writing {
    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.trouble.get_or_insert_with(|| error_text(&error));
        }
    }
}

impl OutputFile {
    /// Device and inode number, if it is a file.
    fn id(&self) -> Option<(u64, u64)> {
        match &self.target {
            Target::Stderr => None,
            Target::File(writing) => {
                let meta = lock(writing).file.get_ref().metadata();
                meta.ok().map(|meta| id_of(&meta))
            }
        }
    }

    /// Writes `bytes`. The first error of a file is kept
    /// ([`OutputFile::trouble`]).
    pub fn write(&self, bytes: &[u8], errors: &mut dyn Write) {
        match &self.target {
            // A failure to write to standard error does not stop the search.
            Target::Stderr => drop(errors.write_all(bytes)),
            Target::File(writing) => {
                let writing = &mut *lock(writing);
                if writing.trouble.is_none() {
                    let done = writing.file.write_all(bytes);
                    writing.note(done);
                }
            }
        }
    }

    /// Flushes the buffer.
    pub fn flush(&self) {
        if let Target::File(writing) = &self.target {
            let writing = &mut *lock(writing);
            if writing.trouble.is_none() {
                let done = writing.file.flush();
                writing.note(done);
            }
        }
    }

    /// The first error of writing, as text of strerror(3).
    pub fn trouble(&self) -> Option<String> {
        match &self.target {
            Target::Stderr => None,
            Target::File(writing) => lock(writing).trouble.clone(),
        }
    }
}

/// Returns the sink for a path; paths of the same file have the same sink. The
/// file is created or truncated at once. `/dev/stdout` and `/dev/stderr` stand
/// for the program's own streams.
///
/// # Errors
/// Why the file cannot be opened for writing, as text of strerror(3).
pub fn sink(files: &mut Vec<OutputFile>, path: &[u8], env: &Environment) -> Result<Sink, String> {
    if path == b"/dev/stdout" {
        return Ok(Sink::Stdout);
    }
    let id = identity(path);
    let is_known = |file: &OutputFile| file.path == path || id.is_some() && file.id() == id;
    let number = match files.iter().position(is_known) {
        Some(number) => number,
        None => {
            let target = match path {
                b"/dev/stderr" => Target::Stderr,
                _ => open(path)?,
            };
            files.push(OutputFile {
                path: path.to_vec(),
                target,
            });
            files.len() - 1
        }
    };
    let watched = match &files[number].target {
        Target::Stderr => trawl_sys::process::is_terminal(io::stderr()),
        Target::File(file) => trawl_sys::process::is_terminal(lock(file).file.get_ref()),
    };
    Ok(Sink::File(
        number,
        match watched {
            true => Terminal::Watched(env.locale),
            false => Terminal::Absent,
        },
    ))
}

fn identity(path: &[u8]) -> Option<(u64, u64)> {
    let found = std::fs::metadata(OsStr::from_bytes(path));
    found.ok().map(|meta| id_of(&meta))
}

fn id_of(meta: &std::fs::Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

fn open(path: &[u8]) -> Result<Target, String> {
    let file = File::create(OsStr::from_bytes(path)).map_err(|error| error_text(&error))?;
    Ok(Target::File(Mutex::new(Writing {
        file: io::BufWriter::new(file),
        trouble: None,
    })))
}
