//! Runs a command on the members of a set.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trawl_apply::command::Way;
use trawl_apply::pool::Failed;
use trawl_apply::{Applied, ApplyError, Command, Counts, Feeding, Listener, Signals, apply};
use trawl_sets::{Explanation, Problem, Stats};
use trawl_sys::command::Ended;

use super::alive::Alive;
use super::{SetArgs, Use, usage};
use crate::again;
use crate::arguments::Manner;
use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted, shown};
use crate::index::progress::{ProgressWhen, Shown, Style, counted};
use crate::output::{Device, say};
use crate::unlocked::Unlocked;

/// Number of failing members that are named.
const NAMED_MAX: u64 = 10;
/// errno(3) of a missing program.
const ENOENT: i32 = 2;

/// Runs the command.
pub(super) fn run(
    args: &SetArgs,
    setting: &Setting<'_>,
    manner: Manner,
    alive: &Alive,
) -> Result<Exit, Failure> {
    if args.digest || args.size || args.form.form() != trawl_report::Form::Text {
        return Err(usage(
            "a command prints its own output: leave out the options of lists",
        ));
    }
    if args.progress == ProgressWhen::Json {
        return Err(usage("a set has no progress as JSON: use --progress=plain"));
    }
    let command = Command::parse(&args.command, args.stdin).map_err(usage)?;
    if args.max_args.is_some() && command.way() == Way::Each {
        return Err(usage(
            "-n is for commands with {} +, which take several members",
        ));
    }
    again::note_begun();
    trawl_sys::signal::ignore_broken_pipe().map_err(usage)?;
    let signals = Signals::take().map_err(usage)?;
    let set = args.open(setting, manner, Use::Names, alive)?;
    let options = trawl_apply::Options {
        jobs: jobs(args.jobs),
        is_ordered: args.ordered || args.sort,
        feeding: match args.stdin {
            true => Feeding::Input,
            false => Feeding::Name,
        },
        batch_members: args.max_args.map_or(usize::MAX, NonZeroUsize::get),
    };
    let counts = Arc::new(Counts::default());
    let teller = Teller {
        is_quiet: args.quiet,
        failed: AtomicU64::new(0),
        named: AtomicU64::new(0),
    };
    let mut output = Unlocked::stdout();
    let progress = shown_progress(args.progress, &counts);
    let applied = apply(
        &set,
        &command,
        options,
        &counts,
        &mut output,
        &teller,
        &signals,
    );
    drop(progress);
    let explanation = set.explain();
    let stats = set.close();
    teller.finish();
    let applied = match applied {
        Ok(applied) => applied,
        Err(error) => return failed(error),
    };
    if args.stats {
        tell(&stats, &applied, explanation.saved);
    }
    if args.explain {
        explain(&explanation);
    }
    Ok(Exit::from_issues(applied.failed + applied.problems))
}

fn jobs(wished: u16) -> NonZeroUsize {
    NonZeroUsize::new(wished.into())
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}

fn failed(error: ApplyError) -> Result<Exit, Failure> {
    match error {
        ApplyError::Interrupted => Err(Failure::Interrupted),
        ApplyError::Output(error) => Err(Failure::Write(error)),
        ApplyError::Start { program, source } => {
            let (program, why) = (quoted(&program), cause(&source));
            say(format_args!("cannot run {program}: {why}"));
            Ok(Exit::Command(match source.raw_os_error() {
                Some(ENOENT) => 127,
                _ => 126,
            }))
        }
        error => Err(usage(error)),
    }
}

