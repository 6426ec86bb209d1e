//! Users' hooks that are WebAssembly modules: compiles one, gives up this process's rights, and runs
//! it on standard input.
//!
//! | module | contents |
//! |---|---|
//! | `machine` | compiling and running, within bounds |
//! | `system` | the functions of WASI that a module may import |
//!
//! A module is a command of WASI's first preview: it exports `_start` and a memory. It gets its
//! arguments and the three standard streams: no environment, no files, no directories, no sockets.
//!
//! Invariants: the module begins only when the sandbox of the built-in parsers holds
//! ([`Role::Reader`]), so neither it nor a fault of its compiler can open anything; what it finds does
//! not depend on chance, since its random numbers are always the same.

#![forbid(unsafe_code)]

mod machine;
mod system;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;

use trawl_sys::restricted::{Bounds, Lifetime, Restriction, Role, allow_cpu_secs};

use machine::Prepared;
use system::Host;

/// Maximum size of a module in bytes.
const MODULE_BYTES_MAX: u64 = 64 << 20;
/// Processor time of the process in seconds; the module has a limit of its own besides.
const CPU_SECS: u64 = 24 * 3600;
/// The three standard streams, and one to spare.
const DESCRIPTORS: u64 = 4;
/// Exit code of a process whose module could not be run.
const CANNOT_RUN: u8 = 126;

/// What went wrong with a module.
#[derive(Debug, thiserror::Error)]
enum ModuleError {
    /// The words of the command line are not a module, its bounds and its arguments.
    #[error("usage: trawl-hook MODULE CPU-SECONDS MEMORY-BYTES [ARGUMENT...]")]
    CommandLine,
    /// The module cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The module.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The module is larger than 64 MiB.
    #[error("{}: a module has at most 64 MiB", path.display())]
    Size {
        /// The module.
        path: PathBuf,
    },
    /// The module cannot be compiled, or is not a command of WASI.
    #[error("{}: {why}", path.display())]
    Module {
        /// The module.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Standard input cannot be used, or the rights of this process cannot be given up.
    #[error("the sandbox cannot be set up: {0}")]
    Sandbox(#[from] io::Error),
    /// The module was ended.
    #[error("the module was ended: {0}")]
    Trap(String),
}

/// A module to be run, and its bounds.
struct Task {
    module: PathBuf,
    /// Processor time, in seconds, that it may take besides the time to compile it.
    cpu_secs: u64,
    /// Address space of the process, in bytes.
    memory_bytes: u64,
    /// Arguments of the module, without its name.
    arguments: Vec<OsString>,
}

impl Task {
    /// Reads the words of a command line: the module, the two numbers, and the arguments.
    fn of_words(words: impl IntoIterator<Item = OsString>) -> Result<Task, ModuleError> {
        let mut words = words.into_iter();
        let module = words.next().ok_or(ModuleError::CommandLine)?.into();
        let mut number = || words.next()?.into_string().ok()?.parse().ok();
        let (cpu_secs, memory_bytes) = number().zip(number()).ok_or(ModuleError::CommandLine)?;
        Ok(Task {
            module,
            cpu_secs,
            memory_bytes,
            arguments: words.collect(),
        })
    }
}

/// Runs a module in this process, which cannot do anything else afterwards. `words` are the module's
/// path, its processor time in seconds, the address space of this process in bytes, and the module's
/// arguments. Returns the module's exit code; 126 with a message on standard error if it could not be run or was ended.
#[must_use]
pub fn serve(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Task::of_words(words).and_then(|task| run(&task)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(CANNOT_RUN)
        }
    }
}

fn run(task: &Task) -> Result<u8, ModuleError> {
    let path = &task.module;
    let failed = |source| ModuleError::File {
        path: path.clone(),
        source,
    };
    let size = fs::metadata(path).map_err(failed)?.len();
    if size > MODULE_BYTES_MAX {
        return Err(ModuleError::Size { path: path.clone() });
    }
    let bytes = fs::read(path).map_err(failed)?;
    let invalid = |why| ModuleError::Module {
        path: path.clone(),
        why,
    };
    let mut arguments = vec![path.file_name().unwrap_or_default().to_owned().into_vec()];
    arguments.extend(task.arguments.iter().cloned().map(OsString::into_vec));
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let host = Host::new(arguments, input.into());
    let prepared = Prepared::new(&bytes, host).map_err(invalid)?;
    let bounds = Bounds {
        cpu_secs: CPU_SECS,
        memory_bytes: task.memory_bytes,
        descriptors: DESCRIPTORS,
    };
    Restriction::new(Role::Reader, &[], bounds, Lifetime::OfParent)?.apply()?;
    allow_cpu_secs(task.cpu_secs)?;
    prepared.run(task.memory_bytes)
}
