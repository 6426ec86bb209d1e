//! Which arguments of a program may be files whose content it reads.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

/// Programs that read no content of the files they are given.
const READ_NOTHING: &[&str] = &[
    "[", "basename", "chattr", "chgrp", "chmod", "chown", "dir", "dirname", "du", "echo", "expr",
    "find", "getfacl", "getfattr", "kill", "ln", "ls", "lsattr", "mkdir", "mkfifo", "mv", "printf",
    "readlink", "realpath", "rm", "rmdir", "setfacl", "setfattr", "shred", "sleep", "stat", "test",
    "touch", "trawl", "truncate", "unlink", "vdir",
];

/// Maximum number of bytes of a list of files.
const LIST_MAX_BYTES: u64 = 32 << 20;

/// Returns the arguments that may be files, in their order, as absolute paths. That they exist and
/// are regular files is found out when they are opened.
pub(crate) fn files(arguments: &[Vec<u8>], directory: &[u8]) -> Vec<Vec<u8>> {
    let Some((program, rest)) = arguments.split_first() else {
        return Vec::new();
    };
    if !may_read(program) {
        return Vec::new();
    }
    match base_name(program).ends_with(b"tar") {
        true => files_of_tar(rest, directory),
        false => plain(rest, directory),
    }
}

/// Returns whether a program may read the content of files that it is given.
pub(crate) fn may_read(program: &[u8]) -> bool {
    let program = base_name(program);
    !READ_NOTHING.iter().any(|name| name.as_bytes() == program)
}

fn base_name(program: &[u8]) -> &[u8] {
    let name = program.rsplit(|byte| *byte == b'/').next();
    name.unwrap_or_default()
}

fn plain(arguments: &[Vec<u8>], directory: &[u8]) -> Vec<Vec<u8>> {
    let mut is_end = false;
    let mut files = Vec::new();
    for argument in arguments {
        match argument.strip_prefix(b"--files0-from=") {
            _ if argument == b"--" => is_end = true,
            Some(list) if !is_end => files.extend(listed(list, directory, directory, 0)),
            _ if is_end || !argument.starts_with(b"-") => files.push(absolute(argument, directory)),
            _ => {}
        }
    }
    files
}

/// Returns the files that tar(1) puts into an archive, if it makes one.
fn files_of_tar(arguments: &[Vec<u8>], directory: &[u8]) -> Vec<Vec<u8>> {
    if !arguments.iter().enumerate().any(makes_archive) {
        return Vec::new();
    }
    let end = match arguments.iter().any(|argument| argument == b"--null") {
        true => 0,
        false => b'\n',
    };
    let mut from = directory.to_vec();
    let mut files = Vec::new();
    let mut rest = arguments.iter();
    let mut is_first = true;
    while let Some(argument) = rest.next() {
        let is_bundle = std::mem::take(&mut is_first) || argument.starts_with(b"-");
        if !is_bundle {
            files.push(absolute(argument, &from));
            continue;
        }
        for value in values(argument, &mut rest) {
            match value {
                Value::Directory(below) => from = absolute(&below, &from),
                Value::List(list) => files.extend(listed(&list, directory, &from, end)),
            }
        }
    }
    files
}

/// Returns whether this argument of tar(1) says that files are put into an archive.
fn makes_archive((at, argument): (usize, &Vec<u8>)) -> bool {
    let letters = |letters: &[u8]| letters.iter().any(|byte| b"cru".contains(byte));
    match &argument[..] {
        b"--create" | b"--append" | b"--update" => true,
        [b'-', b'-', ..] => false,
        [b'-', rest @ ..] => letters(rest),
        first => at == 0 && letters(first),
    }
}

/// An option of tar(1) with its value.
enum Value {
    /// `-C`: where further names begin.
    Directory(Vec<u8>),
    /// `-T`: a file with names.
    List(Vec<u8>),
}

/// Letters of tar(1) that take a value.
const WITH_VALUE: &[u8] = b"CTfbFgHIKLNVX";

