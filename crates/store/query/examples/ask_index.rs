//! Measures queries on an index in CPU time of the process.
//!
//! `ask_index make INDEX (TRACE | TREE)` makes an index.
//! `ask_index ask INDEX [QUESTION [REPEAT]]` runs all queries, or one several
//! times.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::guard::Credentials;
use trawl_model::{Timestamp, rows::Row};
use trawl_query::{
    Detail, DirRequest, Index, Listing, Located, Request, SeenLinks, Start, StatsRequest, Trait,
    UsageRequest,
};
use trawl_writer::{SnapshotWriter, WriterOptions};

type Failure = Box<dyn std::error::Error>;
/// A count made by a query, so that answers can be compared.
type Answer = Result<u64, Failure>;
type Question = fn(&Index, &Start) -> Answer;

const QUESTIONS: [(&str, Question); 10] = [
    ("open and locate", |_, _| Ok(1)),
    ("list the start", list),
    ("total", |index, start| {
        Ok(index.totals(start)?.sums.size_bytes)
    }),
    ("all paths", paths),
    ("names over 1 MiB", large),
    ("names of a user", owned),
    ("usage by directory", |index, start| {
        usage(index, start, Detail::Directories)
    }),
    ("usage of everything", |index, start| {
        usage(index, start, Detail::Everything)
    }),
    ("directories", directories),
    ("statistics", statistics),
];

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", index, source] => make(Path::new(index), Path::new(source)),
        ["ask", index] => QUESTIONS
            .iter()
            .try_for_each(|(name, question)| ask(index, name, *question, 1)),
        ["ask", index, name] => ask_one(index, name, 1),
        ["ask", index, name, repeat] => ask_one(index, name, repeat.parse()?),
        _ => Err("ask_index make INDEX SOURCE | ask_index ask INDEX [QUESTION [REPEAT]]".into()),
    }
}

fn make(index: &Path, source: &Path) -> Result<(), Failure> {
    let cancel = AtomicBool::new(false);
    let options = WriterOptions {
        memory_bytes: trawl_writer::DEFAULT_MEMORY_BYTES,
        started: Timestamp {
            secs: 1_700_000_000,
            nanos: 0,
        },
        version: "ask_index".to_owned(),
        options: Default::default(),
    };
    let index = trawl_writer::create_index(index, None)?;
    let progress = trawl_scan::ScanProgress::default();
    let root = match source.is_dir() {
        true => source.canonicalize()?.into_os_string().into_encoded_bytes(),
        false => b"/trace".to_vec(),
    };
    let mut writer = SnapshotWriter::begin(&index, &root, options)?;
    if source.is_dir() {
        trawl_scan::walk(
            &root,
            &trawl_scan::WalkOptions::new(&cancel),
            &progress,
            &mut writer,
        )?;
    } else {
        let options = trawl_scan::TraceOptions {
            root: Some(root),
            cancel: &cancel,
        };
        trawl_scan::read_trace(source, &options, &progress, &mut writer)?;
    }
    println!("{:?}", writer.commit(Timestamp::default())?);
    println!("{:.3} s of CPU", cpu().as_secs_f64());
    Ok(())
}

fn ask_one(index: &str, name: &str, repeat: u32) -> Result<(), Failure> {
    let found = QUESTIONS.iter().find(|(known, _)| *known == name);
    let (name, question) = found.ok_or("no such question")?;
    ask(index, name, *question, repeat)
}

/// Runs a query on an open index; also prints the time for opening it.
fn ask(path: &str, name: &str, question: Question, repeat: u32) -> Result<(), Failure> {
    for _ in 0..repeat {
        let (cpu_before, before) = (cpu(), Instant::now());
        let index = Index::open(Path::new(path), Credentials::default())?;
        let root = index.sources().first().ok_or("no source")?.root().to_vec();
        let Located::Found(start) = index.locate(&root)? else {
            return Err("no root".into());
        };
        let (cpu_open, open) = (cpu(), before.elapsed());
        let answer = question(&index, &start)?;
        println!(
            "{name:20} {answer:>16}  cpu {:8.2} ms  wall {:8.2} ms  (opening: cpu {:6.2} ms, wall {:6.2} ms)",
            (cpu() - cpu_open).as_secs_f64() * 1e3,
            (before.elapsed() - open).as_secs_f64() * 1e3,
            (cpu_open - cpu_before).as_secs_f64() * 1e3,
            open.as_secs_f64() * 1e3,
        );
    }
    Ok(())
}

