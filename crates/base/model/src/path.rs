//! Paths as bytes: joining, and the depth-first order that the index keeps.
//!
//! Index paths are absolute and have no trailing slash; the file system's
//! root is therefore the **empty** path, and `dir + "/" + name` is right for
//! every directory.

use std::cmp::Ordering;

/// Compares two paths in depth-first order: component by component, by
/// bytes, a directory before what it holds and all of that before its next
/// sibling (`a` < `a/b` < `a-b`, though `-` sorts before `/` as a byte).
pub fn cmp(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    match (a.get(common), b.get(common)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        // No name holds a NUL or a slash, so the slash may sort before all.
        (Some(b'/'), Some(_)) => Ordering::Less,
        (Some(_), Some(b'/')) => Ordering::Greater,
        (Some(x), Some(y)) => x.cmp(y),
    }
}

/// True if `path` is `dir` or lies below it.
pub fn is_within(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Compares `path` with the whole subtree of `dir`: `Equal` if `path` is
/// within it, otherwise on which side of it `path` lies.
pub fn cmp_subtree(path: &[u8], dir: &[u8]) -> Ordering {
    if is_within(path, dir) {
        Ordering::Equal
    } else {
        cmp(path, dir)
    }
}

/// `dir/name`.
pub fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    path.extend_from_slice(dir);
    path.push(b'/');
    path.extend_from_slice(name);
    path
}

/// The absolute path of `below`, which is relative to `dir` (see [`crate::relative_path`]).
pub fn append(dir: &[u8], below: &[u8]) -> Vec<u8> {
    match below {
        b"" => dir.to_vec(),
        below => join(dir, below),
    }
}

/// The directory that holds `path` and the name in it; `None` for the root
/// (the empty path).
pub fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = path.iter().rposition(|b| *b == b'/')?;
    Some((&path[..slash], &path[slash + 1..]))
}

/// The directories above `path`, the nearest first; the last one is the root.
pub fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| split(path).map(|(dir, _)| dir)).skip(1)
}

/// The number of components: 0 for the root, 1 for `/usr`.
pub fn depth(path: &[u8]) -> usize {
    path.iter().filter(|b| **b == b'/').count()
}

/// An absolute path with `//`, `/./`, `/../` and trailing slashes resolved
/// by text alone (no symbolic link is looked at). `None` if `path` is
/// relative or holds a NUL byte.
pub fn normalize(path: &[u8]) -> Option<Vec<u8>> {
    if path.first() != Some(&b'/') || path.contains(&0) {
        return None;
    }
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => out.truncate(out.iter().rposition(|b| *b == b'/').unwrap_or(0)),
            name => {
                out.push(b'/');
                out.extend_from_slice(name);
            }
        }
    }
    Some(out)
}

/// The path as users write it: `/` for the root.
pub fn display(path: &[u8]) -> &[u8] {
    if path.is_empty() { b"/" } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ancestors_end_with_the_root() {
        let above: Vec<&[u8]> = ancestors(b"/usr/lib/x").collect();
        assert_eq!(above, [&b"/usr/lib"[..], b"/usr", b""]);
        assert_eq!(ancestors(b"").count(), 0);
    }

    fn tree_path() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec("[ -.0-9a-c]{1,3}", 0..5).prop_map(|parts| {
            parts
                .iter()
                .flat_map(|p| [b"/", p.as_bytes()].concat())
                .collect()
        })
    }

    proptest! {
        #[test]
        fn order_is_that_of_component_lists(a in tree_path(), b in tree_path()) {
            let parts = |p: &[u8]| p.split(|c| *c == b'/').map(<[u8]>::to_vec).collect::<Vec<_>>();
            prop_assert_eq!(cmp(&a, &b), parts(&a).cmp(&parts(&b)));
        }

        #[test]
        fn a_subtree_is_contiguous(mut paths in proptest::collection::vec(tree_path(), 1..40), pick: usize) {
            paths.sort_by(|a, b| cmp(a, b));
            let dir = paths[pick % paths.len()].clone();
            let sides: Vec<_> = paths.iter().map(|p| cmp_subtree(p, &dir)).collect();
            prop_assert!(sides.is_sorted());
            for (path, side) in paths.iter().zip(sides) {
                prop_assert_eq!(side == Ordering::Equal, is_within(path, &dir));
            }
        }
    }

    #[test]
    fn normalising_resolves_by_text() {
        let cases: [(&[u8], Option<&[u8]>); 7] = [
            (b"/", Some(b"")),
            (b"//usr///lib/", Some(b"/usr/lib")),
            (b"/usr/./lib/../bin", Some(b"/usr/bin")),
            (b"/../..", Some(b"")),
            (b"usr", None),
            (b"", None),
            (b"/a\0b", None),
        ];
        for (input, expected) in cases {
            assert_eq!(normalize(input).as_deref(), expected, "{input:?}");
        }
    }

    #[test]
    fn relative_paths_are_appended_to_the_root_and_to_others() {
        assert_eq!(append(b"", b"usr/lib"), b"/usr/lib");
        assert_eq!(append(b"/usr", b"lib"), b"/usr/lib");
        assert_eq!(append(b"/usr", b""), b"/usr");
        assert_eq!(append(b"", b""), b"");
    }

    #[test]
    fn splitting_undoes_joining() {
        assert_eq!(split(&join(b"/a", b"b")), Some((&b"/a"[..], &b"b"[..])));
        assert_eq!(split(&join(b"", b"b")), Some((&b""[..], &b"b"[..])));
        assert_eq!(split(b""), None);
    }
}
