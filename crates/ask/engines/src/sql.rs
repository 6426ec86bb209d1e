//! SQL on directories and Parquet files, answered by the program `trawl-sql` with the asking user's
//! permissions.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use trawl_call::Cancel;
use trawl_sets::expand::Records;
use trawl_sets::expand::process::Process;
use trawl_sets::{Found, Names, Problem};
use trawl_sys::child::SignalMask;

use crate::Settings;
use crate::error::EngineError;

/// Returns whether a query is SQL: its first word is `select` or `with`.
pub(crate) fn is_sql(query: &[u8]) -> bool {
    let word = query.trim_ascii_start();
    let end = word.iter().position(|byte| !byte.is_ascii_alphabetic());
    let word = &word[..end.unwrap_or(word.len())];
    word.eq_ignore_ascii_case(b"select") || word.eq_ignore_ascii_case(b"with")
}

/// Words before which the table stands.
const AFTER_FROM: [&str; 8] = [
    "where", "group", "having", "order", "limit", "offset", "union", "window",
];

/// Makes a query of the paper's kind into SQL: without `from`, it is about this table; and a text in
/// double quotes that cannot be a column's name is a text (`"%david%"`).
pub(crate) fn completed(query: &str, table: &str) -> String {
    let (mut out, mut from) = (String::new(), None);
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => quoted(rest, first),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        if piece.eq_ignore_ascii_case("from") {
            return texts(query);
        }
        if from.is_none()
            && AFTER_FROM
                .iter()
                .any(|word| piece.eq_ignore_ascii_case(word))
        {
            from = Some(out.len());
        }
        out.push_str(piece);
    }
    let at = from.unwrap_or(out.trim_end_matches([';', ' ', '\n']).len());
    out.insert_str(at, &format!(" FROM {table} "));
    texts(&out)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a quotation at the beginning of a text; a doubled quote goes on.
fn quoted(text: &str, quote: char) -> usize {
    let end = text[1..].find(quote);
    end.map_or(text.len(), |end| end + 2)
}

/// Writes texts in double quotes as SQL texts, unless they look like names.
fn texts(query: &str) -> String {
    let (mut out, mut rest) = (String::new(), query);
    while let Some(at) = rest.find(['\'', '"']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let quote = if rest.starts_with('"') { '"' } else { '\'' };
        let (piece, after) = rest.split_at(quoted(rest, quote));
        rest = after;
        let inner = piece
            .strip_prefix('"')
            .and_then(|piece| piece.strip_suffix('"'));
        match inner.filter(|inner| !inner.is_empty() && !inner.chars().all(is_word)) {
            Some(text) => out.push_str(&format!("'{}'", text.replace('\'', "''"))),
            None => out.push_str(piece),
        }
    }
    out + rest
}

/// The kind of object that a query is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// A directory: the rows of the index about it and everything below it.
    Directory,
    /// A Parquet file: its rows.
    File,
}

impl About {
    /// Returns the table that queries without `from` are about.
    fn table(self) -> &'static str {
        match self {
            About::Directory => "entries",
            About::File => "file",
        }
    }
}

/// The paths in a result: of a directory, those that lie in it.
pub(crate) struct Paths {
    process: Process,
    prefix: Vec<u8>,
    /// The directory, without links.
    root: Option<Vec<u8>>,
}

impl Paths {
    /// Runs a query, with these signals blocked.
    ///
    /// # Errors
    /// If the object cannot be found, or the program cannot be started.
    pub(crate) fn ask(
        settings: &Settings,
        prefix: &[u8],
        query: &str,
        (about, mask): (About, SignalMask),
    ) -> Result<Paths, EngineError> {
        let root = match about {
            About::Directory => Some(std::fs::canonicalize(OsStr::from_bytes(prefix))?),
            About::File => None,
        };
        let root = root.map(|root| root.into_os_string().into_vec());
        let (option, value) = match &root {
            Some(root) => ("--below", of(root)),
            None => ("--table", of(&[b"file=", prefix].concat())),
        };
        let query = completed(query, about.table());
        let words = [
            "--paths".into(),
            option.into(),
            value,
            "--".into(),
            query.into(),
        ];
        Ok(Paths {
            process: start(settings, words.into(), mask)?,
            prefix: prefix.to_vec(),
            root,
        })
    }
}

impl Names for Paths {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            match self.process.next_name(cancel)? {
                Ok(path) => {
                    let name = match &self.root {
                        Some(root) => name_in(root, &path),
                        None => Some(path),
                    };
                    if let Some(name) = name {
                        return Some(Ok(Found::named(name)));
                    }
                }
                Err(error) => {
                    let error = EngineError::Sql(error.to_string());
                    return Some(Err(error.at(&self.prefix)));
                }
            }
        }
    }
}

fn of(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}

/// Starts the program with these words.
fn start(
    settings: &Settings,
    words: Vec<OsString>,
    mask: SignalMask,
) -> Result<Process, EngineError> {
    let mut missing = io::Error::from(io::ErrorKind::NotFound);
    for program in &settings.sql_programs {
        let mut command = Command::new(program);
        // Called by its own name, it would take the word `sql` for a statement.
        command.arg0("trawl");
        if let Some(index) = &settings.index {
            command.arg("--index").arg(index);
        }
        command.arg("sql").args(&words);
        match Process::start(command, Records::Nul, mask) {
            Ok(process) => return Ok(process),
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing = error,
            Err(error) => return Err(EngineError::Program(error)),
        }
    }
    Err(EngineError::Program(missing))
}

/// Returns a path relative to the directory; `None` if it does not lie in it.
fn name_in(root: &[u8], path: &[u8]) -> Option<Vec<u8>> {
    if !path.starts_with(b"/") {
        return (!path.is_empty()).then(|| path.to_vec());
    }
    let below = match root {
        b"/" => &path[1..],
        _ => path.strip_prefix(root)?,
    };
    match below {
        b"" => Some(b".".to_vec()),
        below if root == b"/" => Some(below.to_vec()),
        below => below.strip_prefix(b"/").map(<[u8]>::to_vec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_the_paper_becomes_sql() {
        for (query, expected) in [
            (
                r#"select path where name like "%david%""#,
                "select path  FROM entries where name like '%david%'",
            ),
            ("select path from x", "select path from x"),
            ("select 'from'", "select 'from' FROM entries "),
            (
                r#"select "path" from t where a = "it's""#,
                r#"select "path" from t where a = 'it''s'"#,
            ),
        ] {
            assert_eq!(completed(query, "entries"), expected);
        }
        assert!(is_sql(b" SELECT(1)") && is_sql(b"with a as") && !is_sql(b"selection"));
    }

    #[test]
    fn only_paths_in_the_directory_are_members() {
        assert_eq!(name_in(b"/a", b"/a/b"), Some(b"b".to_vec()));
        assert_eq!(name_in(b"/a", b"/ab"), None);
        assert_eq!(name_in(b"/a", b"b"), Some(b"b".to_vec()));
        assert_eq!(name_in(b"/", b"/b"), Some(b"b".to_vec()));
    }
}
