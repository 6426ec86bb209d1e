//! Measures what the parts of the layer of system calls cost: getppid(2) with pairs of programs at
//! `sys_enter` and `sys_exit` that do nothing, or one thing, and with the layer itself.
//!
//! `cargo run --release -p trawl-kernel-profile --example floor [CALLS [ROUNDS]]`
//!
//! In each round every pair is attached once, with a run without any before it. Prints nanoseconds of
//! CPU time a call: the median, the least and the greatest of the differences.

use std::error::Error;

use aya::programs::{BtfTracePoint, RawTracePoint};
use aya::{Btf, Ebpf, EbpfLoader};
use rustix::time::{ClockId, clock_gettime};
use trawl_histogram::Resolution;
use trawl_kernel_profile::{Apart, Filter, SystemCalls};

static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/floor.o");

/// The pairs of `bpf/floor.c`, and what they do.
const PAIRS: [(&str, &str); 7] = [
    ("nothing", "nothing"),
    ("raw", "nothing, as raw tracepoints"),
    ("arrays", "two arrays of the CPU on each side"),
    ("helper", "one array, and a call of a helper on each side"),
    ("clock", "one array, and the clock on each side"),
    ("hash", "a hash table on each side"),
    ("storage", "task storage on each side"),
];

/// Measures one kind: attaches it, and keeps it for the time of the measurement.
type Attach = Box<dyn Fn() -> Result<Box<dyn std::any::Any>, Box<dyn Error>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut number = |default| words.next().map_or(Ok(default), |word| word.parse::<u64>());
    let (calls, rounds) = (number(2_000_000)?, number(9)?);
    let mut kinds: Vec<(&str, Attach)> = Vec::new();
    for (name, about) in PAIRS {
        kinds.push((about, Box::new(move || Ok(Box::new(pair(name)?)))));
    }
    let layer = |r: u8, apart| -> Attach {
        Box::new(move || {
            let own = Filter::Tree(std::process::id());
            let resolution = Resolution::try_from(u64::from(r))?;
            Ok(Box::new(SystemCalls::attach_with(
                &own,
                resolution,
                apart,
                &[],
            )?))
        })
    };
    kinds.push(("the layer, resolution 1", layer(1, None)));
    kinds.push(("the layer, resolution 8", layer(8, None)));
    kinds.push((
        "the layer, programs told apart",
        layer(1, Some(Apart::Programs)),
    ));
    kinds.push((
        "the layer, threads told apart",
        layer(1, Some(Apart::Threads)),
    ));
    let mut differences = vec![Vec::new(); kinds.len()];
    let mut without = Vec::new();
    for _ in 0..rounds {
        for ((_, attach), differences) in kinds.iter().zip(&mut differences) {
            let plain = time(calls);
            let attached = attach()?;
            differences.push(time(calls) - plain);
            drop(attached);
            without.push(plain);
        }
    }
    println!(
        "{calls} calls of getppid, {rounds} rounds; without: {}",
        middle(&mut without)
    );
    for ((about, _), differences) in kinds.iter().zip(&mut differences) {
        println!("{about}: + {}", middle(differences));
    }
    Ok(())
}

fn middle(all: &mut [f64]) -> String {
    all.sort_by(f64::total_cmp);
    let (least, greatest) = (all[0], all[all.len() - 1]);
    format!("{:.1} ns ({least:.1} to {greatest:.1})", all[all.len() / 2])
}

/// Attaches a pair.
fn pair(name: &str) -> Result<Ebpf, Box<dyn Error>> {
    let types = Btf::from_sys_fs()?;
    let mut programs = EbpfLoader::new()
        .btf(Some(&types))
        .allow_unsupported_maps()
        .load(OBJECT)?;
    for (side, target) in [("leave", "sys_exit"), ("enter", "sys_enter")] {
        let program = programs.program_mut(&format!("{name}_{side}"));
        let program = program.ok_or("the object has no such program")?;
        if name == "raw" {
            let program: &mut RawTracePoint = program.try_into()?;
            program.load()?;
            program.attach(target)?;
        } else {
            let program: &mut BtfTracePoint = program.try_into()?;
            program.load(target, &types)?;
            program.attach()?;
        }
    }
    Ok(programs)
}

/// Returns nanoseconds of CPU time a call.
fn time(calls: u64) -> f64 {
    let begin_ns = cpu_time_ns();
    for _ in 0..calls {
        std::hint::black_box(rustix::process::getppid());
    }
    (cpu_time_ns() - begin_ns) as f64 / calls as f64
}

fn cpu_time_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
