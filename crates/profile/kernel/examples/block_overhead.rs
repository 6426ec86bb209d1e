//! Measures what counting costs a block request: random reads of 4 KiB past all caches, one at a
//! time, with and without the layer, alternately.
//!
//! `cargo run --release -p trawl-kernel-profile --example block_overhead DEVICE [READS [ROUNDS]]`
//!
//! Prints the medians of the time of a read without and with the layer, and the median, the least
//! and the greatest difference of each pair, in nanoseconds.

use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use trawl_histogram::Resolution;
use trawl_kernel_profile::{BlockRequests, Filter};

const BLOCK: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let device = words.next().ok_or("no device was named")?;
    let mut number = |default| words.next().map_or(Ok(default), |word| word.parse::<u64>());
    let (reads, rounds) = (number(20_000)?, number(9)?);
    let file = rustix::fs::open(&device, OFlags::RDONLY | OFlags::DIRECT, Mode::empty())?;
    let blocks = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))? / BLOCK as u64;
    let mut memory = vec![0_u8; 2 * BLOCK];
    let offset = memory.as_ptr().align_offset(BLOCK);
    let (_, aligned) = memory.split_at_mut(offset);
    let (buffer, _) = aligned.split_at_mut(BLOCK);
    let mut at = 1_u64;
    let mut time = || -> Result<f64, rustix::io::Errno> {
        let begin = Instant::now();
        for _ in 0..reads {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            rustix::io::pread(&file, &mut *buffer, (at >> 33) % blocks * BLOCK as u64)?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / reads as f64)
    };
    time()?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(time()?);
        let mut layer = BlockRequests::attach(&Filter::Everything, Resolution::ONE)?;
        with.push(time()?);
        let reading = layer.read()?;
        if reading.missed > 0 {
            return Err(format!("{} events were missed", reading.missed).into());
        }
    }
    let mut differences: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
    for all in [&mut without, &mut with, &mut differences] {
        all.sort_by(f64::total_cmp);
    }
    let middle = differences.len() / 2;
    println!(
        "{reads} reads x {rounds}: without {:.0} ns, with {:.0} ns, difference {:.0} ns ({:.0} to \
         {:.0})",
        without[middle],
        with[middle],
        differences[middle],
        differences[0],
        differences[differences.len() - 1],
    );
    Ok(())
}
