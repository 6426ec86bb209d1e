//! Opens the files of a recorded trace, one after the other, by path or by direct access, and prints
//! how long that took in nanoseconds. `bench/direct.py` records traces and compares the two.
//!
//! ```text
//! direct_access rows < PATHS > ROWS             one row for each path of a regular file
//! direct_access path|direct [--cold] < ROWS     time of opening and closing all, in their order
//! ```
//!
//! A row is what an index has: device, inode number, time of birth, path. Making the table does not
//! look at any file. With `--cold`, the kernel's caches are dropped before the first file (takes the
//! superuser).

use std::error::Error;
use std::ffi::CString;
use std::fs::File;
use std::io::{BufRead, Write};
use std::time::Instant;

use trawl_direct::{FileId, Table, Way};
use trawl_model::{Dev, Meta, Timestamp};
use trawl_sys::CWD;
use trawl_sys::file::locate;
use trawl_sys::stat::stat_fd;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["rows"] => rows(),
        ["path"] => by_path(false),
        ["path", "--cold"] => by_path(true),
        ["direct"] => direct(false),
        ["direct", "--cold"] => direct(true),
        _ => Err("usage: direct_access rows | path [--cold] | direct [--cold]".into()),
    }
}

fn lines() -> impl Iterator<Item = std::io::Result<String>> {
    std::io::stdin().lock().lines()
}

/// Writes the rows of the regular files among the paths on standard input.
fn rows() -> Result<()> {
    let mut output = std::io::stdout().lock();
    for path in lines() {
        let path = path?;
        let Ok(place) = locate(CWD, &CString::new(path.as_bytes())?) else {
            continue;
        };
        let stat = stat_fd(&place)?;
        let born = match stat.btime {
            Some(born) if stat.is_file() => born,
            _ => continue,
        };
        let (dev, ino) = (stat.dev.as_u64(), stat.ino);
        writeln!(output, "{dev} {ino} {} {} {path}", born.secs, born.nanos)?;
    }
    Ok(())
}

/// Reads the rows on standard input: ids and paths, in the order of the trace.
fn read() -> Result<Vec<(FileId, String)>> {
    let mut all = Vec::new();
    for line in lines() {
        let line = line?;
        let mut words = line.splitn(5, ' ');
        let mut word = || words.next().ok_or("a row has five words");
        let (dev, ino): (u64, u64) = (word()?.parse()?, word()?.parse()?);
        let meta = Meta {
            dev: Dev::from_u64(dev),
            ino,
            btime: Some(Timestamp {
                secs: word()?.parse()?,
                nanos: word()?.parse()?,
            }),
            ..Meta::default()
        };
        all.push((FileId::of(&meta), word()?.to_owned()));
    }
    Ok(all)
}

fn drop_caches(is_cold: bool) -> Result<()> {
    if is_cold {
        std::fs::write("/proc/sys/vm/drop_caches", "3")?;
    }
    Ok(())
}

fn by_path(is_cold: bool) -> Result<()> {
    let trace = read()?;
    drop_caches(is_cold)?;
    let begun = Instant::now();
    for (_, path) in &trace {
        File::open(path)?;
    }
    report(begun, trace.len(), trace.len())
}

fn direct(is_cold: bool) -> Result<()> {
    let trace = read()?;
    let mut table = Table::new();
    for (id, path) in &trace {
        table.add(path.as_bytes(), *id)?;
    }
    drop_caches(is_cold)?;
    let begun = Instant::now();
    let mut by_path = 0;
    for (id, _) in &trace {
        let (_, way) = table.open_and_tell(id)?;
        by_path += usize::from(way == Way::Path);
    }
    report(begun, trace.len(), by_path)
}

/// Prints the time, the number of files opened, and the number of those opened by path.
fn report(begun: Instant, opened: usize, by_path: usize) -> Result<()> {
    let elapsed_ns = begun.elapsed().as_nanos();
    println!("{elapsed_ns} {opened} {by_path}");
    Ok(())
}
