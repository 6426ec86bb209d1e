//! Measures size and CPU time of name sidecars for the rows of a trace in
//! GUFI's text format: `measure_names TRACE`. Segments have 200,000 rows, as a
//! writer with default memory makes them. Times are thread CPU time, scaled to
//! 10 million rows, with files in the page cache.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use trawl_names::{Anchor, Case, Literal, Names, NamesWriter, Needles, Pattern, RowKind, Subject};

const SEGMENT_ROWS: u64 = 200_000;
const SCALED_ROWS: f64 = 10e6;
/// CPU time after which a query has been measured long enough, and the maximum
/// number of runs.
const LEAST_NS: f64 = 0.5e9;
const RUNS_MOST: f64 = 10_000.0;

/// CPU time of this thread in nanoseconds.
fn cpu_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split(' ').next().and_then(|field| field.parse().ok());
    first.unwrap_or(0.0)
}

type Rows = Vec<(Vec<u8>, RowKind)>;
type Dirs = BTreeMap<Vec<Vec<u8>>, Rows>;

fn read(trace: &str) -> Dirs {
    let mut dirs = Dirs::new();
    let mut lines = BufReader::new(File::open(trace).expect("a trace")).split(b'\n');
    while let Some(Ok(line)) = lines.next() {
        let mut fields = line.split(|byte| *byte == 0x1e);
        let path = fields
            .next()
            .and_then(|field| field.get(4..))
            .unwrap_or_default();
        let is_dir = fields.next() == Some(b"d");
        let mut parts: Vec<Vec<u8>> = path.split(|b| *b == b'/').map(<[u8]>::to_vec).collect();
        if is_dir && !path.is_empty() {
            dirs.entry(parts.clone()).or_default();
        }
        let kind = if is_dir {
            RowKind::Directory
        } else {
            RowKind::Other
        };
        if let Some(name) = parts.pop().filter(|name| !name.is_empty()) {
            dirs.entry(parts).or_default().push((name, kind));
        }
    }
    dirs
}

/// Turns directories into paths with sorted rows.
fn listings(dirs: Dirs) -> Vec<(Vec<u8>, Rows)> {
    let listing = |(parts, mut rows): (Vec<Vec<u8>>, Rows)| {
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let path = parts.iter().flat_map(|part| [b"/", &part[..]].concat());
        (path.collect(), rows)
    };
    dirs.into_iter().map(listing).collect()
}

/// Writes sidecars; also returns the nanoseconds that took.
fn write(dirs: Dirs) -> (Vec<Vec<u8>>, f64) {
    let mut files = Vec::new();
    let listings = listings(dirs);
    let start = cpu_ns();
    let mut writer = NamesWriter::new().expect("a writer");
    for (path, rows) in &listings {
        writer.dir(path).expect("a directory");
        for (name, kind) in rows {
            writer.row(name, *kind).expect("a row");
        }
        if writer.rows() >= SEGMENT_ROWS {
            files.push(writer.finish(0).expect("a file"));
            writer = NamesWriter::new().expect("a writer");
        }
    }
    files.push(writer.finish(0).expect("a file"));
    (files, cpu_ns() - start)
}

/// Prints the mean over runs of half a second.
fn measure(what: &str, rows: u64, mut run: impl FnMut() -> u64) {
    let mut count = run();
    let (start, mut runs) = (cpu_ns(), 0.0);
    let mut spent = 0.0;
    while spent < LEAST_NS && runs < RUNS_MOST {
        count = run();
        runs += 1.0;
        spent = cpu_ns() - start;
    }
    let scaled = spent / runs / 1e6 * SCALED_ROWS / rows as f64;
    println!("{what:44} {count:9} rows  {scaled:8.2} ms at 10 M rows");
}

fn ask(open: &[Names<File>], pattern: &Pattern<'_>, how: How) -> u64 {
    let mut count = 0;
    for names in open {
        let all = 0..names.rows();
        let told = match how {
            How::Rows => names.search(pattern, all, &mut |found| {
                count += u64::from(!found.name.is_empty());
                ControlFlow::Continue(())
            }),
            How::Ranges => names.ranges(pattern, all, &mut |range| {
                count += range.end - range.start;
                ControlFlow::Continue(())
            }),
        };
        let _ = told.expect("an answer");
    }
    count
}

