//! Paths spelled as the user began them.

/// Returns the path of an entry at or below an argument, spelled from the argument. `top` is the
/// argument's own path.
pub fn printed_path(argument: &[u8], top: &[u8], path: &[u8]) -> Vec<u8> {
    let below = path.strip_prefix(top).unwrap_or(path);
    match below.strip_prefix(b"/") {
        Some(below) => join_printed(argument, below),
        None => argument.to_vec(),
    }
}

/// Joins `dir` and `name` without doubling a slash.
pub fn join_printed(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if dir.ends_with(b"/") { b"" } else { b"/" };
    [dir, slash, name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_as_the_user_began() {
        for (argument, top, path, name) in [
            (&b"."[..], &b"/w"[..], &b"/w"[..], &b"."[..]),
            (b".", b"/w", b"/w/a/b", b"./a/b"),
            (b"x/", b"/w/x", b"/w/x/y", b"x/y"),
            (b"/", b"", b"/usr", b"/usr"),
        ] {
            assert_eq!(printed_path(argument, top, path), name);
        }
    }
}
