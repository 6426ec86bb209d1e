//! `trawl du`: space used, counted as GNU du does: directories after their content, files with
//! several names once, sizes rounded up.
//!
//! Lines appear in path order. GNU du follows the order of the file system, so it prints the same
//! lines in another order, and may count a file with names in several directories in another one of
//! them.

mod excluded;
mod options;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_answers::du::{Amount, Du};
use trawl_model::Timestamp;
use trawl_report::{Field, Schema, fields, schema};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;

use crate::answer::Failing;
use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::{Device, say};
use crate::rows::{self, Report};
use crate::scope::Session;

use self::excluded::contents;
pub(crate) use self::options::DuArgs;
use self::options::{Flags, Measure, Plan};

const INODES: Field = Field::integer("inodes", "number of objects that `du` counted");

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "a directory with everything below it, or a file",
    fields: &[
        fields::PATH.always(),
        fields::DISK_BYTES.always(),
        fields::SIZE.always(),
        INODES.always(),
    ],
    forms: schema::ROWS,
    samples: &["du -a"],
};

impl Spec for DuArgs {
    const ABOUT: &'static str = "Sum up disk usage, as du does";
    const HAS_OWN_HELP: bool = true;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl du -sh /home/*", "show the sizes of directories"),
        (
            "trawl du -d 1 --inodes .",
            "show the number of entries in each",
        ),
    ];
    const SEE_ALSO: &'static [&'static str] = &["du(1)", "trawl-top(1)", "trawl-growth(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &DuArgs, manner: Manner) -> Result<Exit, Failure> {
    let flags = &args.flags;
    let (paths, unnamed) = arguments(flags)?;
    let plan = args.plan(paths.len(), &|name| std::env::var_os(name))?;
    let mut session = Session::open(index, manner.then(flags.manner), Exit::Issues)?;
    session.worsen(unnamed);
    let mut lines = Lines {
        plan: &plan,
        terminal: match Device::of_stdout() {
            Device::Terminal => Terminal::Watched(Locale::from_env()),
            Device::Other => Terminal::Absent,
        },
        report: rows::report(&SCHEMA, plan.form),
        zone: Zone::local(),
    };
    lines.report.begin()?;
    let mut du = Du::new(&session, &plan.options);
    for given in &paths {
        let mut failing = Failing::default();
        let done = du.add(&mut session, given, &mut |sum| {
            failing.check(lines.print(sum.path, &sum.amount))
        });
        failing.end(done)?;
    }
    if plan.total {
        lines.write(b"total", &du.total())?;
    }
    rows::finish(lines.report)?;
    session.finish()
}

/// Returns the paths to sum up, and the exit code for invalid names among them.
fn arguments(flags: &Flags) -> Result<(Vec<OsString>, Exit), Failure> {
    let Some(file) = &flags.files0_from else {
        let here = vec![OsString::from(".")];
        let given = flags.paths.clone();
        return Ok((if given.is_empty() { here } else { given }, Exit::Complete));
    };
    let text = contents(Path::new(file))?;
    let (mut paths, mut exit) = (Vec::new(), Exit::Complete);
    if text.is_empty() {
        return Ok((paths, exit));
    }
    // A NUL ends each name: a single one is an empty name.
    let names = text.strip_suffix(b"\0").unwrap_or(&text);
    for (at, name) in names.split(|b| *b == 0).enumerate() {
        if name.is_empty() {
            let file = quoted(file.as_bytes());
            say(format_args!(
                "{file}: name {} is empty: there is no such file",
                at + 1
            ));
            exit = Exit::Issues;
        } else {
            paths.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok((paths, exit))
}

/// Writer of lines.
struct Lines<'a> {
    plan: &'a Plan,
    terminal: Terminal,
    report: Report,
    zone: Zone,
}

impl Lines<'_> {
    /// Prints a line unless its amount is beyond the threshold.
    fn print(&mut self, path: &[u8], shown: &Amount) -> Result<(), Failure> {
        let amount = match self.plan.measure {
            Measure::Disk => u128::from(shown.usage.blocks) * 512,
            Measure::Apparent => u128::from(shown.usage.size_bytes),
            Measure::Inodes => u128::from(shown.usage.inodes),
        };
        match self.plan.threshold.admits(amount) {
            true => self.write(path, shown),
            false => Ok(()),
        }
    }

    fn write(&mut self, path: &[u8], shown: &Amount) -> Result<(), Failure> {
        let usage = &shown.usage;
        let disk_bytes = u128::from(usage.blocks) * 512;
        let amount = match self.plan.measure {
            Measure::Disk => disk_bytes,
            Measure::Apparent => u128::from(usage.size_bytes),
            Measure::Inodes => u128::from(usage.inodes),
        };
        let plan = self.plan;
        let text = || {
            let mut line = plan.format.show(amount).into_bytes();
            line.push(b'\t');
            if let Some(look) = &plan.time {
                let now = Timestamp::default();
                line.extend(look.show(shown.time, now, &self.zone).bytes());
                line.push(b'\t');
            }
            line.extend_from_slice(&self.terminal.show(path));
            line.push(plan.ending);
            line
        };
        let done = self.report.line(text, |row| {
            row.put(&fields::PATH, path)
                .put(&fields::DISK_BYTES, disk_bytes)
                .put(&fields::SIZE, usage.size_bytes)
                .put(&INODES, usage.inodes);
        });
        Ok(done?)
    }
}
