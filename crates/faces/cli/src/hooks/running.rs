//! `trawl hooks run`.

use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use trawl_hooks::format::HEAD_BYTES;
use trawl_hooks::found::prefix;
use trawl_hooks::{Extracted, Limits, Value, extract, mime_type};
use trawl_report::{Field, Schema, fields, schema};
use trawl_text::json::rfc3339;

use super::RunArgs;
use crate::attributes::{NAME, TYPE, VALUES};
use crate::exit::Exit;
use crate::failure::{Failure, cause, shown};
use crate::output::say;
use crate::rows;

const PATH: Field = fields::PATH;
const MIME: Field = Field::text("mime_type", "MIME type by which hooks were chosen");
const TEXT: Field = Field::text("text", "text whose words are keywords");

const ATTRIBUTES: Field = Field::objects(
    "attributes",
    &[NAME, TYPE, VALUES],
    "attributes that hooks found",
);

const KIND: Field = Field::text("kind", "kind of the reference, such as `links-to`");
const TARGET: Field = Field::text("target", "the target as the file names it");
const RELATIONS: Field = Field::objects(
    "relations",
    &[KIND, TARGET],
    "references to other files that hooks found",
);

const HOOK: Field = Field::text("hook", "the hook with the problem");
const FAULT: Field = Field::text(
    "fault",
    "kind of the problem: unreadable, damaged, limit, crash, timeout, nonsense or unavailable",
);
const MESSAGE: Field = Field::text("message", "the problem in words");
const PROBLEMS: Field = Field::objects(
    "problems",
    &[HOOK, FAULT, MESSAGE],
    "what went wrong with the file",
);

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "what hooks found in a file",
    fields: &[PATH, MIME, ATTRIBUTES, RELATIONS, PROBLEMS, TEXT],
    forms: schema::OBJECTS,
    samples: &[],
};

/// Length of the text that is shown to people, in bytes.
const SHOWN_BYTES: usize = 400;

/// Shows what the hooks find in files.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let hooks = args.directories.load()?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    let mut exit = Exit::Complete;
    report.begin()?;
    for path in &args.files {
        let opened = open(path);
        let (file, mime) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                say(format_args!(
                    "cannot read {}: {}",
                    path.display(),
                    cause(&error)
                ));
                exit = exit.and(Exit::Issues);
                continue;
            }
        };
        let name = path.file_name().unwrap_or_default();
        let found = extract(&file, name.as_bytes(), &hooks, &Limits::default());
        exit = exit.and(Exit::from_issues(found.problems.len() as u64));
        let text = || text(path, mime, &found);
        report.line(text, |row| {
            row.put(&PATH, path.as_os_str().as_bytes()).put(&MIME, mime);
            row.objects(&ATTRIBUTES, &found.attributes, |row, (name, value)| {
                let values = values(value);
                row.put(&NAME, name.as_str()).put(&TYPE, value.kind());
                row.texts(&VALUES, values.iter().map(String::as_str));
            });
            row.objects(&RELATIONS, &found.relations, |row, relation| {
                row.put(&KIND, relation.kind.as_str());
                row.put(&TARGET, relation.target.as_str());
            });
            row.objects(&PROBLEMS, &found.problems, |row, problem| {
                row.put(&HOOK, problem.hook.as_str());
                row.put(&FAULT, problem.fault.name());
                row.put(&MESSAGE, problem.message.as_str());
            });
            row.put(&TEXT, found.text.as_str());
        })?;
        for problem in &found.problems {
            let name = shown(path.as_os_str().as_bytes());
            say(format_args!(
                "{name}: {}: {}",
                problem.hook, problem.message
            ));
        }
    }
    rows::finish(report)?;
    Ok(exit)
}

/// Opens a file for reading, without waiting for what is no regular file.
fn open(path: &Path) -> std::io::Result<(File, &'static str)> {
    /// `O_NONBLOCK`
    const NEVER_WAIT: i32 = 0o4000;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(NEVER_WAIT)
        .open(path)?;
    let mut head = vec![0; HEAD_BYTES];
    // What cannot be read is reported by the hooks.
    let read = file.read_at(&mut head, 0).unwrap_or(0);
    let name = path.file_name().unwrap_or_default();
    let mime = mime_type(&head[..read], name.as_bytes());
    Ok((file, mime))
}

fn values(value: &Value) -> Vec<String> {
    match value {
        Value::Text(text) => vec![text.clone()],
        Value::Integer(number) => vec![number.to_string()],
        Value::Real(number) => vec![number.to_string()],
        Value::Time(ns) => vec![time(*ns)],
        Value::List(all) => all.iter().flat_map(values).collect(),
    }
}

fn time(ns: i64) -> String {
    const SECOND: i64 = 1_000_000_000;
    rfc3339(trawl_model::Timestamp {
        secs: ns.div_euclid(SECOND),
        nanos: u32::try_from(ns.rem_euclid(SECOND)).unwrap_or(0),
    })
}

fn text(path: &Path, mime: &str, found: &Extracted) -> String {
    let mut text = format!("{}: {mime}\n", shown(path.as_os_str().as_bytes()));
    for (name, value) in &found.attributes {
        text.push_str(&format!("  {name} = {}\n", values(value).join(", ")));
    }
    for relation in &found.relations {
        text.push_str(&format!("  {} {}\n", relation.kind, relation.target));
    }
    if !found.text.is_empty() {
        let begin = prefix(&found.text, SHOWN_BYTES);
        let words: Vec<&str> = begin.split_whitespace().collect();
        let rest = if begin.len() < found.text.len() {
            " …"
        } else {
            ""
        };
        text.push_str(&format!("  text: {}{rest}\n", words.join(" ")));
    }
    text
}
