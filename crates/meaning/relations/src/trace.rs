//! What a recorded command opened together, and what it built from what.
//!
//! An *execution* is a process from the moment it begins to run a program until it runs another one
//! or ends. "During the execution of a program … only certain files will be accessed" (Propeller,
//! section 2.3), so an execution is the unit in which files are counted as opened together.
//!
//! A file that an execution wrote is built from each file that the same execution opened for reading
//! before the last write, which the file's modification time tells. A file that is gone at the end,
//! such as a compiler's assembly in `/tmp`, hands its own sources on.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use trawl_model::accesses::{Access, AccessKind, Accesses, FileNumber};

/// Times of files are up to a clock tick older than the moment at which they were set.
const TICK_NS: i64 = 10_000_000;
/// Maximum number of sources of one file.
pub const SOURCES_MAX: usize = 4096;
/// What the dynamic loader and the C library read in every program.
const SETTINGS: [&[u8]; 5] = [
    b"/etc/ld.so.",
    b"/usr/lib/locale/",
    b"/usr/share/locale/",
    b"/etc/locale.alias",
    b"/etc/localtime",
];

/// One execution of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    /// The program; `None` if it began before the recording.
    pub program: Option<FileNumber>,
    /// Whether it runs its parent's program.
    is_forked: bool,
    /// The files that it opened and the programs that it started, each once, with the time in
    /// nanoseconds.
    pub opened: Vec<(FileNumber, i64)>,
    /// The files that it read, each with the time at which it opened it first.
    read: BTreeMap<FileNumber, i64>,
    written: BTreeSet<Output>,
    mapped: HashSet<FileNumber>,
}

/// A file that an execution could write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Output {
    file: FileNumber,
    /// When it was opened, or when the execution began if it was open before.
    at_ns: i64,
    /// Whether it was open before. The execution need not have written it.
    is_inherited: bool,
}

impl Execution {
    fn open(&mut self, file: FileNumber, at_ns: i64) {
        if !self
            .opened
            .iter()
            .rev()
            .take(64)
            .any(|(one, _)| *one == file)
        {
            self.opened.push((file, at_ns));
        }
    }

    fn read(&mut self, event: &Access) {
        self.read.entry(event.file).or_insert(event.at_ns);
    }
}

/// Returns the executions of a command, in the order in which they began.
#[must_use]
pub fn executions(accesses: &Accesses) -> Vec<Execution> {
    let mut all: Vec<Execution> = Vec::new();
    let mut current: HashMap<u32, usize> = HashMap::new();
    // The executions that wrote a file, so that what was renamed has them, too.
    // Each output is there once, however often names go round.
    let mut writers: HashMap<FileNumber, BTreeSet<(usize, Output)>> = HashMap::new();
    for event in &accesses.events {
        if event.kind == AccessKind::Executed {
            execute(&mut all, &mut current, event);
            continue;
        }
        let parent = current.get(&event.parent).copied();
        let at = *current.entry(event.process).or_insert_with(|| {
            all.push(Execution {
                program: parent.and_then(|parent| all[parent].program),
                is_forked: true,
                ..Execution::default()
            });
            all.len() - 1
        });
        let one = &mut all[at];
        match event.kind {
            AccessKind::Executed => {}
            AccessKind::Mapped => {
                one.mapped.insert(event.file);
                continue;
            }
            AccessKind::Named(from) => {
                for (writer, output) in writers.get(&from).cloned().unwrap_or_default() {
                    let output = Output {
                        file: event.file,
                        ..output
                    };
                    let known = writers.entry(event.file).or_default();
                    if known.insert((writer, output)) {
                        all[writer].written.insert(output);
                        all[writer].open(event.file, event.at_ns);
                    }
                }
                continue;
            }
            AccessKind::Read => one.read(event),
            AccessKind::Appended => {}
            AccessKind::Updated | AccessKind::Written | AccessKind::Redirected => {
                if event.kind == AccessKind::Updated {
                    one.read(event);
                }
                let output = Output {
                    file: event.file,
                    at_ns: event.at_ns,
                    is_inherited: event.kind == AccessKind::Redirected,
                };
                one.written.insert(output);
                writers.entry(event.file).or_default().insert((at, output));
            }
        }
        one.open(event.file, event.at_ns);
    }
    for one in &mut all {
        // Longer ago than the last few, a file may have been opened twice.
        let mut seen = HashSet::new();
        one.opened.retain(|(file, _)| seen.insert(*file));
    }
    all
}

