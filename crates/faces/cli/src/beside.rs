//! Programs that are installed beside `trawl`, and hand-overs to them.
//!
//! Starting a program costs time for all that it contains: the dynamic loader has to relocate every
//! table in it, needed or not. So `trawl` contains what short questions need. `trawl-sql` contains
//! the SQL engine, and `trawl-more` is `trawl` with everything else ([`More`]). They take the same
//! words as `trawl` and answer in its name. `trawl-mcp` serves assistants and `trawl-http` browsers; they
//! run `trawl` for each question, and take words of their own ([`serve`]).
//!
//! Invariants: `trawl` does not refer to what a [`More`] refers to, so the linker leaves it out; a
//! hand-over happens before anything is printed, opened or started.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use trawl_report::Renderer;
use trawl_sets::Opener;
use trawl_sets::expand::Engine;
use trawl_sets::name::server_prefix;

use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::{Failure, cause};
use crate::profile::ProfileArgs;

/// Name of the program that contains [`More`].
const MORE: &str = "trawl-more";

/// What `trawl-more` contains besides what `trawl` contains.
#[derive(Debug)]
pub(crate) struct More {
    /// Runs `trawl profile`.
    pub(crate) profile: fn(&ProfileArgs) -> Result<Exit, Failure>,
    /// Returns what answers queries in names of sets.
    pub(crate) queries: fn(Option<PathBuf>) -> Queries,
    /// Returns the renderer of Arrow streams.
    pub(crate) arrow: fn() -> Box<dyn Renderer + Send>,
}

/// [`More`] of this program.
static OURS: OnceLock<&'static More> = OnceLock::new();

/// Makes this process `trawl-more`.
pub(crate) fn have(more: &'static More) {
    OURS.get_or_init(|| more);
}

/// Returns what this program contains if it is `trawl-more`.
pub(crate) fn more() -> Option<&'static More> {
    OURS.get().copied()
}

/// What answers queries in names of sets, and opens what their answers name.
pub(crate) struct Queries {
    /// Evaluates queries.
    pub(crate) engines: Vec<Arc<dyn Engine>>,
    /// Opens the objects of URLs.
    pub(crate) links: Arc<dyn Opener>,
}

/// Returns whether a name of a set needs [`More`]: it may contain a query, a command, whose output
/// may be anything, or a URL.
fn needs_more(name: &[u8]) -> bool {
    let rest = &name[server_prefix(name).unwrap_or(0)..];
    let has_url = rest.windows(3).any(|three| three == b"://");
    has_url || rest.iter().any(|byte| b"\\%".contains(byte))
}

/// Returns whether a name of a set makes the process run something or ask another machine: it may
/// contain a query, a command or a URL, or begin with a server.
pub(crate) fn leads_elsewhere(name: &[u8]) -> bool {
    server_prefix(name).is_some() || needs_more(name)
}

/// Returns the renderer of Arrow streams.
///
/// # Errors
/// Fails if this is `trawl`: `--arrow` is handed over.
pub(crate) fn arrow() -> Result<Box<dyn Renderer + Send>, Failure> {
    let text = || Failure::Usage(format!("only {MORE} writes Arrow streams"));
    more().map(|more| (more.arrow)()).ok_or_else(text)
}

/// Returns [`More`]. If this is `trawl`, replaces this process by `trawl-more`, with the same words.
///
/// # Errors
/// Fails if `trawl-more` cannot be run.
pub(crate) fn need_more(setting: &Setting<'_>) -> Result<&'static More, Failure> {
    more().ok_or_else(|| hand_over(MORE, setting.words))
}

/// As [`need_more`], if one of these names of sets needs it.
///
/// # Errors
/// As [`need_more`].
pub(crate) fn need_more_for<'n>(
    setting: &Setting<'_>,
    names: impl IntoIterator<Item = &'n [u8]>,
) -> Result<(), Failure> {
    match names.into_iter().any(needs_more) {
        true => need_more(setting).map(|_| ()),
        false => Ok(()),
    }
}