#[derive(Clone, Copy, Debug)]
enum How {
    Rows,
    Ranges,
}

fn main() {
    let trace = std::env::args().nth(1).expect("measure TRACE");
    let dirs = read(&trace);
    let (files, write_ns) = write(dirs);
    let folder = std::env::temp_dir().join(format!("names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut paths = Vec::new();
    for (at, bytes) in files.iter().enumerate() {
        let path = folder.join(at.to_string());
        std::fs::write(&path, bytes).expect("a file");
        paths.push(path);
    }
    let open = |path: &Path| {
        let file = File::open(path).expect("a file");
        let len = file.metadata().expect("a length").len();
        Names::open(file, len, path).expect("a sidecar")
    };
    let sidecars: Vec<Names<File>> = paths.iter().map(|path| open(path)).collect();
    let rows: u64 = sidecars.iter().map(Names::rows).sum();
    let bytes: usize = files.iter().map(Vec::len).sum();
    println!(
        "{rows} rows, {} sidecars, {:.2} B a row, written in {:.0} ns a row",
        files.len(),
        bytes as f64 / rows as f64,
        write_ns / rows as f64
    );
    for (part, bytes) in
        sidecars
            .iter()
            .map(Names::sizes)
            .fold(BTreeMap::new(), |mut sums, sizes| {
                for (part, bytes) in sizes {
                    *sums.entry(part).or_insert(0) += bytes;
                }
                sums
            })
    {
        println!("  {part}: {:.3} B a row", bytes as f64 / rows as f64);
    }
    measure("open", rows, || {
        paths.iter().map(|path| open(path)).map(|n| n.dirs()).sum()
    });
    for (glob, subject) in [("*.c", Subject::Name), ("wave_0051.d*", Subject::Name)] {
        let suffix = glob
            .trim_start_matches('*')
            .trim_end_matches('*')
            .as_bytes()
            .to_vec();
        let matcher = |name: &[u8]| match glob.starts_with('*') {
            true => name.ends_with(&suffix),
            false => name.starts_with(&suffix),
        };
        let literal = Literal {
            bytes: suffix.clone(),
            anchor: match glob.starts_with('*') {
                true => Anchor::End,
                false => Anchor::Start,
            },
        };
        let needles = Needles::literal(literal, subject, Case::Sensitive);
        let pattern = Pattern::matcher(needles, &matcher);
        measure(&format!("glob {glob}, rows"), rows, || {
            ask(&sidecars, &pattern, How::Rows)
        });
        measure(&format!("glob {glob}, ranges"), rows, || {
            ask(&sidecars, &pattern, How::Ranges)
        });
    }
    for (text, anchor, subject, case) in [
        (".c", Anchor::End, Subject::Name, Case::Sensitive),
        (".C", Anchor::End, Subject::Name, Case::Folded),
        (
            "nowhere-to-be",
            Anchor::Anywhere,
            Subject::Path,
            Case::Sensitive,
        ),
        (
            "tensor9/quux",
            Anchor::Anywhere,
            Subject::Path,
            Case::Sensitive,
        ),
        (
            "hydro-atm3.js",
            Anchor::Anywhere,
            Subject::Path,
            Case::Sensitive,
        ),
        ("math122", Anchor::Anywhere, Subject::Path, Case::Sensitive),
        ("plots", Anchor::Anywhere, Subject::Path, Case::Sensitive),
        ("PLOTS", Anchor::Anywhere, Subject::Path, Case::Folded),
    ] {
        let literal = Literal {
            bytes: text.into(),
            anchor,
        };
        let pattern = Pattern::literal(literal, subject, case);
        measure(&format!("{text} {subject:?} {case:?}, rows"), rows, || {
            ask(&sidecars, &pattern, How::Rows)
        });
        measure(
            &format!("{text} {subject:?} {case:?}, ranges"),
            rows,
            || ask(&sidecars, &pattern, How::Ranges),
        );
    }
    measure("everything, rows", rows, || {
        ask(&sidecars, &Pattern::everything(), How::Rows)
    });
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
