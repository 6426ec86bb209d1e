//! Characteristic times of this machine: "Many OS operations have characteristic times. For example,
//! we know that a context switch takes approximately 5–6 µs, a full stroke disk head seek takes
//! approximately 8 ms, a full disk rotation takes approximately 4 ms, […] and the scheduling quantum
//! is about 58 ms on our test setup" (§3.1.2). They are measured here instead of known.
//!
//! Each is the median of several measurements. A time that cannot be measured is left out.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use trawl_analysis::peaks::CharacteristicTime;
use trawl_sys::ahead::is_cached;

/// Number of measurements, of which the median counts.
const ROUNDS: usize = 15;
/// Number of round trips in a measurement.
const TRIPS: u32 = 20;
/// Size of a page, as assumed here.
const PAGE_BYTES: usize = 4096;
/// Number of pages that are touched in a measurement: less than a huge page.
const PAGES: usize = 256;
/// Number of blocks of the file that is read from the device.
const BLOCKS: usize = ROUNDS;
/// Distance of these blocks, so that reading one brings no other into memory.
const APART_BYTES: u64 = 1 << 20;

/// Measures all of them, in nanoseconds.
pub fn measure() -> Vec<CharacteristicTime> {
    let measured: [(&str, Option<f64>); 6] = [
        ("system call", Some(median(&mut system_calls()))),
        ("page fault", Some(median(&mut page_faults()))),
        (
            "switch to another thread",
            thread_switches().ok().map(|mut all| median(&mut all)),
        ),
        (
            "network round trip on this machine",
            network().ok().map(|mut all| median(&mut all)),
        ),
        (
            "device read",
            device_reads()
                .ok()
                .flatten()
                .map(|mut all| median(&mut all)),
        ),
        (
            "timer tick",
            Some(trawl_sys::timer::tick().as_nanos() as f64),
        ),
    ];
    let known = measured.into_iter().filter_map(|(name, time)| {
        let time = time.filter(|time| *time > 0.0)?;
        let name = name.to_owned();
        Some(CharacteristicTime { name, time })
    });
    known.collect()
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

fn each_ns(time: Duration, count: usize) -> f64 {
    time.as_nanos() as f64 / count as f64
}

fn system_calls() -> Vec<f64> {
    const CALLS: usize = 1000;
    let once = |_| {
        let begun = Instant::now();
        for _ in 0..CALLS {
            std::hint::black_box(std::os::unix::process::parent_id());
        }
        each_ns(begun.elapsed(), CALLS)
    };
    (0..ROUNDS).map(once).collect()
}

fn page_faults() -> Vec<f64> {
    let once = |_| {
        let mut pages = vec![0u8; PAGES * PAGE_BYTES];
        let begun = Instant::now();
        for page in pages.chunks_mut(PAGE_BYTES) {
            if let Some(byte) = page.first_mut() {
                *std::hint::black_box(byte) = 1;
            }
        }
        each_ns(begun.elapsed(), PAGES)
    };
    (0..ROUNDS).map(once).collect()
}

/// Half of a round trip between two threads that wait for each other.
fn thread_switches() -> io::Result<Vec<f64>> {
    let (mut get, mut answer) = io::pipe()?;
    let (mut asked, mut ask) = io::pipe()?;
    std::thread::scope(|scope| {
        let echo = move || {
            let mut byte = [0];
            while asked.read_exact(&mut byte).is_ok() && answer.write_all(&byte).is_ok() {}
        };
        std::thread::Builder::new().spawn_scoped(scope, echo)?;
        let trips = round_trips(|| {
            ask.write_all(b"x")?;
            get.read_exact(&mut [0])
        });
        drop(ask);
        trips.map(|all| all.into_iter().map(|trip| trip / 2.0).collect())
    })
}

fn network() -> io::Result<Vec<f64>> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut here = TcpStream::connect(listener.local_addr()?)?;
    let (mut there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    std::thread::scope(|scope| {
        let echo = move || {
            let mut byte = [0];
            while there.read_exact(&mut byte).is_ok() && there.write_all(&byte).is_ok() {}
        };
        std::thread::Builder::new().spawn_scoped(scope, echo)?;
        let trips = round_trips(|| {
            here.write_all(b"x")?;
            here.read_exact(&mut [0])
        });
        drop(here);
        trips
    })
}

fn round_trips(mut trip: impl FnMut() -> io::Result<()>) -> io::Result<Vec<f64>> {
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..TRIPS {
            trip()?;
        }
        all.push(each_ns(begun.elapsed(), TRIPS as usize));
    }
    Ok(all)
}

/// Reads blocks of a temporary file that are not in memory; `None` if they are, because the directory
/// for temporary files is.
fn device_reads() -> io::Result<Option<Vec<f64>>> {
    let file = temporary()?;
    for at in 0..BLOCKS as u64 {
        file.write_all_at(&[1; PAGE_BYTES], at * APART_BYTES)?;
    }
    file.sync_data()?;
    trawl_sys::ahead::drop_cached(&file)?;
    if is_cached(&file, PAGE_BYTES as u64) != Some(false) {
        return Ok(None);
    }
    let mut all = Vec::new();
    for at in 0..BLOCKS as u64 {
        let begun = Instant::now();
        file.read_exact_at(&mut [0; PAGE_BYTES], at * APART_BYTES)?;
        all.push(begun.elapsed().as_nanos() as f64);
    }
    Ok(Some(all))
}

/// Returns a new file without a name.
fn temporary() -> io::Result<File> {
    Ok(trawl_sys::file::unnamed_temporary(&std::env::temp_dir())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn times_are_in_their_natural_order() {
        let all = measure();
        let of = |name: &str| {
            all.iter()
                .find(|time| time.name == name)
                .map(|time| time.time)
        };
        // Whatever else the machine does: a switch includes system calls, a tick is 1 to 10 ms.
        assert!(
            of("system call") < of("switch to another thread"),
            "{all:?}"
        );
        let tick = of("timer tick").unwrap();
        assert!((1e6..=1e7).contains(&tick), "{tick}");
    }
}
