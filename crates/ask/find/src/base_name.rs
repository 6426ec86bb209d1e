//! Splits a path into parts as GNU find does, including for start points that
//! end in slashes.

/// Returns the last component with at most one of the slashes after it; `/` for
/// a path that consists of slashes. This is `%f`.
pub fn base_name(path: &[u8]) -> &[u8] {
    let end = end_of_name(path);
    if end == 0 {
        return path.get(..1).unwrap_or_default();
    }
    let start = path[..end].iter().rposition(|b| *b == b'/');
    let start = start.map_or(0, |slash| slash + 1);
    &path[start..path.len().min(end + 1)]
}

/// Returns the last component without slashes; `/` for the root. `-name` tests
/// this name.
pub fn bare_name(path: &[u8]) -> &[u8] {
    match base_name(path) {
        b"/" => b"/",
        name => name.strip_suffix(b"/").unwrap_or(name),
    }
}

/// Returns everything before the slash in front of the last component, or `.`
/// if there is no such slash. For a path of slashes alone and, as in GNU find
/// 4.9, for a single character with slashes after it, returns everything before
/// the last slash (`a//` gives `a/`). This is `%h`.
pub fn leading(path: &[u8]) -> &[u8] {
    let end = end_of_name(path);
    let before = path[..end].iter().rposition(|b| *b == b'/');
    match before {
        Some(slash) => &path[..slash],
        None if end <= 1 && path.len() > end => &path[..path.len() - 1],
        None => b".",
    }
}

/// Returns the path's length without its trailing slashes.
fn end_of_name(path: &[u8]) -> usize {
    path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are from `find PATH -maxdepth 0 -printf '%f %h'` and
    /// `-name`.
    #[test]
    fn parts_are_those_of_find() {
        for (path, base, bare, above) in [
            ("a", "a", "a", "."),
            ("./", "./", ".", "."),
            ("z/", "z/", "z", "z"),
            ("z//", "z/", "z", "z/"),
            (".", ".", ".", "."),
            ("sub//", "sub/", "sub", "."),
            ("sub/x/", "x/", "x", "sub"),
            ("sub//x", "x", "x", "sub/"),
            ("/", "/", "/", ""),
            ("//", "/", "/", "/"),
            ("///", "/", "/", "//"),
            ("/usr", "usr", "usr", ""),
            ("//usr", "usr", "usr", "/"),
            ("/usr//", "usr/", "usr", ""),
            ("/.", ".", ".", ""),
            ("", "", "", "."),
        ] {
            let path = path.as_bytes();
            assert_eq!(base_name(path), base.as_bytes(), "{path:?}");
            assert_eq!(bare_name(path), bare.as_bytes(), "{path:?}");
            assert_eq!(leading(path), above.as_bytes(), "{path:?}");
        }
    }
}
