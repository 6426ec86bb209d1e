//! The hooks that are in use, and what all of them find in a file.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use trawl_sys::restricted::is_read_only;
use trawl_text::words::cause;

use crate::builtin::Builtin;
use crate::error::HookError;
use crate::format::{Format, HEAD_BYTES, Recognised, recognise};
use crate::found::{Extracted, Fault, Findings};
use crate::limits::Limits;
use crate::manifest::{UserHook, load};
use crate::plain;
use crate::program;
use crate::wire::Request;
use crate::worker::Pool;

/// Name of the program that runs built-in hooks and modules, which is installed beside `trawl`.
pub const PROGRAM: &str = "trawl-hook";

/// In problems that are no hook's.
const NO_HOOK: &str = "hooks";

/// The hooks in use, with their workers. Threads may share it: each file gets a worker of its own.
#[derive(Debug)]
pub struct Hooks {
    program: PathBuf,
    users: Vec<UserHook>,
    pool: Pool,
}

impl Hooks {
    /// Uses the built-in hooks, run by this program ([`PROGRAM`]).
    #[must_use]
    pub fn new(program: PathBuf) -> Hooks {
        Hooks {
            program,
            users: Vec::new(),
            pool: Pool::default(),
        }
    }

    /// Uses the built-in hooks, run by the [`PROGRAM`] beside this process's program.
    #[must_use]
    pub fn beside_this_program() -> Hooks {
        let own = std::env::current_exe().ok();
        let beside = own.as_deref().and_then(Path::parent);
        let beside = beside.map(|folder| folder.join(PROGRAM));
        Hooks::new(beside.unwrap_or_else(|| PathBuf::from(PROGRAM)))
    }

    /// Uses the hooks of this directory, too.
    ///
    /// # Errors
    /// Fails if a manifest is invalid, or if other users could change what is run.
    pub fn add_directory(&mut self, directory: &Path) -> Result<(), HookError> {
        self.users.extend(load(directory)?);
        Ok(())
    }

    /// Returns what findings depend on besides the file: the version of the built-in hooks, and the
    /// users' hooks with their programs.
    #[must_use]
    pub fn description(&self) -> String {
        let mut all = concat!("trawl-hooks ", env!("CARGO_PKG_VERSION")).to_owned();
        for hook in &self.users {
            let program = std::fs::metadata(&hook.program).ok();
            let program = program.map(|found| (found.len(), found.mtime(), found.mtime_nsec()));
            all += &format!("\n{hook:?} {program:?}");
        }
        all
    }

    /// Returns the users' hooks, in the order in which they are run.
    #[must_use]
    pub fn users(&self) -> &[UserHook] {
        &self.users
    }
}

/// Returns what all hooks find in a file that is open for reading. `name` is the last component of
/// its path, which decides where the first bytes do not. The file's position is changed.
///
/// Nothing fails: what goes wrong is in [`Extracted::problems`].
#[must_use]
pub fn extract(file: &File, name: &[u8], hooks: &Hooks, limits: &Limits) -> Extracted {
    extract_unless(&NEVER, file, name, hooks, limits)
}

/// As [`extract`], but ends the hook that is running soon after the flag is set. Then a problem says
/// that the hook was ended ([`Fault::Unavailable`]).
#[must_use]
pub fn extract_unless(
    cancel: &AtomicBool,
    file: &File,
    name: &[u8],
    hooks: &Hooks,
    limits: &Limits,
) -> Extracted {
    let mut all = Findings::new(NO_HOOK, limits);
    match look(file, name) {
        Ok((recognised, size_bytes)) => {
            let task = Task {
                file,
                name,
                size_bytes,
                limits,
                cancel,
            };
            return task.read(hooks, recognised);
        }
        Err((fault, why)) => all.problem(fault, &why),
    }
    all.finish()
}

/// Returns the MIME type of a file with these first bytes and this name.
#[must_use]
pub fn mime_type(head: &[u8], name: &[u8]) -> &'static str {
    recognise(head, name).mime
}

fn look(file: &File, name: &[u8]) -> Result<(Recognised, u64), (Fault, String)> {
    let failed = |error| (Fault::Unreadable, format!("cannot read: {}", cause(&error)));
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() || !is_read_only(file) {
        let why = "hooks read only regular files that are open for reading alone";
        return Err((Fault::Unreadable, why.to_owned()));
    }
    let mut head = vec![0; HEAD_BYTES];
    let mut filled = 0;
    while filled < head.len() {
        match file.read_at(&mut head[filled..], filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    head.truncate(filled);
    Ok((recognise(&head, name), found.len()))
}

/// A flag that is never set.
static NEVER: AtomicBool = AtomicBool::new(false);

/// A file that hooks read.
struct Task<'t> {
    file: &'t File,
    name: &'t [u8],
    size_bytes: u64,
    limits: &'t Limits,
    cancel: &'t AtomicBool,
}

impl Task<'_> {
    fn read(&self, hooks: &Hooks, recognised: Recognised) -> Extracted {
        let mut all = Extracted::default();
        let plain = match recognised.read_by {
            Some((Format::Text, hook)) => plain::read(self.file, hook.name(), self.limits),
            _ => None,
        };
        if let Some(found) = plain {
            all = found;
        } else if let Some((format, hook)) = recognised.read_by.filter(|_| self.size_bytes > 0) {
            all = self.built_in(hooks, format, hook);
        }
        for hook in &hooks.users {
            if hook.accepts(recognised.mime, self.name, self.size_bytes) {
                let found = program::run(hook, &hooks.program, self.file, self.limits, self.cancel);
                add(&mut all, found, &hook.name, self.limits);
            }
        }
        all
    }

    /// Returns what a built-in hook finds.
    fn built_in(&self, hooks: &Hooks, format: Format, hook: Builtin) -> Extracted {
        let request = Request {
            format,
            size_bytes: self.size_bytes,
            limits: *self.limits,
        };
        let ask = |request: &Request| {
            let program = &hooks.program;
            hooks.pool.ask(program, self.file, request, self.cancel)
        };
        // A worker may have been taken over by the file, so its answer is held to the limits here.
        let mut findings = Findings::new(hook.name(), self.limits);
        match ask(&request) {
            Ok(found) => findings.absorb(found),
            Err((fault, message)) => {
                // The words of a text do not depend on a parser of its language.
                if fault != Fault::Unavailable && [Builtin::Source, Builtin::Markup].contains(&hook)
                {
                    let text = ask(&Request {
                        format: Format::Text,
                        ..request
                    });
                    findings.absorb(text.unwrap_or_default());
                }
                findings.problem(fault, &message);
            }
        }
        findings.finish()
    }
}

/// Adds what a hook found to what others found, within the limits of all together.
fn add(all: &mut Extracted, found: Extracted, hook: &str, limits: &Limits) {
    let left = Limits {
        text_bytes: limits.text_bytes.saturating_sub(all.text.len()),
        attributes: limits.attributes.saturating_sub(all.attributes.len()),
        relations: limits.relations.saturating_sub(all.relations.len()),
        ..*limits
    };
    let mut findings = Findings::new(hook, &left);
    findings.absorb(found);
    let found = findings.finish();
    all.text.push_str(&found.text);
    all.attributes.extend(found.attributes);
    all.relations.extend(found.relations);
    all.problems.extend(found.problems);
}
