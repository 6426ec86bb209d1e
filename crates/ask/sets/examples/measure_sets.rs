//! Reads the files named on standard input, one name a line, and prints what it cost as one line of
//! JSON: `find DIR -type f | measure_sets loop|set|ordered [--stats] [REPEATS]`.
//!
//! `loop` opens and reads one file after the other; `set` and `ordered` read the members of a set on
//! one thread, of a new set for each repeat. `first_s` is the mean time until the first file of a repeat
//! was open with its bytes read.

use std::fs::File;
use std::io::{BufRead, Read};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Instant;

use trawl_sets::{Local, Opener, Options, Set};

/// Counts and times so far.
struct Sum {
    begun: Instant,
    first_s: f64,
    is_first: bool,
    members: u64,
    problems: u64,
    bytes: usize,
    buffer: Vec<u8>,
}

impl Sum {
    fn read<E>(&mut self, file: Result<File, E>) {
        self.buffer.clear();
        let read = file
            .ok()
            .and_then(|mut file| file.read_to_end(&mut self.buffer).ok());
        self.add(read);
    }

    /// Counts a file of which so many bytes were read.
    fn add(&mut self, read: Option<usize>) {
        if std::mem::take(&mut self.is_first) {
            self.first_s += self.begun.elapsed().as_secs_f64();
        }
        match read {
            Some(bytes) => (self.members, self.bytes) = (self.members + 1, self.bytes + bytes),
            None => self.problems += 1,
        }
    }
}

fn read_set(names: Vec<Vec<u8>>, ordered: bool, shows: bool, sum: &mut Sum) {
    let options = Options {
        ordered,
        ..Options::default()
    };
    let openers: Vec<Arc<dyn Opener>> = vec![Arc::new(Local::with_contents())];
    let Ok(set) = Set::open(Box::new(names.into_iter()), openers, options) else {
        return;
    };
    while let Some(member) = set.iterate() {
        match member.map(|member| (member.content, member.file)) {
            Ok((Some(content), _)) => sum.add(Some(content.len())),
            Ok((None, file)) => sum.read(Ok::<_, ()>(file)),
            Err(problem) => sum.read(Err(problem)),
        }
    }
    let stats = set.close();
    if shows {
        eprintln!("{stats:#?}");
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mode = words.first().map(String::as_str).unwrap_or_default();
    let names = std::io::stdin().lock().split(b'\n');
    let names: Vec<Vec<u8>> = names.map_while(Result::ok).collect();
    let mut sum = Sum {
        begun: Instant::now(),
        first_s: 0.0,
        is_first: true,
        members: 0,
        problems: 0,
        bytes: 0,
        buffer: Vec::new(),
    };
    let cpu = trawl_testkit::process::cpu_time();
    let repeats = words
        .iter()
        .find_map(|word| word.parse().ok())
        .unwrap_or(1u32);
    let begun = sum.begun;
    for _ in 0..repeats {
        let names = names.clone();
        (sum.begun, sum.is_first) = (Instant::now(), true);
        match mode {
            "loop" => {
                let paths = names.iter().map(|name| std::ffi::OsStr::from_bytes(name));
                paths.for_each(|path| sum.read(File::open(path)));
            }
            "set" | "ordered" => {
                let shows = words.iter().any(|word| word == "--stats");
                read_set(names, mode == "ordered", shows, &mut sum);
            }
            _ => {
                eprintln!("usage: measure_sets loop|set|ordered [--stats] [REPEATS] < NAMES");
                std::process::exit(2);
            }
        }
    }
    println!(
        "{{\"wall_s\": {:.6}, \"cpu_s\": {:.6}, \"first_s\": {:.6}, \"members\": {}, \"problems\": {}, \"bytes\": {}}}",
        begun.elapsed().as_secs_f64(),
        (trawl_testkit::process::cpu_time() - cpu).as_secs_f64(),
        sum.first_s / f64::from(repeats),
        sum.members,
        sum.problems,
        sum.bytes
    );
}
