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
use trawl_text::json::Object;
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;

use crate::answer::Failing;
use crate::arguments::Manner;
use crate::csv::Line;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::{Device, Output, say};
use crate::rows::Form;
use crate::scope::Session;

use self::excluded::contents;
pub(crate) use self::options::DuArgs;
use self::options::{Flags, Measure, Plan};

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
        output: Output::stdout(),
        zone: Zone::local(),
    };
    if plan.form == Form::Csv {
        lines.output.put("path,path_raw,disk_bytes,size,inodes\n")?;
    }
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
    lines.output.finish()?;
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
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    let (mut paths, mut exit) = (Vec::new(), Exit::Complete);
    for (at, name) in text.split(|b| *b == 0).enumerate() {
        match (name, text) {
            (_, b"") => {}
            (b"", _) => {
                let file = quoted(file.as_bytes());
                say(format_args!(
                    "{file}: name {} is empty: there is no such file",
                    at + 1
                ));
                exit = Exit::Issues;
            }
            _ => paths.push(OsStr::from_bytes(name).to_owned()),
        }
    }
    Ok((paths, exit))
}

/// Writer of lines.
struct Lines<'a> {
    plan: &'a Plan,
    terminal: Terminal,
    output: Output,
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
        let line = match self.plan.form {
            Form::Text => {
                let mut line = self.plan.format.show(amount).into_bytes();
                line.push(b'\t');
                if let Some(look) = &self.plan.time {
                    let now = Timestamp::default();
                    line.extend(look.show(shown.time, now, &self.zone).bytes());
                    line.push(b'\t');
                }
                line.extend_from_slice(&self.terminal.show(path));
                line.push(self.plan.ending);
                line
            }
            Form::Json => {
                let object = Object::new()
                    .bytes("path", path)
                    .number("disk_bytes", disk_bytes);
                let object = object.number("size", usage.size_bytes);
                (object.number("inodes", usage.inodes).close() + "\n").into_bytes()
            }
            Form::Csv => Line::new()
                .path(path)
                .value(disk_bytes)
                .value(usage.size_bytes)
                .value(usage.inodes)
                .close(),
        };
        self.output.put(line)
    }
}
