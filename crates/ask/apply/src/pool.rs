//! The workers: each takes members and runs commands, until the set ends or a signal arrives.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trawl_model::sync::lock;
use trawl_sets::member::Op;
use trawl_sets::{Opened, Problem, Set};
use trawl_sys::child::{Group, SignalMask, Start, Stdin};
use trawl_sys::command::Ended;
use trawl_sys::signal::StopSignals;
use trawl_sys::wait::{Waker, readable};

use crate::children::Children;
use crate::command::{Command, Way, argument};
use crate::error::ApplyError;
use crate::output::{self, Writer};
use crate::stream::{self, Copied};

/// Time that commands have to end after a signal before they are killed.
const GRACE: Duration = Duration::from_secs(2);
/// Maximum number of descriptors that a command for many members gets.
const DESCRIPTORS_MAX: usize = 64;
/// Where a command finds its descriptors, by number.
const DESCRIPTORS: &str = "/dev/fd/";
/// Maximum length of the argument that is a descriptor.
const DESCRIPTOR_BYTES_MAX: usize = DESCRIPTORS.len() + 10;
/// errno(3) of a command line that is too long.
const E2BIG: i32 = 7;
/// errno(3) of a process that cannot be made now.
const EAGAIN: i32 = 11;
/// signal(7).
const SIGKILL: i32 = 9;
/// signal(7).
const SIGPIPE: i32 = 13;
/// signal(7).
const SIGTERM: i32 = 15;
/// signal(7).
const SIGCONT: i32 = 18;

/// How a command gets its member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feeding {
    /// By its path; a member without one as `/dev/fd/N`, an inherited descriptor. A FIFO or a
    /// socket, which cannot be opened anew, is copied to a file before.
    #[default]
    Name,
    /// On standard input; the path is filled in where there are braces.
    Input,
}

/// How commands are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of commands at once. A single one writes to standard output itself; the output of
    /// several is written whole.
    pub jobs: NonZeroUsize,
    /// Whether outputs are written in the order in which the set delivers members.
    pub is_ordered: bool,
    /// How commands get their members.
    pub feeding: Feeding,
    /// Maximum number of members of one command with `{} +`.
    pub batch_members: usize,
}

/// Hears of problems and failures, from any thread.
pub trait Listener: Sync {
    /// A member cannot be read, or a part of the set cannot be expanded.
    fn problem(&self, problem: &Problem);
    /// The command failed for these members.
    fn failed(&self, members: &[Vec<u8>], how: &Failed);
}

/// How a command failed.
#[derive(Debug)]
pub enum Failed {
    /// It exited with a code other than 0, or a signal terminated it.
    Ended(Ended),
    /// It could not be started for this member.
    Start(io::Error),
}

/// Counts of a run, for progress.
#[derive(Debug, Default)]
pub struct Counts {
    /// Number of members that commands have processed.
    pub members: AtomicU64,
    /// Number of commands that have ended.
    pub commands: AtomicU64,
    /// Number of members for which the command failed.
    pub failed: AtomicU64,
    /// Number of problems.
    pub problems: AtomicU64,
    /// Time that commands took, summed, in nanoseconds.
    pub command_ns: AtomicU64,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Number of members that commands have processed.
    pub members: u64,
    /// Number of commands.
    pub commands: u64,
    /// Number of members for which the command failed.
    pub failed: u64,
    /// Number of problems.
    pub problems: u64,
    /// Time that commands took, summed.
    pub command_time: Duration,
    /// Time that the run took.
    pub elapsed: Duration,
}

/// The signals that stop a run.
#[derive(Debug)]
pub struct Signals {
    stop: StopSignals,
    before: SignalMask,
}

impl Signals {
    /// Blocks SIGINT, SIGTERM and SIGHUP in this thread and in the threads that it starts later,
    /// which must include those of the set. Commands do not have them blocked.
    ///
    /// # Errors
    /// Fails if there are too many descriptors.
    pub fn take() -> Result<Signals, ApplyError> {
        let before = SignalMask::current();
        let stop = StopSignals::take_unless_ignored()
            .map_err(|error| ApplyError::System(io::Error::from_raw_os_error(error.errno.0)))?;
        Ok(Signals { stop, before })
    }
}