/// Prints the performance model of the run on standard error.
fn explain(explanation: &Explanation) {
    for place in &explanation.places {
        let bandwidth = match place.load.bandwidth.is_finite() {
            true => format!(", {:.1} MB/s", place.load.bandwidth / 1e6),
            false => String::new(),
        };
        say(format_args!(
            "{}: {} fetched, {:.3} ms latency{bandwidth}, {} in flight",
            place.place,
            counted(place.load.objects as u64, "member"),
            place.load.latency * 1e3,
            place.load.window
        ));
    }
    let processing = explanation.processing_per_member.as_secs_f64() * 1e3;
    say(format_args!("processing: {processing:.3} ms a member"));
    say(format_args!(
        "predicted: {:.3} s for a plain loop, {:.3} s for the set; measured: {:.3} s; saved: {:.3} s",
        explanation.predicted_plain.as_secs_f64(),
        explanation.predicted_set.as_secs_f64(),
        explanation.measured.as_secs_f64(),
        explanation.saved.as_secs_f64()
    ));
}

/// Names problems and failures.
struct Teller {
    is_quiet: bool,
    failed: AtomicU64,
    /// Number of members that messages have covered.
    named: AtomicU64,
}

impl Teller {
    fn finish(&self) {
        let failed = self.failed.load(Ordering::Relaxed);
        let named = self.named.load(Ordering::Relaxed);
        if !self.is_quiet && failed > named {
            let more = counted(failed - named, "more member");
            say(format_args!("the command failed for {more}"));
        }
    }
}

impl Listener for Teller {
    fn problem(&self, problem: &Problem) {
        say(problem);
    }

    fn failed(&self, members: &[Vec<u8>], how: &Failed) {
        let how = match how {
            Failed::Ended(Ended::Code(code)) => format!("the command ended with code {code}"),
            Failed::Ended(Ended::Signal(signal)) => format!("signal {signal} ended the command"),
            Failed::Start(error) => format!("the command cannot be started: {}", cause(error)),
        };
        let count = members.len() as u64;
        let before = self.failed.fetch_add(count, Ordering::Relaxed);
        if self.is_quiet || before >= NAMED_MAX {
            return;
        }
        // One line names a batch, which counts with all its members.
        self.named.fetch_add(count, Ordering::Relaxed);
        match members {
            [one] => say(format_args!("{}: {how}", shown(one))),
            [first, ..] => {
                let more = counted(count - 1, "more member");
                say(format_args!("{} and {more}: {how}", shown(first)));
            }
            [] => {}
        }
    }
}

/// Shows progress while the result is kept; `None` if nothing is shown.
fn shown_progress(when: ProgressWhen, counts: &Arc<Counts>) -> Option<Shown> {
    let style = when.style();
    // Commands may write to a terminal themselves. Plain lines are only for those who ask.
    let is_shown = match style {
        Style::Line => Device::of_stdout() != Device::Terminal,
        Style::Plain => when == ProgressWhen::Plain,
        Style::Json | Style::Silent => false,
    };
    let counts = Arc::clone(counts);
    let render = move |_| {
        let members = counted(counts.members.load(Ordering::Relaxed), "member");
        let failed = counts.failed.load(Ordering::Relaxed);
        match style {
            Style::Line => format!("\r\x1b[K{members} done, {failed} failed"),
            _ => format!("trawl: {members} done, {failed} failed\n"),
        }
    };
    is_shown.then(|| Shown::begin(style, render)).flatten()
}

/// Reports what fetching cost and saved.
fn tell(stats: &Stats, applied: &Applied, saved: Duration) {
    let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
    let (members, commands) = (applied.members, applied.commands);
    say(format_args!(
        "{} in {}, {} failed, {}",
        counted(members, "member"),
        counted(commands, "command"),
        applied.failed,
        counted(applied.problems, "problem"),
    ));
    say(format_args!(
        "fetching {}, waiting {}, commands {}, all {}",
        seconds(stats.fetch_time),
        seconds(stats.wait_time),
        seconds(applied.command_time),
        seconds(applied.elapsed),
    ));
    say(format_args!(
        "fetched {} bytes ahead, {} of them unused",
        stats.fetched_bytes, stats.unused_bytes
    ));
    for place in &stats.places {
        say(format_args!(
            "{}: {}, at most {} in flight",
            shown(place.place.as_bytes()),
            counted(place.fetched, "member"),
            place.in_flight_max
        ));
    }
    say(format_args!("saved {} against a loop", seconds(saved)));
}