/// CPU time of the process so far, from its clock, clock_gettime(2): schedstat
/// counts ended threads too late.
fn cpu() -> Duration {
    let times = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(times.tv_sec as u64, times.tv_nsec as u32)
}

fn list(index: &Index, start: &Start) -> Answer {
    let request = Request {
        columns: ColumnSet::all(),
        max_depth: Some(1),
        ..Request::default()
    };
    count(index, start, &request)
}

fn large(index: &Index, start: &Start) -> Answer {
    let mut filter = Filter::default();
    filter.add(Clause {
        column: Column::Size,
        low: (1 << 20) + 1,
        high: i128::MAX,
    });
    print_paths(index, start, filter)
}

fn owned(index: &Index, start: &Start) -> Answer {
    let mut filter = Filter::default();
    filter.add(Clause {
        column: Column::Uid,
        low: 1003,
        high: 1003,
    });
    print_paths(index, start, filter)
}

fn paths(index: &Index, start: &Start) -> Answer {
    print_paths(index, start, Filter::default())
}

/// Writes paths to `/dev/null`, as find would to its output.
fn print_paths(index: &Index, start: &Start, filter: Filter) -> Answer {
    let request = Request {
        columns: ColumnSet::of(&[Column::Name]),
        filter,
        ..Request::default()
    };
    // Buffers are reused: having the kernel zero new pages costs more than
    // filling them.
    let spare: Mutex<Vec<Vec<u8>>> = Mutex::default();
    let work = |listing: &Listing<'_>, (out, rows): &mut (Vec<u8>, u64)| {
        if out.capacity() == 0 {
            *out = spare
                .lock()
                .ok()
                .and_then(|mut spare| spare.pop())
                .unwrap_or_default();
        }
        for at in listing.range.clone() {
            out.extend_from_slice(listing.dir.path);
            out.push(b'/');
            out.extend_from_slice(listing.batch.name.get(at));
            out.push(b'\n');
        }
        *rows += listing.range.len() as u64;
    };
    let mut null = std::fs::File::create("/dev/null")?;
    let mut rows = 0;
    index.walk(start, &request, work, |(mut out, some)| {
        rows += some;
        let written = null.write_all(&out);
        out.clear();
        if let Ok(mut spare) = spare.lock() {
            spare.push(out);
        }
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    Ok(rows)
}

fn count(index: &Index, start: &Start, request: &Request<'_>) -> Answer {
    let mut rows = 0;
    let work = |listing: &Listing<'_>, rows: &mut u64| {
        let (batch, dir) = (listing.batch, listing.dir.path);
        let named = listing.range.clone().filter(|at| {
            !Row {
                batch,
                at: *at,
                dir,
            }
            .name()
            .is_empty()
        });
        *rows += named.count() as u64;
    };
    index.walk(start, request, work, |some| {
        rows += some;
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

fn usage(index: &Index, start: &Start, detail: Detail) -> Answer {
    let request = UsageRequest {
        detail,
        ..UsageRequest::default()
    };
    let usage = index.usage(start, &request, &mut SeenLinks::new(), |_| {
        ControlFlow::Continue(())
    })?;
    Ok(usage.blocks)
}

fn directories(index: &Index, start: &Start) -> Answer {
    let mut dirs = 0;
    index.directories(start, &DirRequest::default(), |_| {
        dirs += 1;
        ControlFlow::Continue(())
    })?;
    Ok(dirs)
}

fn statistics(index: &Index, start: &Start) -> Answer {
    let request = StatsRequest {
        now: Timestamp {
            secs: 1_760_000_000,
            nanos: 0,
        },
        traits: &[Trait::Extension],
        ..StatsRequest::default()
    };
    Ok(index.stats(start, &request)?.extensions.len() as u64)
}