/// A process begins to run a program. Files that it has open stay open: a shell redirects output
/// before it runs a program.
fn execute(all: &mut Vec<Execution>, current: &mut HashMap<u32, usize>, event: &Access) {
    let before = current.get(&event.process).map(|at| &all[*at]);
    let mut next = Execution {
        program: Some(event.file),
        opened: vec![(event.file, event.at_ns)],
        ..Execution::default()
    };
    if let Some(before) = before {
        next.read.clone_from(&before.read);
        let inherited = before.written.iter().map(|output| Output {
            at_ns: event.at_ns,
            is_inherited: true,
            ..*output
        });
        next.written.extend(inherited);
        next.mapped.clone_from(&before.mapped);
        next.mapped.extend(before.program);
        // What a shell redirected is opened by the program.
        if before.is_forked {
            next.opened.extend(&before.opened);
        }
    }
    if let Some(parent) = current.get(&event.parent) {
        all[*parent].open(event.file, event.at_ns);
    }
    current.insert(event.process, all.len());
    all.push(next);
}

/// Returns the files that a command wrote and that are there at its end, each with the files from
/// which it was built, sorted.
#[must_use]
pub fn built(accesses: &Accesses, executions: &[Execution]) -> Vec<(FileNumber, Vec<FileNumber>)> {
    let mut direct: HashMap<FileNumber, Vec<FileNumber>> = HashMap::new();
    for execution in executions {
        for output in &execution.written {
            let sources = sources(accesses, execution, *output);
            direct.entry(output.file).or_default().extend(sources);
        }
    }
    let is_there = |file: FileNumber| accesses.files[file as usize].at_end.is_some();
    let mut all: Vec<_> = direct
        .keys()
        .copied()
        .filter(|output| is_there(*output))
        .map(|output| (output, lasting(output, &direct, is_there)))
        .filter(|(_, sources)| !sources.is_empty())
        .collect();
    all.sort_unstable();
    all
}

/// Returns what an execution had opened for reading when it last wrote a file.
fn sources<'e>(
    accesses: &Accesses,
    execution: &'e Execution,
    output: Output,
) -> impl Iterator<Item = FileNumber> + use<'e> {
    let at_end = accesses.files[output.file as usize].at_end;
    // The file was written as long as anything could be read, if its time is not known any more.
    let written_ns = at_end.map_or(i64::MAX, |found| match output.is_inherited {
        true => found.modified_ns,
        false => found.modified_ns.max(output.at_ns),
    });
    let latest_ns = written_ns.saturating_add(TICK_NS);
    let is_written = !output.is_inherited || latest_ns >= output.at_ns;
    let settings: HashSet<FileNumber> = execution
        .read
        .keys()
        .copied()
        .filter(|file| is_setting(&accesses.files[*file as usize].path))
        .collect();
    let own = execution.written.iter().rev();
    let own: HashMap<FileNumber, i64> = own.map(|one| (one.file, one.at_ns)).collect();
    let read = execution.read.iter().filter(move |(file, at_ns)| {
        let is_own = own.get(*file).is_some_and(|written_ns| written_ns < *at_ns);
        **file != output.file
            && is_written
            && !is_own
            && !execution.mapped.contains(*file)
            && !settings.contains(*file)
            && **at_ns <= latest_ns
    });
    read.map(|(file, _)| *file)
}

fn is_setting(path: &[u8]) -> bool {
    SETTINGS.iter().any(|prefix| path.starts_with(prefix))
        || path.ends_with(b"/gconv-modules.cache")
}

