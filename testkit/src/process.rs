//! The process of a test or measurement: what it has used, and its limits.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Clock ticks in a second in `/proc`, on every machine that Linux runs on today.
const TICKS: u64 = 100;

/// Script that closes what a shell inherited from whoever runs the tests, so that a limit leaves the
/// same number of descriptors everywhere.
pub const CLOSE_INHERITED: &str =
    r#"for fd in /proc/$$/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done"#;

/// Returns the CPU time of all threads so far.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanoseconds) = (time.tv_sec.try_into(), time.tv_nsec.try_into());
    Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0))
}

/// Returns the CPU time of all threads in user mode and in the kernel, in steps of 10 ms.
pub fn user_and_system_time() -> io::Result<[Duration; 2]> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // The program's name, in brackets, may hold blanks.
    let fields = text.rsplit(')').next().unwrap_or_default();
    let mut ticks = fields.split_whitespace().skip(11).map(str::parse::<u64>);
    let mut next = || {
        let ticks = ticks.next().and_then(Result::ok).unwrap_or(0);
        Duration::from_millis(ticks * 1000 / TICKS)
    };
    Ok([next(), next()])
}

/// Returns the most memory that the process has had, in bytes.
pub fn peak_memory_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(number.unwrap_or(0) * 1024)
}

/// Returns whether a process exists that has not ended. One whose end nobody has heard of yet has ended.
pub fn is_alive(number: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{number}/stat"));
    // The program's name, in brackets, may hold anything.
    let state = |text: &str| {
        text.rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .chars()
            .next()
    };
    status.is_ok_and(|text| state(&text) != Some('Z'))
}

/// Sets the soft limit on open descriptors, which must not exceed the hard one.
pub fn set_descriptor_limit(limit: u64) -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(limit);
    Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_time_and_memory() {
        let before = cpu_time();
        while cpu_time() < before + Duration::from_millis(30) {}
        let [user, system] = user_and_system_time().unwrap();
        assert!(user + system >= Duration::from_millis(10));
        assert!(peak_memory_bytes().unwrap() > 100_000);
    }
}
