//! An engine that is another program, so that a library can expand queries without containing the
//! engines.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use trawl_call::request::Cancel;
use trawl_sys::child::SignalMask;

use super::process::{Process, Records};
use super::{Engine, directory_of};
use crate::member::{Op, Problem};
use crate::name::{SetName, is_url};
use crate::source::{Found, Names};

/// Runs `program arguments… NAME` for each query, where NAME is the set pathname of the query. The
/// program prints the names, each followed by a NUL byte: `trawl set -0`.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
    mask: SignalMask,
}

impl Program {
    /// Creates an engine that runs this program with these arguments before the name. `PATH` is not
    /// searched.
    ///
    /// # Errors
    /// Fails for a path that is not absolute.
    pub fn new(path: impl Into<PathBuf>, arguments: Vec<OsString>) -> io::Result<Program> {
        let path = path.into();
        match path.is_absolute() {
            true => Ok(Program {
                path,
                arguments,
                mask: SignalMask::current(),
            }),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "give the absolute path of the program that evaluates queries",
            )),
        }
    }
}

impl Engine for Program {
    /// Returns true where there is an object: only the program knows its kind.
    fn accepts(&self, prefix: &[u8]) -> bool {
        is_url(prefix) || Path::new(OsStr::from_bytes(prefix)).exists()
    }

    fn run(&self, prefix: &[u8], query: &[u8], _: &Cancel) -> Result<Box<dyn Names>, Problem> {
        let problem = |source| Problem {
            name: prefix.to_vec(),
            op: Op::Expand,
            source,
        };
        let object = match is_url(prefix) {
            true => prefix.to_vec(),
            false => std::path::absolute(OsStr::from_bytes(prefix))
                .map_err(problem)?
                .into_os_string()
                .into_vec(),
        };
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        command.arg(OsString::from_vec(query_name(&object, query)));
        let process = Process::start(command, Records::Nul, self.mask).map_err(problem)?;
        let mut folder = directory_of(&object);
        if !folder.ends_with(b"/") {
            folder.push(b'/');
        }
        Ok(Box::new(Output {
            process,
            folder,
            prefix: prefix.to_vec(),
        }))
    }
}

/// Returns the set pathname of a query on an object.
fn query_name(object: &[u8], query: &[u8]) -> Vec<u8> {
    let mut name = SetName::literal(object);
    name.extend_from_slice(if name.ends_with(b"/") { b"\\" } else { b"/\\" });
    for byte in query {
        name.push(*byte);
        if *byte == b'\\' {
            name.push(b'\\');
        }
    }
    name.push(b'\\');
    name
}

struct Output {
    process: Process,
    /// Directory of the object, with a slash: names in it are returned relative to it.
    folder: Vec<u8>,
    prefix: Vec<u8>,
}

impl Names for Output {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        let name = self.process.next_name(cancel)?;
        Some(match name {
            Ok(name) => {
                let below = name
                    .strip_prefix(&self.folder[..])
                    .filter(|n| !n.is_empty());
                Ok(Found::named(below.unwrap_or(&name)))
            }
            Err(source) => Err(Problem {
                name: self.prefix.clone(),
                op: Op::Expand,
                source,
            }),
        })
    }
}
