//! Questions of somebody whose machine shows trees of the server at other places: what is answered
//! about them ([`trawl_model::mapped`] has the paths themselves).
//!
//! Invariants: a question that names a path outside the mapped trees is refused, and so is one whose
//! answer would depend on the spelling of a server's path.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use trawl_model::mapped::{self, Mapping, Tree};
use trawl_model::path::{display, join, split};

use super::questions;
use crate::arguments::{Arguments, Given};
use crate::failure::{Failure, cause, quoted};

/// Predicates of find that compare paths of the server with what indexes say about files.
const PREDICATES: &[&str] = &["-group-of", "-in-group", "-related-to", "-relations"];

/// Makes this process answer somebody with this mapping, in the working directory that the asker's
/// stands for.
///
/// # Errors
/// If a path of the question is outside the mapped trees, if the question is not answered about
/// mapped trees, or the working directory cannot be entered.
pub(super) fn begin(mapping: &Mapping, arguments: &Arguments) -> Result<(), Failure> {
    if let Some(why) = why_not(mapping, arguments) {
        return Err(Failure::Usage(why));
    }
    mapped::install(mapping.clone());
    let directory = mapping.directory();
    let Some(ours) = mapping.ours(directory) else {
        return Ok(());
    };
    std::env::set_current_dir(OsStr::from_bytes(&ours)).map_err(|error| {
        let (directory, why) = (quoted(directory), cause(&error));
        Failure::Usage(format!("the server cannot enter {directory}: {why}"))
    })
}

/// Returns why the question is not answered with this mapping, if it is not.
pub(super) fn why_not(mapping: &Mapping, arguments: &Arguments) -> Option<String> {
    let given = &arguments.given;
    let outside = questions::paths(arguments).into_iter().find(|path| {
        let absolute = match path.as_bytes() {
            absolute @ [b'/', ..] => absolute.to_vec(),
            relative => join(mapping.directory(), relative),
        };
        mapping.ours(&absolute).is_none()
    });
    if let Some(path) = outside {
        let path = quoted(path.as_bytes());
        let trees = mapping.trees().iter();
        let trees: Vec<String> = trees.map(|tree| quoted(display(&tree.theirs))).collect();
        let trees = trees.join(", ");
        return Some(format!(
            "{path} does not lie in {trees}, which the server has: ask about it separately"
        ));
    }
    match given.command.as_str() {
        command @ ("sql" | "export") => Some(format!(
            "trawl {command} knows the server's own paths only, and this server's are others than \
             here: name it with --remote and its own paths, outside the mapped ones"
        )),
        "grep" if !given.values_of("expression").is_empty() => Some(
            "grep with a find expression is not answered about mapped paths: name the files with \
             --include, or the directories"
                .into(),
        ),
        "locate" => why_not_located(mapping, given),
        _ => None,
    }
}

/// Returns why a predicate of find is refused to an asker whose paths are mapped.
pub(super) fn predicate_is_refused(name: &str) -> Option<&'static str> {
    let is_refused = mapped::mapping().is_some() && PREDICATES.contains(&name);
    is_refused.then_some("it knows the server's own paths only, which are others than here")
}

/// Returns why a question of locate is not answered: its patterns are matched with whole paths of the
/// server, and a pattern may match in a tree's own path, here or there.
fn why_not_located(mapping: &Mapping, given: &Given) -> Option<String> {
    let has = |id: &str| given.values.iter().any(|(known, _)| known == id);
    let trees = mapping.trees().iter();
    // With -b only the name of a tree itself may be another here.
    let tops: Vec<&[u8]> = match has("basename") {
        true => trees.filter_map(other_names).flatten().collect(),
        false => trees
            .flat_map(|tree| [&tree.theirs[..], &tree.ours])
            .collect(),
    };
    let is_regex = has("regex") || has("regexp") || has("fuzzy");
    let is_unclear = |word: &&OsString| {
        let may = |top: &&[u8]| is_regex || may_touch(word.as_bytes(), top, has("ignore_case"));
        tops.iter().any(may)
    };
    let word = given.values_of("patterns").iter().find(is_unclear)?;
    let word = quoted(word.as_bytes());
    Some(format!(
        "{word} may match in the path of a tree that is called otherwise on the server: use trawl \
         find with -name or -path"
    ))
}

/// Returns the names of a tree here and there, if they differ.
fn other_names(tree: &Tree) -> Option<[&[u8]; 2]> {
    let name = |path| split(path).map_or(&b""[..], |(_, name)| name);
    let names = [name(&tree.theirs), name(&tree.ours)];
    (names[0] != names[1]).then_some(names)
}

/// Returns whether a pattern of locate may match in or over the end of the path `top` of a tree, so
/// that the answer depends on that path.
fn may_touch(pattern: &[u8], top: &[u8], ignores_case: bool) -> bool {
    let folded = |text: &[u8]| match ignores_case {
        true => text.to_ascii_lowercase(),
        false => text.to_vec(),
    };
    let is_special = |byte: &u8| b"?[\\".contains(byte);
    let has_star = pattern.contains(&b'*');
    // A pattern with a star is matched with the whole path: only one at its beginning passes any
    // path of a tree.
    let is_open = !has_star || pattern.starts_with(b"*");
    if pattern.iter().any(is_special) || !is_open || (ignores_case && !pattern.is_ascii()) {
        return true;
    }
    let top = folded(&[top, b"/"].concat());
    let texts = pattern.split(|byte| *byte == b'*');
    let texts = texts.filter(|text| !text.is_empty()).map(folded);
    texts.into_iter().any(|text| overlaps(&text, &top))
}

/// Returns whether a text can stand in a path so that it begins within `top`, which ends with the
/// slash after a tree's path.
fn overlaps(text: &[u8], top: &[u8]) -> bool {
    // A text that begins with the last slash lies below the tree, under either name.
    (0..top.len() - 1).any(|at| {
        let rest = &top[at..];
        text.starts_with(rest) || rest.starts_with(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_may_match_in_the_path_of_a_tree_are_unclear() {
        for (pattern, is_unclear) in [
            ("thesis.tex", false),
            ("/proj/", false),
            ("*.h5", false),
            ("*run*.h5", false),
            ("gpfs", true),
            ("pf", true),
            ("s/proj", true),
            ("/gpfs/proj", true),
            ("*gpfs*", true),
            ("/gpfs/*.h5", true),
            ("x?y", true),
            ("GPFS", false),
            ("/", true),
        ] {
            let found = may_touch(pattern.as_bytes(), b"/gpfs", false);
            assert_eq!(found, is_unclear, "{pattern}");
        }
        assert!(may_touch(b"GPFS", b"/gpfs", true));
        assert!(may_touch("é".as_bytes(), b"/gpfs", true));
    }
}