/// Runs the command on all members of a set that are left to iterate, writing what several commands
/// at once print to `sink`.
///
/// # Errors
/// Fails if the command cannot be started, if the output cannot be written, or at a signal; then
/// the commands have ended.
pub fn apply(
    set: &Set,
    command: &Command,
    options: Options,
    counts: &Counts,
    sink: &mut (dyn Write + Send),
    listener: &dyn Listener,
    signals: &Signals,
) -> Result<Applied, ApplyError> {
    let began = Instant::now();
    let is_alone = options.jobs.get() == 1;
    let waker = Waker::new()
        .map_err(|error| ApplyError::System(io::Error::from_raw_os_error(error.errno.0)))?;
    let run = Run {
        set,
        command,
        options,
        listener,
        counts,
        mask: signals.before,
        children: Children::new(match is_alone {
            true => Group::Shared,
            false => Group::Own,
        }),
        writer: (!is_alone).then(|| Writer::new(sink, options.is_ordered)),
        source: Mutex::default(),
        fatal: Mutex::default(),
        working: AtomicUsize::new(0),
        waker,
    };
    run.all(signals)?;
    let count = |value: &AtomicU64| value.load(Ordering::Relaxed);
    Ok(Applied {
        members: count(&counts.members),
        commands: count(&counts.commands),
        failed: count(&counts.failed),
        problems: count(&counts.problems),
        command_time: Duration::from_nanos(count(&counts.command_ns)),
        elapsed: began.elapsed(),
    })
}

/// A run.
struct Run<'r> {
    set: &'r Set,
    command: &'r Command,
    options: Options,
    listener: &'r dyn Listener,
    counts: &'r Counts,
    mask: SignalMask,
    children: Children,
    writer: Option<Writer<'r>>,
    source: Mutex<Source>,
    fatal: Mutex<Option<ApplyError>>,
    /// Number of workers that have not ended.
    working: AtomicUsize,
    waker: Waker,
}

/// A worker that has not ended.
struct Working<'w, 'r>(&'w Run<'r>);

impl Drop for Working<'_, '_> {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Ordering::AcqRel);
        self.0.waker.wake();
    }
}

/// Returns whether nobody reads standard output any more.
fn has_no_reader() -> bool {
    trawl_sys::wait::is_hung_up(io::stdout())
}

/// Where workers take members.
#[derive(Default)]
struct Source {
    /// Number of the next command.
    next: u64,
    /// A member that did not fit into the last batch.
    carried: Option<Load>,
}

/// What one command gets.
#[derive(Debug)]
struct Load {
    number: u64,
    members: Vec<Member>,
    /// Number of bytes of all arguments, each with its NUL; at most.
    bytes: usize,
    /// Number of descriptors that the command has.
    descriptors: usize,
}

/// A member for a command.
#[derive(Debug)]
struct Member {
    name: Vec<u8>,
    /// The descriptor that the command has; `None` if it opens the path itself.
    file: Option<File>,
    is_stream: bool,
}

impl Member {
    fn argument(&self, feeding: Feeding) -> Vec<u8> {
        match (&self.file, feeding) {
            (Some(file), Feeding::Name) => {
                format!("{DESCRIPTORS}{}", file.as_raw_fd()).into_bytes()
            }
            _ => argument(&self.name),
        }
    }

    /// Returns the length of the argument, at most: a copy has another descriptor.
    fn argument_bytes(&self, feeding: Feeding) -> usize {
        match (&self.file, feeding) {
            (Some(_), Feeding::Name) => DESCRIPTOR_BYTES_MAX,
            _ => argument(&self.name).len(),
        }
    }
}

impl Load {
    fn of(opened: Opened, feeding: Feeding) -> Load {
        // A file below the mount of a server has a path.
        let is_remote = opened.is_stream || trawl_sets::name::is_url(&opened.name);
        // The bytes of a file with a path are cached by now; the command opens it again.
        let is_kept = is_remote || feeding == Feeding::Input;
        let member = Member {
            name: opened.name,
            file: is_kept.then_some(opened.file),
            is_stream: opened.is_stream,
        };
        Load {
            number: 0,
            bytes: member.argument_bytes(feeding) + 1,
            members: vec![member],
            descriptors: usize::from(is_kept),
        }
    }

    fn add(&mut self, other: Load) {
        self.bytes += other.bytes;
        self.members.extend(other.members);
        self.descriptors += other.descriptors;
    }
}

