//! `trawl du`: space used, counted as GNU du does: directories after their content, files with
//! several names once, sizes rounded up.
//!
//! Lines appear in path order. GNU du follows the order of the file system, so it prints the same
//! lines in another order, and may count a file with names in several directories in another one of
//! them.

mod correction;
mod excluded;
mod options;
mod tally;

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_model::path::{is_within, split};
use trawl_model::{Subtrees, Timestamp};
use trawl_query::{Detail, SeenLinks, Start, Usage, UsageOf, UsageRequest};
use trawl_report::{Field, Schema, fields};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::{Device, say};
use crate::rows::{self, Report};
use crate::scope::{self, Depth, Follow, Session, printed_path, row_of};

use self::correction::{Corrected, Correction, Part, elsewhere};
use self::excluded::contents;
pub(crate) use self::options::DuArgs;
use self::options::{Flags, Links, Measure, Plan, Shown};
use self::tally::{Amount, Counted, Tally};

const INODES: Field = Field::integer("inodes", "number of objects that `du` counted");

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "a directory with everything below it, or a file",
    fields: &[fields::PATH, fields::DISK_BYTES, fields::SIZE, INODES],
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
    let mut meter = Meter {
        plan: &plan,
        terminal: match Device::of_stdout() {
            Device::Terminal => Terminal::Watched(Locale::from_env()),
            Device::Other => Terminal::Absent,
        },
        report: rows::report(&SCHEMA, plan.form),
        seen: match plan.count_links {
            true => SeenLinks::counting_each_name(),
            false => SeenLinks::new(),
        },
        counted: Vec::new(),
        // For no file at all, GNU du shows 1970.
        total: Amount {
            time: Timestamp::default(),
            ..Amount::NOTHING
        },
        zone: Zone::local(),
    };
    meter.report.begin()?;
    let follow = match plan.links {
        Links::Themselves => Follow::Never,
        Links::Arguments | Links::Targets => Follow::Last,
    };
    let mut tally = Tally::new(&plan, session.share_index());
    for given in &paths {
        if plan.excluded.has(one_slash(given.as_bytes())) {
            continue;
        }
        let Some(start) = session.locate(given, follow)? else {
            continue;
        };
        let given = given.as_bytes();
        match plan.needs_entries() {
            true => meter.tallied(&mut session, &mut tally, given, &start)?,
            false => meter.argument(&mut session, given, &start)?,
        }
    }
    if tally.failed {
        session.worsen(Exit::Issues);
    }
    if plan.total {
        let total = meter.total;
        meter.write(b"total", &total)?;
    }
    rows::finish(meter.report)?;
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

/// State of the counting and printing.
struct Meter<'a> {
    plan: &'a Plan,
    terminal: Terminal,
    report: Report,
    /// Files with several names that were already counted.
    seen: SeenLinks,
    /// Earlier arguments. Paths within them are not counted again.
    counted: Vec<Vec<u8>>,
    total: Amount,
    zone: Zone,
}