/// Replaces this process by this program, with these words, the first of which is the name that it
/// sees. Returns only if that fails.
pub(crate) fn hand_over(program: &str, words: &[OsString]) -> Failure {
    let (name, rest) = words.split_first().unzip();
    let name = name.map_or(OsStr::new("trawl"), OsString::as_os_str);
    let rest = rest.unwrap_or_default();
    let mut missing = None;
    trawl_sys::process::pass_on_closed_streams();
    for path in places(program) {
        let error = Command::new(&path).arg0(name).args(rest).exec();
        match error.kind() {
            ErrorKind::NotFound => missing = Some(error),
            _ => {
                return Failure::File {
                    action: "run",
                    path,
                    source: error,
                };
            }
        }
    }
    let why = missing.as_ref().map_or_else(String::new, cause);
    Failure::Usage(format!(
        "cannot run {program}: {why}; it must be next to trawl, in ../libexec or in PATH: \
         install it, or build it with make"
    ))
}

/// Refuses `--profile` for a command that only runs others.
///
/// # Errors
/// Fails if the words contain it.
pub(crate) fn records_nothing(setting: &Setting<'_>, command: &str) -> Result<(), Failure> {
    // It may be abbreviated, as far as no other option begins like that.
    let profiles = |word: &OsString| {
        let name = word.as_encoded_bytes().split(|byte| *byte == b'=').next();
        name.is_some_and(|name| name.len() > 2 && b"--profile".starts_with(name))
    };
    match setting.words.iter().any(profiles) {
        false => Ok(()),
        true => Err(Failure::Usage(format!(
            "{command} runs other commands, and records nothing itself: leave out --profile"
        ))),
    }
}

/// Replaces this process by a program that serves questions, by running this one. It gets the path of
/// this program, the index, and these words, each as `--name=` and a value. Returns only if that fails.
pub(crate) fn serve<'w>(
    program: &str,
    setting: &Setting<'_>,
    words: impl IntoIterator<Item = (&'w str, Option<OsString>)>,
) -> Failure {
    serve_as(program, None, setting, words)
}

/// As [`serve`], with a first word that says what the program shall be.
pub(crate) fn serve_as<'w>(
    program: &str,
    role: Option<&str>,
    setting: &Setting<'_>,
    words: impl IntoIterator<Item = (&'w str, Option<OsString>)>,
) -> Failure {
    let own = std::env::current_exe().ok().map(PathBuf::into_os_string);
    let index = setting.index.clone().map(PathBuf::into_os_string);
    let words = [("--program=", own), ("--index=", index)]
        .into_iter()
        .chain(words)
        .filter_map(|(name, value)| {
            let mut word = OsString::from(name);
            word.push(value?);
            Some(word)
        });
    let begin = [Some(program), role].into_iter().flatten();
    let words: Vec<OsString> = begin.map(OsString::from).chain(words).collect();
    hand_over(program, &words)
}

/// Returns a time as such programs take it.
pub(crate) fn milliseconds(time: Duration) -> OsString {
    time.as_millis().to_string().into()
}

/// Returns the places where this program may be, the most likely first.
pub(crate) fn places(program: &str) -> Vec<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent);
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(dir) = beside {
        places.push(dir.join(program));
        places.push(dir.join("../libexec/trawl").join(program));
        places.push(dir.join("../libexec").join(program));
    }
    // A name without a slash is looked up in PATH.
    places.push(PathBuf::from(program));
    places
}

#[cfg(test)]
mod tests {
    use super::needs_more;

    /// docs/set-names.md: queries are between backslashes, commands between percent signs.
    #[test]
    fn queries_commands_and_urls_need_more() {
        let names: [&[u8]; 7] = [
            br"/srv/\size > 5\",
            br"trawl://host:8295/srv/\-name x\/a",
            b"/srv/%cat list%",
            b"http://example.org/a.html",
            b"{http,https}://example.org/a",
            b"{http://example.org/a,b}",
            b"/{unix:///run/s:/a,https://example.org}",
        ];
        for name in names {
            assert!(needs_more(name), "{}", name.escape_ascii());
        }
    }

    #[test]
    fn plain_names_wildcards_and_servers_do_not() {
        let names: [&[u8]; 6] = [
            b"",
            b"/srv/{a,b}/*.c",
            b"~user/[ab]?",
            b"trawl://host:8295/srv/*.c",
            b"unix:///run/trawl.sock:/srv/{a,b}",
            b"a:b//c",
        ];
        for name in names {
            assert!(!needs_more(name), "{}", name.escape_ascii());
        }
    }
}
