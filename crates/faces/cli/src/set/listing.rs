//! Lists the members of a set without fetching them.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use trawl_call::Attributes;
use trawl_find::record;
use trawl_model::mapped::spelled;
use trawl_model::{Column, FileType};
use trawl_report::{Field, Form, Row, fields};
use trawl_sets::{Digest, Problem, Set};
use trawl_text::json::decimal;
use trawl_text::locale::Locale;
use trawl_text::quote::Quoting;

use super::alive::Alive;
use super::{SCHEMA, SetArgs, Use};
use crate::arguments::Manner;
use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live;
use crate::output::{Device, say};
use crate::rows::{self, Report};

/// How soon listed members are shown and an interrupt is noticed while nothing further is found.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

pub(super) const PATH: Field = fields::PATH;
pub(super) const SIZE: Field = record::field(Column::Size);
pub(super) const MODE: Field = record::field(Column::Mode);
pub(super) const UID: Field = record::field(Column::Uid);
pub(super) const GID: Field = record::field(Column::Gid);
pub(super) const MTIME: Field = record::field(Column::Mtime);

/// Lists the members.
pub(super) fn list(
    args: &SetArgs,
    setting: &Setting<'_>,
    manner: Manner,
    alive: &Alive,
) -> Result<Exit, Failure> {
    if args.allow_commands {
        live::outlive_signals().map_err(|why| Failure::Usage(why.to_string()))?;
    }
    let wants_attributes =
        args.digest || matches!(args.form.form(), Form::Json | Form::Csv | Form::Arrow);
    let set = args.open(
        setting,
        manner,
        match wants_attributes {
            true => Use::Attributes,
            false => Use::Names,
        },
        alive,
    )?;
    let form = match args.form.form() {
        Form::Null => Form::Text,
        form => form,
    };
    let mut report = rows::report(&SCHEMA, form);
    let ending = Ending::of(args);
    let (mut problems, mut count, mut all) = (0, 0u64, Vec::new());
    let mut coming = Coming::of(&set, args);
    while let Some(member) = coming.next(&mut report)? {
        match member {
            Ok(_) if args.size => count += 1,
            Ok(member) if args.sort => all.push(member),
            Ok(member) => put(&mut report, &member, args, ending)?,
            Err(problem) => {
                problems += 1;
                say(&problem);
            }
        }
    }
    all.sort_by(|a, b| spelled(&a.name).cmp(&spelled(&b.name)));
    for member in &all {
        put(&mut report, member, args, ending)?;
    }
    match args.size {
        true => report.put(format!("{count}\n"))?,
        false => report.begin()?,
    }
    rows::finish(report)?;
    set.close();
    Ok(Exit::from_issues(problems))
}

/// The members that are still to come.
struct Coming<'s> {
    set: &'s Set,
    /// Names run commands, which have to be ended.
    runs_commands: bool,
    /// When to show what was listed, if nothing further has been found by then.
    show_at: Instant,
}

impl<'s> Coming<'s> {
    fn of(set: &'s Set, args: &SetArgs) -> Coming<'s> {
        Coming {
            set,
            runs_commands: args.allow_commands,
            show_at: Instant::now() + LOOK_AGAIN,
        }
    }

    /// Returns the next member or problem, and shows those before if it has to be waited for. If
    /// names run commands, an interrupt ends the listing here, so that the commands are ended, too.
    ///
    /// # Errors
    /// Fails if nobody reads the listing any more, or it cannot be written.
    fn next(&mut self, report: &mut Report) -> Result<Option<Result<Digest, Problem>>, Failure> {
        loop {
            if self.runs_commands && live::is_interrupted() {
                return Ok(None);
            }
            let left = self.show_at.saturating_duration_since(Instant::now());
            if let Ok(next) = self.set.digest_timeout(left) {
                return Ok(next);
            }
            report.output().flush().map_err(Failure::Write)?;
            // Without anything to write, no failed write tells of it.
            if trawl_sys::wait::is_hung_up(io::stdout()) {
                return Err(Failure::Write(io::ErrorKind::BrokenPipe.into()));
            }
            self.show_at = Instant::now() + LOOK_AGAIN;
        }
    }
}

/// What follows a name, and how it is written.
#[derive(Clone, Copy)]
enum Ending {
    Null,
    Line,
    /// Quoted as a word of a shell.
    Quoted,
}

impl Ending {
    fn of(args: &SetArgs) -> Ending {
        match Device::of_stdout() {
            _ if args.form.form() == Form::Null => Ending::Null,
            Device::Terminal => Ending::Quoted,
            Device::Other => Ending::Line,
        }
    }
}

fn put(
    report: &mut Report,
    member: &Digest,
    args: &SetArgs,
    ending: Ending,
) -> Result<(), Failure> {
    Ok(report.line(|| text(member, args, ending), |row| fill(row, member))?)
}

fn text(member: &Digest, args: &SetArgs, ending: Ending) -> Vec<u8> {
    let mut line = match (args.digest, &member.attributes) {
        (false, _) => Vec::new(),
        (true, None) => b"? ? ? ".to_vec(),
        (true, Some(of)) => {
            let letter = letter(of);
            format!("{letter} {} {} ", of.size, decimal(of.mtime)).into_bytes()
        }
    };
    let name = spelled(&member.name);
    match ending {
        Ending::Null => line.extend([&name[..], b"\0"].concat()),
        Ending::Line => line.extend([&name[..], b"\n"].concat()),
        Ending::Quoted => {
            let quoted = Quoting::ShellEscape.quote(&name, Locale::from_env());
            line.extend_from_slice(quoted.as_ref());
            line.push(b'\n');
        }
    }
    line
}

fn letter(of: &Attributes) -> char {
    char::from(FileType::from_mode(of.mode).letter())
}

fn fill(row: &mut Row<'_>, member: &Digest) {
    row.put(&PATH, &*spelled(&member.name));
    if let Some(of) = &member.attributes {
        row.put(&super::TYPE, letter(of))
            .put(&SIZE, of.size)
            .put(&MODE, of.mode)
            .put(&fields::PERMISSIONS, &record::permissions(of.mode))
            .put(&UID, of.uid)
            .put(&GID, of.gid)
            .put(&MTIME, of.mtime);
    }
}