impl Meter<'_> {
    /// Counts an argument, spelled `given` by the user.
    fn argument(
        &mut self,
        session: &mut Session,
        given: &[u8],
        start: &Start,
    ) -> Result<(), Failure> {
        if !self.plan.count_links && self.is_counted(&start.path) {
            return Ok(());
        }
        let mut part = scope::Part::whole(Depth::All);
        if self.plan.wants_one_sum() {
            self.one_sum(session, given, start)?;
            return Ok(session.note_part(start, one_slash(given), &part)?);
        }
        let excluded = self.excluded(session, start)?;
        let mut correction = Correction::new(excluded, self.plan.separate);
        part.skip = correction.excluded_paths();
        self.lines(session, given, start, &mut correction)?;
        Ok(session.note_part(start, one_slash(given), &part)?)
    }

    /// Counts an argument entry by entry.
    fn tallied(
        &mut self,
        session: &mut Session,
        tally: &mut Tally<'_>,
        given: &[u8],
        start: &Start,
    ) -> Result<(), Failure> {
        let name = one_slash(given);
        let whole = tally.count(start, name, &mut |counted| self.counted(counted))?;
        self.total.add(&whole);
        let excluded = &self.plan.excluded;
        // Directories that were left out are not reported as unreadable.
        let hides = |path: &[u8]| {
            let mut below = path;
            while let Some((above, _)) = split(below).filter(|_| is_within(below, &start.path)) {
                if excluded.has(&printed_path(name, &start.path, below)) {
                    return true;
                }
                below = above;
            }
            false
        };
        let part = scope::Part {
            depth: Depth::All,
            skip: Subtrees::new(),
            hides: &hides,
        };
        Ok(session.note_part(start, name, &part)?)
    }

    /// Prints a counted entry if it is to be shown.
    fn counted(&mut self, counted: &Counted<'_>) -> Result<(), Failure> {
        match self.is_shown(counted.is_dir, counted.depth) {
            true => self.print(counted.path, &counted.amount),
            false => Ok(()),
        }
    }

    fn is_shown(&self, is_dir: bool, depth: usize) -> bool {
        let listed = is_dir || depth == 0 || self.plan.shown == Shown::All;
        let deep = u32::try_from(depth).unwrap_or(u32::MAX) > self.plan.max_depth;
        listed && !deep
    }

    /// Prints a line for each directory of an argument, or for each file.
    fn lines(
        &mut self,
        session: &Session,
        given: &[u8],
        start: &Start,
        correction: &mut Correction,
    ) -> Result<(), Failure> {
        let request = self.request(correction);
        let mut seen = std::mem::take(&mut self.seen);
        let (mut failed, mut whole) = (None, Usage::default());
        session.index().usage(start, &request, &mut seen, |of| {
            let Some(sums) = correction.correct(of) else {
                return ControlFlow::Continue(());
            };
            if of.depth == 0 {
                whole = sums.with_below;
            }
            match self.line(given, start, of, &sums) {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    failed = Some(failure);
                    ControlFlow::Break(())
                }
            }
        })?;
        self.seen = seen;
        if let Some(failure) = failed {
            return Err(failure);
        }
        self.total.usage.add(&whole);
        self.counted.push(start.path.clone());
        Ok(())
    }

    fn request(&self, correction: &Correction) -> UsageRequest<'static> {
        let deepest = usize::try_from(self.plan.max_depth).unwrap_or(usize::MAX);
        let everything = self.plan.shown == Shown::All || correction.needs_files();
        UsageRequest {
            // Corrected sums need the sums of every directory.
            max_depth: correction.is_needless().then_some(deepest),
            detail: match everything {
                true => Detail::Everything,
                false => Detail::Directories,
            },
            cancel: crate::live::cancel(),
        }
    }

    /// Prints a line if it is to be shown.
    fn line(
        &mut self,
        given: &[u8],
        start: &Start,
        of: &UsageOf<'_>,
        sums: &Corrected,
    ) -> Result<(), Failure> {
        if !self.is_shown(of.is_dir, of.depth) {
            return Ok(());
        }
        let path = printed_path(one_slash(given), &start.path, of.path);
        let separate = self.plan.separate;
        let shown = if separate {
            sums.without_dirs
        } else {
            sums.with_below
        };
        self.print(&path, &untimed(shown))
    }

    /// Computes the sum of everything from running sums, without looking at each directory.
    fn one_sum(&mut self, session: &Session, given: &[u8], start: &Start) -> Result<(), Failure> {
        let totals = session.index().totals(start)?;
        let row = row_of(start);
        let (sums, repeats) = (totals.sums, totals.repeats);
        let usage = Usage {
            blocks: row
                .blocks()
                .wrapping_add(sums.blocks)
                .wrapping_sub(repeats.blocks),
            size_bytes: row
                .size()
                .wrapping_add(sums.size_bytes)
                .wrapping_sub(repeats.size_bytes),
            inodes: (1 + sums.entries()).saturating_sub(repeats.entries),
            ..Usage::default()
        };
        self.total.usage.add(&usage);
        self.print(one_slash(given), &untimed(usage))
    }

    fn is_counted(&self, path: &[u8]) -> bool {
        self.counted.iter().any(|earlier| is_within(path, earlier))
    }

    /// Returns the parts below `start` that must not be counted.
    fn excluded(&self, session: &Session, start: &Start) -> Result<Vec<Part>, Failure> {
        let mut parts = Vec::new();
        if !self.plan.count_links {
            for earlier in self
                .counted
                .iter()
                .filter(|earlier| is_within(earlier, &start.path))
            {
                if let trawl_query::Located::Found(part) = session.index().locate(earlier)? {
                    // Files with several names are found through `seen`.
                    if part.is_dir || row_of(&part).nlink() < 2 {
                        parts.push(Part {
                            path: earlier.clone(),
                            is_dir: part.is_dir,
                        });
                    }
                }
            }
        }
        if self.plan.one_file_system && start.is_dir {
            parts.extend(elsewhere(session, start)?);
        }
        Ok(parts)
    }

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
            if let Some((_, look)) = &plan.time {
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

fn untimed(usage: Usage) -> Amount {
    Amount {
        usage,
        ..Amount::NOTHING
    }
}

/// Removes all trailing slashes except the first, as fts(3) does. A path of exactly two slashes
/// stays, because it may mean something other than `/`.
fn one_slash(given: &[u8]) -> &[u8] {
    let trimmed = given
        .iter()
        .rposition(|b| *b != b'/')
        .map_or(0, |last| last + 1);
    match given.len() - trimmed {
        0 | 1 => given,
        2 if trimmed == 0 => given,
        _ => given.get(..=trimmed).unwrap_or(given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_at_the_end_are_as_few_as_in_fts() {
        for (given, kept) in [
            ("a", "a"),
            ("a/", "a/"),
            ("a///", "a/"),
            ("/", "/"),
            ("//", "//"),
            ("///", "/"),
        ] {
            assert_eq!(one_slash(given.as_bytes()), kept.as_bytes());
        }
    }
}
