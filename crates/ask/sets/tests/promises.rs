//! The two promises against random writers: every member was there at some moment of the query,
//! with content that it had; once a member, always a member.
//!
//! A writer creates, rewrites, renames and removes files, and logs when each name had which
//! content: from before it was made to after it was gone. Sets walk the tree meanwhile.
//! `TRAWL_SET_DELIVERIES` makes it longer.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use trawl_call::request::Cancel;
use trawl_sets::{Found, Local, Names, Opener, Options, Problem, Set};

/// When a name had a content: from, and until if that is over.
struct State {
    content: String,
    from: Instant,
    until: Option<Instant>,
}

type Log = Mutex<HashMap<PathBuf, Vec<State>>>;

/// A walk of one directory after the other.
struct Walk {
    left: Vec<PathBuf>,
    open: Option<std::fs::ReadDir>,
}

impl Names for Walk {
    fn next(&mut self, _: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            if let Some(entry) = self.open.as_mut().and_then(Iterator::next) {
                let path = entry.unwrap().path();
                return Some(Ok(Found::named(path.as_os_str().as_bytes())));
            }
            self.open = Some(std::fs::read_dir(self.left.pop()?).unwrap());
        }
    }
}

fn random(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    (*state >> 33) % below
}

fn path_of(root: &Path, number: u64) -> PathBuf {
    root.join(format!("d{}/f{}", number % 4, number / 4))
}

fn close(log: &Log, path: &Path) {
    if let Some(last) = log
        .lock()
        .unwrap()
        .get_mut(path)
        .and_then(|states| states.last_mut())
    {
        last.until.get_or_insert_with(Instant::now);
    }
}

fn begin(log: &Log, path: &Path, content: &str) {
    let (content, from) = (content.to_owned(), Instant::now());
    let state = State {
        content,
        from,
        until: None,
    };
    log.lock()
        .unwrap()
        .entry(path.to_owned())
        .or_default()
        .push(state);
}

fn write_until(root: &Path, log: &Log, stop: &AtomicBool, spare: &Path) {
    let mut seed = 11;
    let mut count = 0u64;
    while !stop.load(Ordering::Relaxed) {
        count += 1;
        let path = path_of(root, random(&mut seed, 200));
        if random(&mut seed, 3) == 0 {
            let _ = std::fs::remove_file(&path);
            close(log, &path);
        } else {
            // Contents appear whole, by a rename; what was there before ends after it.
            let content = format!("{}:{count}", path.display());
            std::fs::write(spare, &content).unwrap();
            begin(log, &path, &content);
            std::fs::rename(spare, &path).unwrap();
            let mut log = log.lock().unwrap();
            for state in log.get_mut(&path).unwrap().iter_mut().rev().skip(1) {
                state.until.get_or_insert_with(Instant::now);
            }
        }
        if count.is_multiple_of(16) {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
}

/// Returns whether this name had this content, or any, between the two times.
fn was_there(log: &Log, path: &Path, content: Option<&str>, begin: Instant, end: Instant) -> bool {
    log.lock().unwrap().get(path).is_some_and(|states| {
        states.iter().any(|state| {
            content.is_none_or(|content| content == state.content)
                && state.from <= end
                && state.until.is_none_or(|until| until >= begin)
        })
    })
}

fn check(root: &Path, log: &Log, options: Options) -> u64 {
    let opened = Instant::now();
    let left = (0..4)
        .map(|number| root.join(format!("d{number}")))
        .collect();
    let openers: Vec<Arc<dyn Opener>> = vec![Arc::new(Local::default())];
    let set = Set::open(Box::new(Walk { left, open: None }), openers, options).unwrap();
    let mut first = HashSet::new();
    let mut deliveries = 0;
    for pass in 0..2 {
        let mut names = HashSet::new();
        while let Some(outcome) = set.iterate() {
            deliveries += 1;
            let (name, content) = match outcome {
                Ok(mut member) => {
                    let mut content = String::new();
                    member.file.read_to_string(&mut content).unwrap();
                    (member.name, Some(content))
                }
                Err(problem) => {
                    assert_eq!(
                        problem.source.kind(),
                        std::io::ErrorKind::NotFound,
                        "{problem}"
                    );
                    (problem.name, None)
                }
            };
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(&name));
            let now = Instant::now();
            assert!(
                was_there(log, &path, None, opened, now),
                "{}",
                path.display()
            );
            if let Some(content) = &content {
                assert!(
                    was_there(log, &path, Some(content), opened, now),
                    "{content}"
                );
            }
            assert!(names.insert(name), "{} came twice", path.display());
        }
        match pass {
            0 => first = names,
            _ => assert_eq!(names, first, "a member was lost or won by a rewind"),
        }
        set.rewind_iterator();
    }
    deliveries
}

#[test]
fn hold_while_files_come_and_go() {
    let wanted = std::env::var("TRAWL_SET_DELIVERIES").ok();
    let wanted = wanted.and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let dir = tempfile::tempdir().unwrap();
    let (root, spare) = (dir.path().join("tree"), dir.path().join("spare"));
    for number in 0..4 {
        std::fs::create_dir_all(root.join(format!("d{number}"))).unwrap();
    }
    let (log, stop) = (Log::default(), AtomicBool::new(false));
    let deliveries = std::thread::scope(|scope| {
        scope.spawn(|| write_until(&root, &log, &stop, &spare));
        let reading = scope.spawn(|| {
            let (mut deliveries, mut seed) = (0u64, 5);
            while deliveries < wanted {
                let options = Options {
                    ordered: random(&mut seed, 2) == 0,
                    descriptors: 1 + random(&mut seed, 20) as usize,
                    threads: random(&mut seed, 4) as usize,
                    ..Options::default()
                };
                deliveries += check(&root, &log, options);
            }
            deliveries
        });
        let deliveries = reading.join();
        stop.store(true, Ordering::Relaxed);
        deliveries
    });
    println!("{} deliveries, 0 violations", deliveries.unwrap());
}
