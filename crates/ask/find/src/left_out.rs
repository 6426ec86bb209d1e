//! Paths that a scan was told to leave out (`trawl index --exclude`). The index
//! has no entries for them, so only the live file system can answer.

use std::ffi::CString;

use trawl_model::path;
use trawl_query::{Index, Located, QueryError};
use trawl_sys::pattern::{Flags, matches};

use crate::resolve::{Resolved, is_recorded};

/// Returns `resolved`, but changes a missing path that was left out of the
/// index to one that is not indexed.
///
/// # Errors
/// If the index cannot be read.
pub fn told_apart(index: &Index, resolved: Resolved) -> Result<Resolved, QueryError> {
    Ok(match resolved {
        Resolved::To(Located::Missing { root }, path) if is_left_out(index, &root, &path)? => {
            let nearest = Some(root);
            Resolved::To(Located::NotIndexed { nearest }, path)
        }
        other => other,
    })
}

/// Returns whether the source at `root` leaves out the path or a directory
/// above it.
fn is_left_out(index: &Index, root: &[u8], path: &[u8]) -> Result<bool, QueryError> {
    let Some(view) = index.view_of_root(root)? else {
        return Ok(false);
    };
    let patterns = view.info().excludes();
    if patterns.is_empty() || is_recorded(&view) || index.is_as_of().is_past() {
        return Ok(false);
    }
    let mut here = path;
    while here.len() > root.len() {
        let Some((above, name)) = path::split(here) else {
            break;
        };
        if patterns
            .iter()
            .any(|pattern| leaves_out(pattern, here, name))
        {
            return Ok(true);
        }
        here = above;
    }
    Ok(false)
}

/// Returns whether an exclusion pattern matches. A pattern without a slash is
/// matched against the name, another one against the path. Trailing slashes of
/// the pattern are ignored.
fn leaves_out(pattern: &[u8], path: &[u8], name: &[u8]) -> bool {
    let end = pattern.iter().rposition(|byte| *byte != b'/');
    let pattern = &pattern[..end.map_or(0, |last| last + 1)];
    let text = match pattern.contains(&b'/') {
        true => path,
        false => name,
    };
    match (CString::new(pattern), CString::new(text)) {
        (Ok(pattern), Ok(text)) => matches(&pattern, &text, Flags::NONE),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_of_names_or_of_whole_paths() {
        for (pattern, path, name, expected) in [
            ("cache/", "/home/u/cache", "cache", true),
            ("*.o", "/src/a.o", "a.o", true),
            ("cache", "/home/cache2", "cache2", false),
            ("/home/*/cache", "/home/a/b/cache", "cache", true),
            ("/tmp", "/var/tmp", "tmp", false),
        ] {
            let [pattern, path, name] = [pattern, path, name].map(str::as_bytes);
            assert_eq!(leaves_out(pattern, path, name), expected);
        }
    }
}
