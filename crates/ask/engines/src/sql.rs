//! SQL on directories, answered by the program `trawl-sql`, with the asking user's permissions.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trawl_model::sync::lock;
use trawl_sets::Found;

use crate::Settings;
use crate::error::EngineError;
use crate::relay::Sender;

/// Interval at which it is checked whether the program must end.
const LOOK: Duration = Duration::from_millis(20);

/// Maximum size of a path, and of the program's message.
const MESSAGE_BYTES: u64 = 64 << 10;

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

/// Makes a query of the paper's kind into SQL: without `from`, it is about the table `entries`; and
/// a text in double quotes that cannot be a column's name is a text (`"%david%"`).
pub(crate) fn completed(query: &str) -> String {
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
    out.insert_str(at, " FROM entries ");
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

/// Runs the query and passes on the paths in its first column that lie in the directory.
pub(crate) fn ask(
    settings: &Settings,
    prefix: &[u8],
    query: &str,
    sender: &Sender,
) -> Result<(), EngineError> {
    let root = std::fs::canonicalize(OsStr::from_bytes(prefix))?;
    let root = root.into_os_string().into_vec();
    let mut child = start(settings, &completed(query))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (child, is_done) = (Mutex::new(child), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| end_on_stop(&child, &is_done, sender));
        let message = scope.spawn(|| err.map(message_of).unwrap_or_default());
        let passed = out.map_or(Ok(()), |out| pass_on(out, &root, sender));
        is_done.store(true, Ordering::Relaxed);
        let message = message.join().unwrap_or_default();
        let status = lock(&child).wait()?;
        passed?;
        let is_wanted = !sender.stop().load(Ordering::Relaxed);
        match is_wanted && !status.success() {
            true => Err(EngineError::Sql(message)),
            false => Ok(()),
        }
    })
}

fn start(settings: &Settings, query: &str) -> Result<Child, EngineError> {
    let mut missing = io::Error::from(io::ErrorKind::NotFound);
    for program in &settings.sql_programs {
        let mut command = Command::new(program);
        if let Some(index) = &settings.index {
            command.arg("--index").arg(index);
        }
        let command = command.args(["sql", "-0", "--", query]);
        let command = command.stdin(Stdio::null());
        match command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
        {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing = error,
            Err(error) => return Err(EngineError::Program(error)),
        }
    }
    Err(EngineError::Program(missing))
}

/// Ends the program when nobody wants its answer any more.
fn end_on_stop(child: &Mutex<Child>, is_done: &AtomicBool, sender: &Sender) {
    while !is_done.load(Ordering::Relaxed) {
        if sender.stop().load(Ordering::Relaxed) {
            let _ = lock(child).kill();
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// Reads what the program says; what is beyond the limit is read and dropped.
fn message_of(mut err: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = err.by_ref().take(MESSAGE_BYTES).read_to_end(&mut bytes);
    let _ = io::copy(&mut err, &mut io::sink());
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

fn pass_on(out: impl Read, root: &[u8], sender: &Sender) -> Result<(), EngineError> {
    let mut out = BufReader::new(out);
    let mut path = Vec::new();
    while out.by_ref().take(MESSAGE_BYTES).read_until(0, &mut path)? > 0 {
        if path.pop() != Some(0) {
            return Err(EngineError::NoPath);
        }
        if let Some(name) = name_in(root, &path)
            && sender.send(Ok(Found::named(name))).is_err()
        {
            break;
        }
        path.clear();
    }
    Ok(())
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
            assert_eq!(completed(query), expected);
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
