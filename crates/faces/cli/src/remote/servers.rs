//! Which server is asked: `--remote`, else `$TRAWL_REMOTE`, else the rules for paths.
//!
//! Rules are lines `PATH = ADDRESS` in the file `remote` of `~/.config/trawl` and `/etc/trawl`. The
//! rule with the longest PATH at or above a path counts; of equal ones the user's own. In the place of
//! an address stands the name of a directory at a server, `ssh://HOST/DIR`, if that is what PATH is
//! here.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_fetch::name::ServerPath;
use trawl_model::mapped::{Mapping, Tree};
use trawl_model::path::{display, is_within};
use trawl_remote::Address;
use trawl_sets::name::server_prefix;
use trawl_sys::settings;

use super::questions;
use crate::Command;
use crate::arguments::Arguments;
use crate::failure::{Failure, quoted};
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
    /// The server; `None` stands for this machine.
    server: Option<Address>,
    /// The path on the server, if the rule says one; else it is the same.
    there: Option<Vec<u8>>,
}

/// A server, and the trees of it that are at other places here; none if its own paths are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) address: Address,
    pub(super) trees: Vec<Tree>,
}

/// Returns the servers to ask; none if the question is answered here.
///
/// # Errors
/// If an address or a rule is invalid, or paths belong to different servers.
pub(super) fn of(arguments: &Arguments) -> Result<Vec<Server>, Failure> {
    if !arguments.remote.is_empty() {
        let remote = arguments.remote.iter().filter(|one| *one != HERE);
        return remote.map(|one| named(arguments, one)).collect();
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
        Some(address) => Ok(vec![named(arguments, &address)?]),
        None => by_rules(arguments),
    }
}

/// Returns the server at an address, with the trees of it that the question is about and that rules
/// place elsewhere here. Without any, the paths are the server's own.
fn named(arguments: &Arguments, address: &OsStr) -> Result<Server, Failure> {
    let address = Address::parse(address)?;
    let mut rules = rules()?;
    rules.retain(|rule| rule.server.as_ref() == Some(&address));
    if rules.iter().all(|rule| rule.there.is_none()) {
        let trees = Vec::new();
        return Ok(Server { address, trees });
    }
    let directory = std::env::current_dir().map_err(Failure::NoWorkingDirectory)?;
    let paths = questions::paths(arguments);
    // Without a path, the question is about all that the server has.
    let meant: Vec<&Rule> = match paths.is_empty() {
        true => rules.iter().collect(),
        false => {
            let found = paths
                .iter()
                .filter_map(|path| rule_for(&rules, &directory, path));
            found.collect()
        }
    };
    let trees = trees(&meant)?;
    Ok(Server { address, trees })
}

/// Returns the server that the rules give for the paths of the question.
fn by_rules(arguments: &Arguments) -> Result<Vec<Server>, Failure> {
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
    let server = |rule: &Option<&Rule>| rule.and_then(|rule| rule.server.clone());
    let Some((first, rule)) = places.first() else {
        return Ok(Vec::new());
    };
    if let Some((other, _)) = (places.iter()).find(|(_, other)| server(other) != server(rule)) {
        return Err(Failure::Usage(format!(
            "{} and {} are asked at different servers: ask about them one after the other",
            first.as_bytes().escape_ascii(),
            other.as_bytes().escape_ascii(),
        )));
    }
    let Some(address) = server(rule) else {
        return Ok(Vec::new());
    };
    let meant: Vec<&Rule> = places.iter().filter_map(|(_, rule)| *rule).collect();
    let trees = trees(&meant)?;
    Ok(vec![Server { address, trees }])
}

/// Returns the trees of these rules; none if each is at the same place here and there.
///
/// # Errors
/// If one lies within another.
fn trees(rules: &[&Rule]) -> Result<Vec<Tree>, Failure> {
    if rules.iter().all(|rule| rule.there.is_none()) {
        return Ok(Vec::new());
    }
    let mut trees: Vec<Tree> = Vec::new();
    for rule in rules {
        let tree = Tree {
            theirs: rule.path.clone(),
            ours: rule.there.clone().unwrap_or_else(|| rule.path.clone()),
        };
        if !trees.contains(&tree) {
            trees.push(tree);
        }
    }
    if Mapping::new(Vec::new(), trees.clone()).is_none() {
        let names: Vec<String> = trees
            .iter()
            .map(|tree| quoted(display(&tree.theirs)))
            .collect();
        return Err(Failure::Usage(format!(
            "of {} one contains another, here or on the server: ask about them one after the other",
            names.join(" and ")
        )));
    }
    Ok(trees)
}

