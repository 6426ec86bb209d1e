//! Which server is asked: `--remote`, else `$TRAWL_REMOTE`, else the rules for paths.
//!
//! Rules are lines `PATH = ADDRESS` in the file `remote` of `~/.config/trawl` and `/etc/trawl`. The
//! rule with the longest PATH at or above a path counts; of equal ones the user's own.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use trawl_model::path::is_within;
use trawl_remote::Address;
use trawl_sys::settings;

use super::questions;
use crate::Command;
use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::find::Called;

/// The variable that names a server.
const VARIABLE: &str = "TRAWL_REMOTE";
/// The address that stands for this machine.
const HERE: &str = "here";
/// Name of the files with rules.
const RULES: &str = "remote";
/// Maximum length of a file with rules in bytes.
const RULES_MAX_BYTES: u64 = 1 << 20;

/// A line of a file with rules.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// The path, without a trailing slash; `/` is empty.
    path: Vec<u8>,
    address: OsString,
}

/// Returns the servers to ask; none if the question is answered here.
///
/// # Errors
/// If an address or a rule is invalid, or paths belong to different servers.
pub(super) fn of(arguments: &Arguments) -> Result<Vec<Address>, Failure> {
    if !arguments.remote.is_empty() {
        let remote = arguments.remote.iter().filter(|one| *one != HERE);
        return remote.map(|one| Ok(Address::parse(one)?)).collect();
    }
    // Scripts that call the program `find` expect this machine's files and all actions.
    let is_plain_find =
        matches!(&arguments.command, Command::Find(find) if find.called == Called::Find);
    // Who names an index means one of this machine.
    let names_index = arguments.names_index || questions::names_index(&arguments.given);
    if is_plain_find || names_index || !questions::is_question(&arguments.given) {
        return Ok(Vec::new());
    }
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(here) if here == HERE => Ok(Vec::new()),
        Some(address) => Ok(vec![Address::parse(&address)?]),
        None => by_rules(arguments),
    }
}

/// Returns the server that the rules give for the paths of the question.
fn by_rules(arguments: &Arguments) -> Result<Vec<Address>, Failure> {
    let rules = rules()?;
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let directory = std::env::current_dir().map_err(Failure::NoWorkingDirectory)?;
    let paths = questions::paths(arguments);
    let places = paths
        .iter()
        .map(|path| (path, rule_for(&rules, &directory, path)));
    let places: Vec<_> = places.collect();
    let Some((first, server)) = places.first() else {
        return Ok(Vec::new());
    };
    if let Some((other, _)) = places.iter().find(|(_, other)| other != server) {
        return Err(Failure::Usage(format!(
            "{} and {} are asked at different servers: ask about them one after the other",
            first.as_bytes().escape_ascii(),
            other.as_bytes().escape_ascii(),
        )));
    }
    let address = server.filter(|address| *address != HERE);
    address
        .map(|address| Ok(Address::parse(address)?))
        .into_iter()
        .collect()
}

/// Returns the address for a path, which is relative to `directory` if it is not absolute.
fn rule_for<'r>(rules: &'r [Rule], directory: &Path, path: &OsStr) -> Option<&'r OsStr> {
    let path = normal(&directory.join(path));
    let above = rules.iter().filter(|rule| is_within(&path, &rule.path));
    // Of equal lengths the last one counts: the user's.
    let rule = above.max_by_key(|rule| rule.path.len())?;
    Some(&rule.address)
}

/// Returns an absolute path without `.`, `..` and trailing slashes; `/` is empty.
fn normal(path: &Path) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.as_os_str().as_bytes().split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts
        .iter()
        .flat_map(|part| [b"/", *part].concat())
        .collect()
}

/// Returns the rules of the system, then those of the user.
fn rules() -> Result<Vec<Rule>, Failure> {
    let mut rules = Vec::new();
    for dir in [Some(PathBuf::from("/etc/trawl")), settings::own()]
        .into_iter()
        .flatten()
    {
        let path = dir.join(RULES);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => {
                return Err(Failure::File {
                    action: "read",
                    path,
                    source,
                });
            }
        };
        rules.extend(
            parse(&bytes)
                .map_err(|why| Failure::Usage(format!("cannot use {}: {why}", path.display())))?,
        );
    }
    Ok(rules)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    file.take(RULES_MAX_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > RULES_MAX_BYTES {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// Parses rules. An invalid line is an error with its number.
fn parse(text: &[u8]) -> Result<Vec<Rule>, String> {
    let mut rules = Vec::new();
    for (line, number) in text.split(|byte| *byte == b'\n').zip(1..) {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let wrong = || format!("line {number} is not PATH = ADDRESS with an absolute PATH");
        // An address may contain `=`; a path with ` = ` in its name cannot be given.
        let end = line
            .iter()
            .position(|byte| *byte == b'=')
            .ok_or_else(wrong)?;
        let (path, address) = (line[..end].trim_ascii(), line[end + 1..].trim_ascii());
        if !path.starts_with(b"/") || address.is_empty() {
            return Err(wrong());
        }
        let address = OsString::from_vec(address.to_vec());
        if address != HERE {
            Address::parse(&address).map_err(|error| format!("line {number}: {error}"))?;
        }
        rules.push(Rule {
            path: normal(Path::new(OsStr::from_bytes(path))),
            address,
        });
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_above_counts_and_of_equal_ones_the_last() {
        let text = b"# system\n/gpfs = ssh:index1\n\n/gpfs/scratch/ = unix:/run/s=1\n\
            /gpfs/scratch/x = here\n/ = tls:all\n/gpfs=ssh:own\n";
        let rules = parse(text).unwrap();
        for (directory, path, address) in [
            ("/", "/gpfs/a", "ssh:own"),
            ("/gpfs", ".", "ssh:own"),
            ("/gpfs/a", "../scratch//b", "unix:/run/s=1"),
            ("/", "/gpfs/scratch/x", "here"),
            ("/", "/gpfs2", "tls:all"),
            ("/gpfs", "../../..", "tls:all"),
        ] {
            let found = rule_for(&rules, Path::new(directory), OsStr::new(path));
            assert_eq!(found, Some(OsStr::new(address)), "{directory} {path}");
        }
        let only = parse(b"/gpfs = ssh:index1").unwrap();
        assert_eq!(rule_for(&only, Path::new("/"), OsStr::new("/gpfsx")), None);
    }

    #[test]
    fn an_invalid_line_is_named() {
        for (text, number) in [
            (&b"/a = ssh:h\ngpfs = ssh:index1"[..], "line 2"),
            (b"/a", "line 1"),
            (b"/a =", "line 1"),
            (b"/a = host", "line 1"),
            (b"/a = ssh:-oProxyCommand=x", "line 1"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(number), "{why}");
        }
        assert_eq!(parse(b"  \n#\n"), Ok(Vec::new()));
    }
}
