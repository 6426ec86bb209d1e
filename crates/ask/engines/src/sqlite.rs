//! SQL on SQLite files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use trawl_call::request::Cancel;
use trawl_sets::expand::Engine;
use trawl_sets::{Found, Names, Problem};

use crate::error::EngineError;
use crate::head::head;
use crate::relay::{Relay, Sender};

/// The first bytes of every database (SQLite's file format, section 1.3).
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Number of steps of SQLite's machine between two looks for a cancel.
const STEPS: i32 = 10_000;

/// Answers SQL on SQLite files: one statement that only reads. The first column of a row, or the
/// column named `path`, is a path or a URL; a row where it is null is left out.
#[derive(Clone, Copy, Debug)]
pub struct Sqlite;

impl Engine for Sqlite {
    fn accepts(&self, prefix: &[u8]) -> bool {
        head::<HEAD_BYTES>(prefix).is_some_and(|head| head.starts_with(MAGIC))
    }

    fn run(&self, prefix: &[u8], query: &[u8], _: &Cancel) -> Result<Box<dyn Names>, Problem> {
        let query = String::from_utf8(query.to_vec()).map_err(|_| EngineError::Text.at(prefix))?;
        let path = prefix.to_vec();
        let relay = Relay::start(prefix, move |sender| ask(&path, &query, sender));
        let relay = relay.map_err(|error| EngineError::System(error).at(prefix))?;
        Ok(Box::new(relay))
    }
}

/// Number of first bytes up to the numbers of the formats for writing and reading (SQLite's file
/// format, section 1.3.3).
const HEAD_BYTES: usize = 20;

/// Returns whether a database in write-ahead mode has no changes beside it. Opened as usual, it
/// would get two files beside it that stay.
fn is_settled(path: &[u8]) -> bool {
    let is_wal = head::<HEAD_BYTES>(path).is_some_and(|head| head[18..] == [2, 2]);
    let beside = [path, b"-wal"].concat();
    let log = std::fs::metadata(OsStr::from_bytes(&beside));
    is_wal && log.map_or(true, |log| log.len() == 0)
}

/// Returns a path as a URI in which SQLite finds no option but ours.
fn unchanging(path: &[u8]) -> OsString {
    let mut uri = b"file:".to_vec();
    for byte in path {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(*byte),
            byte if byte.is_ascii_alphanumeric() => uri.push(*byte),
            byte => uri.extend(format!("%{byte:02X}").bytes()),
        }
    }
    uri.extend(b"?immutable=1");
    OsString::from_vec(uri)
}

/// Opens a database so that no statement can change anything or leave the file.
fn open(path: &[u8], sender: &Sender) -> Result<Connection, EngineError> {
    // Without `SQLITE_OPEN_URI` a name with `file:` is a plain path.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut database = match is_settled(path) {
        true => Connection::open_with_flags(unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI)?,
        false => Connection::open_with_flags(OsStr::from_bytes(path), flags)?,
    };
    database.pragma_update(None, "query_only", true)?;
    database.pragma_update(None, "trusted_schema", false)?;
    // Damaged files are errors. Triggers and the schema of a file cannot run unsafe functions.
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LENGTH, 64 << 20),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        database.set_limit(limit, most)?;
    }
    let stop = Arc::clone(sender.stop());
    let is_stopped = move || stop.load(Ordering::Relaxed);
    database.progress_handler(STEPS, Some(is_stopped))?;
    database.authorizer(Some(only_reads))?;
    Ok(database)
}

/// Allows what reads the file's own tables.
fn only_reads(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Recursive
        | AuthAction::Function { .. } => Authorization::Allow,
        // Connecting a virtual table, such as json_each or a full-text index, prepares this
        // statement and never runs it: the database is open for reading only.
        AuthAction::Update {
            table_name: "sqlite_master",
            ..
        } => Authorization::Allow,
        AuthAction::Pragma {
            pragma_name: "data_version",
            pragma_value: None,
        } => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

fn ask(path: &[u8], query: &str, sender: &Sender) -> Result<(), EngineError> {
    let database = open(path, sender)?;
    let mut statement = database.prepare(query)?;
    let column = { statement.column_names() }
        .position(|name| name.eq_ignore_ascii_case("path"))
        .unwrap_or(0);
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name = match row.get_ref(column)? {
            ValueRef::Null => continue,
            ValueRef::Text(name) | ValueRef::Blob(name) if !name.contains(&0) => name,
            _ => return Err(EngineError::NoPath),
        };
        if !name.is_empty() && sender.send(Ok(Found::named(name))).is_err() {
            break;
        }
    }
    Ok(())
}