impl Run<'_> {
    /// Runs the workers, and waits for them and for signals.
    fn all(&self, signals: &Signals) -> Result<(), ApplyError> {
        let interrupted = std::thread::scope(|scope| {
            for number in 0..self.options.jobs.get() {
                self.working.fetch_add(1, Ordering::AcqRel);
                let worker = std::thread::Builder::new().name("apply".into());
                if let Err(error) = worker.spawn_scoped(scope, || self.work()) {
                    self.working.fetch_sub(1, Ordering::AcqRel);
                    // Fewer workers do it, too.
                    if number == 0 {
                        self.end(ApplyError::System(error));
                    }
                    break;
                }
            }
            self.supervise(signals)
        });
        match lock(&self.fatal).take() {
            Some(error) => Err(error),
            None if interrupted => Err(ApplyError::Interrupted),
            None => Ok(()),
        }
    }

    /// Waits until all workers have ended. Returns whether a signal arrived.
    fn supervise(&self, signals: &Signals) -> bool {
        let mut killed_at: Option<Instant> = None;
        let mut is_interrupted = false;
        while self.working.load(Ordering::Acquire) > 0 {
            let timeout = match killed_at {
                None => Duration::from_secs(1),
                Some(_) => Duration::from_millis(10),
            };
            let ready = [signals.stop.as_fd(), self.waker.as_fd()];
            if readable(ready, Some(timeout)).is_err() {
                std::thread::sleep(Duration::from_millis(10));
            }
            self.waker.reset();
            if let Some(passed) = signals.stop.next() {
                let is_second = std::mem::replace(&mut is_interrupted, true);
                self.stop();
                // A key press has reached a command of our own group already.
                let is_told = passed.is_from_kernel && self.children.group() == Group::Shared;
                match is_second {
                    true => {
                        self.children.signal(SIGKILL);
                        // A third signal ends this process, whatever it waits for.
                        signals.stop.stop();
                    }
                    false if is_told => {}
                    false => {
                        self.children.signal(passed.signal);
                        self.children.signal(SIGCONT);
                        killed_at = Some(Instant::now() + GRACE);
                    }
                }
            }
            if killed_at.is_some_and(|at| Instant::now() >= at) {
                self.children.signal(SIGKILL);
            }
            if killed_at.is_none() && lock(&self.fatal).is_some() {
                self.children.signal(SIGTERM);
                self.children.signal(SIGCONT);
                killed_at = Some(Instant::now() + GRACE);
            }
        }
        is_interrupted
    }

    /// Takes members and runs commands.
    fn work(&self) {
        // Also when a panic ends the worker.
        let _ended = Working(self);
        while let Some(load) = self.take() {
            self.run(load);
        }
    }

    /// Takes what the next command gets.
    fn take(&self) -> Option<Load> {
        let mut source = lock(&self.source);
        if self.children.are_stopped() {
            return None;
        }
        let mut load = match source.carried.take() {
            Some(load) => load,
            None => self.next()?,
        };
        if self.command.way() == Way::Batch {
            while load.members.len() < self.options.batch_members
                && load.members.len() < self.command.room().words
                && load.descriptors < DESCRIPTORS_MAX
            {
                let Some(more) = self.next() else { break };
                if load.bytes + more.bytes > self.command.room().bytes {
                    source.carried = Some(more);
                    break;
                }
                load.add(more);
            }
        }
        load.number = source.next;
        source.next += 1;
        Some(load)
    }

    /// Returns the next member that can be read.
    fn next(&self) -> Option<Load> {
        loop {
            match self.set.iterate()? {
                Ok(opened) => return Some(Load::of(opened, self.options.feeding)),
                Err(problem) => self.tell(&problem),
            }
        }
    }

    fn tell(&self, problem: &Problem) {
        self.counts.problems.fetch_add(1, Ordering::Relaxed);
        self.listener.problem(problem);
    }

    /// Copies the streams among members that a command opens anew. Leaves out members that cannot
    /// be read. Returns `None` if no command may start any more.
    fn openable(&self, members: Vec<Member>) -> Option<Vec<Member>> {
        if self.options.feeding == Feeding::Input {
            return Some(members);
        }
        let mut openable = Vec::with_capacity(members.len());
        for mut member in members {
            let copied = match &member.file {
                Some(file) if member.is_stream => {
                    stream::copied(file, || self.children.are_stopped())
                }
                _ => Ok(Copied::Needless),
            };
            match copied {
                Ok(Copied::Whole(copy)) => member.file = Some(copy),
                Ok(Copied::Needless) => {}
                Ok(Copied::Stopped) => return None,
                Err(source) => {
                    self.tell(&Problem {
                        name: member.name,
                        op: Op::Fetch,
                        source,
                    });
                    continue;
                }
            }
            openable.push(member);
        }
        Some(openable)
    }

    /// Runs the command for these members.
    fn run(&self, load: Load) {
        let Some(members) = self.openable(load.members) else {
            return;
        };
        if members.is_empty() {
            // Outputs in order wait for each number.
            return self.write(load.number, None);
        }
        let output = match self.writer.as_ref().map(|_| output::file()).transpose() {
            Ok(output) => output,
            Err(error) => return self.end(ApplyError::System(error)),
        };
        let feeding = self.options.feeding;
        let arguments = members.iter().map(|member| member.argument(feeding));
        let words = self.command.filled(&arguments.collect::<Vec<_>>());
        let began = Instant::now();
        let started = {
            let files = members.iter().filter_map(|member| member.file.as_ref());
            let kept: Vec<BorrowedFd<'_>> = files.map(AsFd::as_fd).collect();
            let (stdin, inherited) = match (feeding, &kept[..]) {
                (Feeding::Input, [file]) => (Stdin::From(*file), &[][..]),
                (_, kept) if self.writer.is_none() => (Stdin::Inherited, kept),
                (_, kept) => (Stdin::Nothing, kept),
            };
            self.start(&Start {
                words: &words,
                stdin,
                stdout: output.as_ref().map(AsFd::as_fd),
                inherited,
                group: self.children.group(),
                mask: Some(self.mask),
            })
        };
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counts.command_ns.fetch_add(took, Ordering::Relaxed);
        let count = members.len() as u64;
        match started {
            Ok(None) => return,
            Ok(Some(Ended::Code(0))) => {}
            _ if self.children.are_stopped() => return,
            // The reader of the output is gone, as in `… | head`: that is no failure.
            Ok(Some(Ended::Signal(SIGPIPE))) if self.writer.is_none() && has_no_reader() => {
                return self.end(ApplyError::Output(io::ErrorKind::BrokenPipe.into()));
            }
            Ok(Some(ended)) => self.fail(&members, &Failed::Ended(ended)),
            Err(error)
                if error.raw_os_error() == Some(E2BIG) || self.command.has_filled_program() =>
            {
                self.fail(&members, &Failed::Start(error));
            }
            Err(source) => {
                let program = self.command.program().to_vec();
                return self.end(ApplyError::Start { program, source });
            }
        }
        self.counts.members.fetch_add(count, Ordering::Relaxed);
        self.counts.commands.fetch_add(1, Ordering::Relaxed);
        self.write(load.number, output);
    }

    /// Starts a command; waits if there are too many processes.
    fn start(&self, start: &Start<'_>) -> io::Result<Option<Ended>> {
        let mut tries = 0;
        loop {
            match self.children.run(start) {
                Err(error) if error.raw_os_error() == Some(EAGAIN) && tries < 100 => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(20));
                }
                other => return other,
            }
        }
    }

    fn write(&self, number: u64, output: Option<File>) {
        if let Some(writer) = &self.writer {
            if let Err(error) = writer.put(number, output) {
                self.end(ApplyError::Output(error));
            }
        } else if has_no_reader() {
            self.end(ApplyError::Output(io::ErrorKind::BrokenPipe.into()));
        }
    }

    fn fail(&self, members: &[Member], how: &Failed) {
        let count = members.len() as u64;
        self.counts.failed.fetch_add(count, Ordering::Relaxed);
        let names: Vec<Vec<u8>> = members.iter().map(|one| one.name.clone()).collect();
        self.listener.failed(&names, how);
    }

    /// Ends the run with an error; the first one counts.
    fn end(&self, error: ApplyError) {
        lock(&self.fatal).get_or_insert(error);
        self.stop();
        self.waker.wake();
    }

    /// Takes no more members and starts no more commands.
    fn stop(&self) {
        self.children.stop();
        self.set.cancel();
        if let Some(writer) = &self.writer {
            writer.close();
        }
    }
}
