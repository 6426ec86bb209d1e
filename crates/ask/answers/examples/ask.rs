//! Answers questions from an index, in process: `ask INDEX QUESTION PATH [EXPRESSION…]`.
//!
//! The questions are find, du, top, stats and history. This program shows how little a program
//! needs that asks Trawl: a session, options, and a visitor or an answer. `tests/ask.rs` runs it.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

use trawl_answers::du::{Du, DuOptions};
use trawl_answers::expression::Expression;
use trawl_answers::find::{FindOptions, find};
use trawl_answers::history::history;
use trawl_answers::stats::{Kinds, StatsOptions, stats};
use trawl_answers::top::{Measure, Ranking, SizeKind, Subject, TopOptions, top};
use trawl_model::column::{Column, ColumnSet};
use trawl_session::{Options, Session, Sessions, now};
use trawl_text::owners::Owners;

/// Answers a question; returns true if nothing is missing in the answer.
pub fn ask(words: &[OsString], out: &mut dyn Write) -> Result<bool, Box<dyn Error>> {
    let [index, question, path, rest @ ..] = words else {
        return Err("usage: ask INDEX (find|du|top|stats|history) PATH [EXPRESSION…]".into());
    };
    let indexes = vec![PathBuf::from(index)];
    let options = Options {
        listener: &|notice| eprintln!("ask: {notice}"),
        ..Options::default()
    };
    let mut session = Session::open(&indexes, options)?;
    let expression = Expression::read(rest)?;
    match question.as_bytes() {
        b"find" => print_found(&mut session, path, &expression, out)?,
        b"du" => print_space(&mut session, path, out)?,
        b"top" => print_largest(&mut session, path, &expression, out)?,
        b"stats" => print_counts(&mut session, path, &expression, out)?,
        b"history" => print_history(&Sessions::new(indexes, options), path, out)?,
        _ => return Err("there is no such question".into()),
    }
    Ok(session.finish().is_complete())
}

/// Writes a number and a path; ends the answer if that fails.
fn line(out: &mut dyn Write, number: u64, path: &[u8]) -> ControlFlow<()> {
    let written = write!(out, "{number}\t")
        .and_then(|()| out.write_all(path))
        .and_then(|()| out.write_all(b"\n"));
    match written {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}

fn print_found(
    session: &mut Session<'_>,
    path: &OsStr,
    expression: &Expression,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let options = FindOptions {
        expression,
        columns: ColumnSet::of(&[Column::Size]),
    };
    Ok(find(session, path, &options, &mut |found| {
        line(out, found.entry.row().size(), found.path)
    })?)
}

fn print_space(
    session: &mut Session<'_>,
    path: &OsStr,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let options = DuOptions::default();
    let mut du = Du::new(session, &options);
    Ok(du.add(session, path, &mut |sum| {
        line(out, sum.amount.usage.size_bytes, sum.path)
    })?)
}

fn print_largest(
    session: &mut Session<'_>,
    path: &OsStr,
    expression: &Expression,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let options = TopOptions {
        subject: Subject::Largest,
        by: Measure::Space,
        size: SizeKind::Apparent,
        limit: 3,
        expression,
        columns: ColumnSet::of(&[Column::Size]),
        now: now(),
    };
    let top = top(session, &[path.to_owned()], &options, &Owners::default())?;
    if let Ranking::Files(files) = &top.ranking {
        for (path, entry) in files {
            let _ = line(out, entry.row().size(), path);
        }
    }
    Ok(())
}

fn print_counts(
    session: &mut Session<'_>,
    path: &OsStr,
    expression: &Expression,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let options = StatsOptions {
        kinds: &Kinds::usual(),
        expression,
        limit: Some(20),
        now: now(),
    };
    let counts = stats(session, path, &options, &Owners::default())?;
    let sections = counts.map(|counts| counts.sections).unwrap_or_default();
    for group in sections.iter().flat_map(|section| &section.groups) {
        let label = [group.by.as_bytes(), b" ", &group.label].concat();
        let _ = line(out, group.count.entries, &label);
    }
    Ok(())
}

fn print_history(
    sessions: &Sessions<'_>,
    path: &OsStr,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let seen = history(sessions, path.as_bytes(), &mut |moment| {
        let size = moment.change.state().map_or(0, |state| state.meta.size);
        line(out, size, moment.change.name().as_bytes())
    })?;
    match seen {
        Ok(_) => Ok(()),
        Err(why) => Err(why.to_string().into()),
    }
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match ask(&words, &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("ask: {error}");
            ExitCode::from(2)
        }
    }
}