/// Returns the values in an argument of tar(1) that are directories and lists of files; takes those
/// that are arguments of their own from `rest`.
fn values<'a>(argument: &[u8], rest: &mut impl Iterator<Item = &'a Vec<u8>>) -> Vec<Value> {
    let mut next = || rest.next().cloned().unwrap_or_default();
    match argument {
        b"--files-from" => return vec![Value::List(next())],
        b"--directory" => return vec![Value::Directory(next())],
        [b'-', b'-', long @ ..] => {
            let list = long.strip_prefix(b"files-from=").map(<[u8]>::to_vec);
            let directory = long.strip_prefix(b"directory=").map(<[u8]>::to_vec);
            let list = list.map(Value::List).into_iter();
            return list.chain(directory.map(Value::Directory)).collect();
        }
        _ => {}
    }
    let (letters, is_old) = match argument.strip_prefix(b"-") {
        Some(letters) => (letters, false),
        None => (argument, true),
    };
    let mut found = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        if !WITH_VALUE.contains(letter) {
            continue;
        }
        // Behind a hyphen, the rest of the word is the value; without one, values follow in order.
        let value = match letters.get(at + 1..) {
            Some(inline @ [_, ..]) if !is_old => inline.to_vec(),
            _ => next(),
        };
        match letter {
            b'C' => found.push(Value::Directory(value)),
            b'T' => found.push(Value::List(value)),
            _ => {}
        }
        if !is_old {
            break;
        }
    }
    found
}

/// Returns the names in a list, each ended by `end`.
fn listed(list: &[u8], directory: &[u8], from: &[u8], end: u8) -> Vec<Vec<u8>> {
    let bytes = read_list(&absolute(list, directory)).unwrap_or_default();
    let names = bytes.split(|byte| *byte == end);
    let is_name = |name: &&[u8]| !name.is_empty() && !name.starts_with(b"-");
    names
        .filter(is_name)
        .map(|name| absolute(name, from))
        .collect()
}

/// Reads a list, if it is a regular file: any other is for the program alone.
fn read_list(path: &[u8]) -> Option<Vec<u8>> {
    let path = std::ffi::CString::new(path).ok()?;
    let file = File::from(trawl_sys::confined::open_file_anywhere(&path).ok()?);
    let mut bytes = Vec::new();
    file.take(LIST_MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns an absolute path without dots and double slashes; `..` stays.
fn absolute(name: &[u8], directory: &[u8]) -> Vec<u8> {
    let path = std::path::Path::new(OsStr::from_bytes(directory));
    let joined = path.join(OsStr::from_bytes(name));
    let plain: std::path::PathBuf = joined.components().collect();
    plain.into_os_string().into_encoded_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> String {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let files = files(&words, b"/d");
        String::from_utf8(files.join(&b' ')).unwrap()
    }

    #[test]
    fn options_are_no_files() {
        assert_eq!(
            of(&["/bin/cat", "a", "-n", "./b", "--", "-c", "/x//y"]),
            "/d/a /d/b /d/-c /x/y"
        );
        assert_eq!(of(&["rm", "a", "b"]), "");
        assert_eq!(of(&["/usr/bin/ls", "a", "b"]), "");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn lists_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list");
        std::fs::write(&list, "a\n./b\n-C\n\n").unwrap();
        let list = list.to_str().unwrap();
        for words in [
            &["tar", "-cf", "out", "-T", list] as &[&str],
            &["tar", "cf", "out", "--files-from", list],
            &["tar", "cfT", "out", list],
            &["gtar", "--create", &format!("--files-from={list}")],
            &["tar", "-cC", "/d", &format!("-T{list}")],
            &["tar", "-cT", list, "-f", "out"],
        ] {
            let found = of(words);
            assert!(found == "/d/a /d/b", "{words:?}: {found}");
        }
        assert_eq!(
            of(&["tar", "-c", "-C", "x", "a", "-Cy", "b"]),
            "/d/x/a /d/x/y/b"
        );
        assert_eq!(of(&["tar", "-xf", "out", "-T", list]), "");
        assert_eq!(of(&["tar", "-c", "-T", "/no/such/list"]), "");
        std::fs::write(list, "a\0b\nc\0").unwrap();
        assert_eq!(
            of(&["wc", &format!("--files0-from={list}")]),
            "/d/a /d/b\nc"
        );
    }
}