/// Returns the rule for a path, which is relative to `directory` if it is not absolute.
fn rule_for<'r>(rules: &'r [Rule], directory: &Path, path: &OsStr) -> Option<&'r Rule> {
    let path = normal(&directory.join(path));
    let above = rules.iter().filter(|rule| is_within(&path, &rule.path));
    // Of equal lengths the last one counts: the user's.
    above.max_by_key(|rule| rule.path.len())
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
        let (server, there) =
            server_of(address).map_err(|error| format!("line {number}: {error}"))?;
        rules.push(Rule {
            path: normal(Path::new(OsStr::from_bytes(path))),
            server,
            there,
        });
    }
    Ok(rules)
}

/// Parses what a rule says about its path: `here`, the address of a server, or the name of the
/// directory at a server.
fn server_of(text: &[u8]) -> Result<(Option<Address>, Option<Vec<u8>>), String> {
    if text == HERE.as_bytes() {
        return Ok((None, None));
    }
    let has_path = server_prefix(text).is_some_and(|length| length < text.len());
    match ServerPath::parse(text).filter(|_| has_path) {
        Some(Ok(name)) => {
            let there = normal(Path::new(OsStr::from_bytes(&name.path)));
            Ok((Some(name.address), Some(there)))
        }
        Some(Err(error)) => Err(error.to_string()),
        None => {
            let address = Address::parse(OsStr::from_bytes(text));
            Ok((Some(address.map_err(|error| error.to_string())?), None))
        }
    }
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
            let server = found.unwrap().server.as_ref();
            let server = server.map_or("here".to_owned(), Address::to_string);
            assert_eq!(
                server,
                address.replace("all", "all:8295"),
                "{directory} {path}"
            );
        }
        let only = parse(b"/gpfs = ssh:index1").unwrap();
        assert_eq!(rule_for(&only, Path::new("/"), OsStr::new("/gpfsx")), None);
    }

    #[test]
    fn a_rule_says_which_directory_of_the_server_is_here() {
        let text = b"/gpfs/ = ssh://index1/export//gpfs/\n/data = unix:///run/s:/a b/=c\n\
            /net/x = tls://x:1/\n/home = ssh:index1\n";
        let rules = parse(text).unwrap();
        let shown = rules.iter().map(|rule| {
            let there = rule.there.as_ref();
            let server = rule.server.as_ref().unwrap().to_string();
            (
                server,
                there.map(|path| String::from_utf8(path.clone()).unwrap()),
            )
        });
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            ("ssh:index1", some("/export/gpfs")),
            ("unix:/run/s", some("/a b/=c")),
            ("tls:x:1", some("")),
            ("ssh:index1", None),
        ];
        let expected = expected.map(|(server, there)| (server.to_owned(), there));
        assert_eq!(shown.clone().take(4).collect::<Vec<_>>(), expected);
        // Trees with and without another place, asked together, are mapped together.
        let (mapped, same) = (&rules[0], &rules[3]);
        assert_eq!(trees(&[same]).unwrap(), []);
        let both = trees(&[mapped, same, mapped]).unwrap();
        let ours: Vec<&[u8]> = both.iter().map(|tree| &tree.ours[..]).collect();
        assert_eq!(ours, [&b"/export/gpfs"[..], b"/home"]);
        let inner = parse(b"/a = ssh://h/x\n/a/b = ssh://h/y").unwrap();
        assert!(trees(&[&inner[0], &inner[1]]).is_err());
    }

    #[test]
    fn an_invalid_line_is_named() {
        for (text, number) in [
            (&b"/a = ssh:h\ngpfs = ssh:index1"[..], "line 2"),
            (b"/a", "line 1"),
            (b"/a =", "line 1"),
            (b"/a = host", "line 1"),
            (b"/a = ssh:-oProxyCommand=x", "line 1"),
            (b"/a = ssh://-oProxyCommand=x/b", "line 1"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(number), "{why}");
        }
        assert_eq!(parse(b"  \n#\n"), Ok(Vec::new()));
    }
}