/// Returns the sources of a file that are there, in place of those that are gone their sources.
fn lasting(
    output: FileNumber,
    direct: &HashMap<FileNumber, Vec<FileNumber>>,
    is_there: impl Fn(FileNumber) -> bool,
) -> Vec<FileNumber> {
    let mut found = Vec::new();
    let mut met = HashSet::from([output]);
    let mut left = vec![output];
    while let Some(file) = left.pop() {
        for source in direct.get(&file).into_iter().flatten() {
            if !met.insert(*source) || found.len() >= SOURCES_MAX {
                continue;
            }
            match is_there(*source) {
                true => found.push(*source),
                false => left.push(*source),
            }
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::accesses::{AccessedFile, FileAtEnd, FileIdentity};

    const MS: i64 = 1_000_000;

    /// Files are named by one letter; those in capitals are gone at the end.
    struct Story(Accesses);

    impl Story {
        fn new() -> Story {
            Story(Accesses::default())
        }

        fn file(&mut self, name: &str) -> FileNumber {
            let path = format!("/{name}").into_bytes();
            let files = &mut self.0.files;
            if let Some(at) = files.iter().position(|file| file.path == path) {
                return at as FileNumber;
            }
            let is_gone = name.chars().all(char::is_uppercase);
            let at_end = (!is_gone).then_some(FileAtEnd {
                identity: FileIdentity::default(),
                modified_ns: 0,
            });
            files.push(AccessedFile { path, at_end });
            files.len() as FileNumber - 1
        }

        /// At this time in milliseconds, a process with this parent does something to a file.
        fn at(
            mut self,
            ms: i64,
            (process, parent): (u32, u32),
            kind: AccessKind,
            name: &str,
        ) -> Story {
            let file = self.file(name);
            let at_ns = ms * MS;
            self.0.events.push(Access {
                at_ns,
                process,
                parent,
                file,
                kind,
            });
            self
        }

        fn named(mut self, ms: i64, who: (u32, u32), from: &str, to: &str) -> Story {
            let from = self.file(from);
            self.at(ms, who, AccessKind::Named(from), to)
        }

        /// A file was last changed at this time in milliseconds.
        fn modified(mut self, name: &str, ms: i64) -> Story {
            let file = self.file(name) as usize;
            self.0.files[file].at_end.as_mut().unwrap().modified_ns = ms * MS;
            self
        }

        fn built(&self) -> Vec<String> {
            let name = |file: &FileNumber| {
                String::from_utf8_lossy(&self.0.files[*file as usize].path[1..]).into_owned()
            };
            let built = built(&self.0, &executions(&self.0));
            let line = |(output, sources): &(FileNumber, Vec<FileNumber>)| {
                let mut sources: Vec<String> = sources.iter().map(name).collect();
                sources.sort();
                format!("{}: {}", name(output), sources.join(" "))
            };
            built.iter().map(line).collect()
        }
    }

    use AccessKind::{Appended, Executed, Mapped, Read, Redirected, Updated, Written};

    #[test]
    fn a_file_is_built_from_what_was_read_before_its_last_write() {
        let story = Story::new()
            .at(0, (1, 0), Executed, "cc")
            .at(1, (1, 0), Read, "a")
            // The assembler opens its output first.
            .at(2, (1, 0), Written, "o")
            .at(3, (1, 0), Read, "b")
            .at(900, (1, 0), Read, "late")
            .modified("o", 500);
        assert_eq!(story.built(), ["o: a b"]);
    }

    #[test]
    fn what_is_gone_hands_its_sources_on() {
        let story = Story::new()
            .at(0, (1, 0), Executed, "cc1")
            .at(1, (1, 0), Read, "main.c")
            .at(2, (1, 0), Read, "main.h")
            .at(3, (1, 0), Written, "S")
            .at(4, (2, 0), Executed, "as")
            .at(5, (2, 0), Read, "S")
            .at(6, (2, 0), Written, "main.o");
        assert_eq!(story.built(), ["main.o: main.c main.h"]);
    }

    #[test]
    fn another_name_is_the_same_file() {
        let story = Story::new()
            .at(0, (1, 0), Executed, "p")
            .at(1, (1, 0), Read, "a")
            .at(2, (1, 0), Written, "T")
            .at(3, (2, 0), Executed, "mv")
            .named(4, (2, 0), "T", "o")
            .modified("o", 3);
        assert_eq!(story.built(), ["o: a"]);
    }

    /// Each new name copies what is known of the old one; two names in turn must not double it.
    #[test]
    fn renaming_to_and_fro_adds_nothing() {
        let story = Story::new()
            .at(0, (1, 0), Executed, "p")
            .at(1, (1, 0), Read, "a")
            .at(2, (1, 0), Written, "x");
        let story = (3..200).fold(story, |story, ms| match ms % 3 {
            0 => story.named(ms, (2, 0), "x", "y"),
            1 => story.named(ms, (2, 0), "y", "x"),
            _ => story.named(ms, (2, 0), "x", "x"),
        });
        assert_eq!(story.built(), ["x: a", "y: a"]);
    }

    /// A script that starts itself anew has read each of its files once.
    #[test]
    fn running_again_adds_nothing() {
        let story = (0..200).fold(Story::new(), |story, ms| {
            let story = story.at(10 * ms, (1, 0), Executed, "sh");
            let story = story.at(10 * ms + 1, (1, 0), Read, "a");
            story.at(10 * ms + 2, (1, 0), Written, "o")
        });
        assert_eq!(story.built(), ["o: a"]);
        let last = executions(&story.0).pop().unwrap();
        assert_eq!(last.read.len(), 1);
        assert!(last.written.len() <= 2, "{}", last.written.len());
    }

    #[test]
    fn programs_libraries_logs_and_own_output_are_no_sources() {
        let story = Story::new()
            .at(0, (1, 0), Executed, "p")
            .at(1, (1, 0), Read, "libc")
            .at(1, (1, 0), Read, "etc/ld.so.cache")
            .at(2, (1, 0), Mapped, "libc")
            .at(3, (1, 0), Written, "x")
            .at(4, (1, 0), Read, "x")
            .at(5, (1, 0), Appended, "log")
            .at(60, (1, 0), Updated, "database")
            .at(70, (1, 0), Written, "o")
            .modified("o", 80);
        assert_eq!(story.built(), ["o: database"]);
    }

    #[test]
    fn what_a_shell_redirects_is_written_by_the_program() {
        let story = Story::new()
            .at(0, (1, 0), Executed, "sh")
            .at(1, (1, 0), Read, "script")
            .at(2, (2, 1), Written, "o")
            .at(3, (2, 1), Executed, "sort")
            .at(4, (2, 1), Read, "a")
            .modified("o", 5);
        assert_eq!(story.built(), ["o: a"]);
        let found = executions(&story.0);
        let names = |execution: &Execution| -> Vec<u32> {
            execution.opened.iter().map(|(file, _)| *file).collect()
        };
        // The shell started sort; sort has what was opened for it.
        assert_eq!(names(&found[0]), [0, 1, 3]);
        assert_eq!(names(&found[2]), [3, 2, 4]);
        assert_eq!(found[1].program, Some(0));
    }

    /// dash opens the output itself and starts the program by vfork(2).
    #[test]
    fn what_a_parent_redirects_is_written_by_those_that_run_before_its_last_write() {
        let story = Story::new()
            .at(0, (1, 0), Executed, "sh")
            .at(1, (1, 0), Written, "o")
            .at(3, (2, 1), Executed, "sort")
            .at(3, (2, 1), Redirected, "o")
            .at(4, (2, 1), Read, "libc")
            .at(5, (2, 1), Read, "a")
            .at(6, (2, 1), Mapped, "libc")
            // It runs when the last write is long ago.
            .at(90, (3, 1), Executed, "grep")
            .at(90, (3, 1), Redirected, "o")
            .at(91, (3, 1), Read, "b")
            .modified("o", 6);
        assert_eq!(story.built(), ["o: a"]);
    }
}
