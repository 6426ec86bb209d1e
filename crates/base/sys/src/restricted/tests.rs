//! Commands with fewer rights, from outside.

use super::*;
use std::process::Output;

const BOUNDS: Bounds = Bounds {
    cpu_secs: 10,
    memory_bytes: 1 << 30,
    descriptors: 64,
};

/// Places of programs and libraries.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"];

fn run(words: &[&str], bounds: Bounds) -> Option<Output> {
    if !has_landlock() {
        eprintln!("restricted commands: skipped, because this kernel has no Landlock");
        return None;
    }
    let readable = SYSTEM.map(Path::new);
    let restriction = Restriction::new(Role::Program, &readable, bounds, Lifetime::OfParent);
    let mut command = trawl_testkit::oracle::command(words[0]);
    command.args(&words[1..]).current_dir("/");
    restriction.unwrap().apply_to(&mut command);
    Some(command.output().unwrap())
}

#[track_caller]
fn refused(words: &[&str], because: &str) {
    let Some(output) = run(words, BOUNDS) else {
        return;
    };
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{words:?} worked");
    assert!(why.contains(because), "{words:?}: {why}");
}

#[test]
fn a_command_runs_and_reads_what_it_may() {
    let Some(output) = run(
        &["sh", "-c", "read line; echo $((6 * 7)); cd /usr/bin"],
        BOUNDS,
    ) else {
        return;
    };
    assert_eq!(output.stdout, b"42\n", "{output:?}");
}

#[test]
fn other_files_cannot_be_opened() {
    refused(&["cat", "/etc/passwd"], "Permission denied");
    refused(&["cat", "/proc/self/status"], "Permission denied");
    refused(&["ls", "/tmp"], "Permission denied");
}

#[test]
fn nothing_is_written() {
    refused(
        &["sh", "-c", "echo x > /tmp/trawl-restricted"],
        "ermission denied",
    );
    refused(
        &["sh", "-c", "echo x > /usr/trawl-restricted"],
        "ermission denied",
    );
    refused(&["chmod", "0", "/usr/bin/env"], "not permitted");
    refused(&["rm", "-f", "/usr/bin/env"], "");
    assert!(Path::new("/usr/bin/env").exists());
}

#[test]
fn no_process_is_started() {
    refused(&["sh", "-c", "sleep 0 & wait $!; ls | cat"], "fork");
}

#[test]
fn a_process_of_the_superuser_becomes_nobody() {
    // SAFETY: the call has no arguments.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("becoming nobody: skipped, because it needs root");
        return;
    }
    let Some(output) = run(&["id", "-u"], BOUNDS) else {
        return;
    };
    assert_eq!(output.stdout, b"65534\n");
    let output = run(&["id", "-G"], BOUNDS).unwrap();
    assert_eq!(output.stdout, b"65534\n");
}

#[test]
fn time_and_memory_are_bounded() {
    use std::os::unix::process::ExitStatusExt;
    let bounds = Bounds {
        cpu_secs: 1,
        memory_bytes: 64 << 20,
        ..BOUNDS
    };
    let Some(output) = run(&["sh", "-c", "while :; do :; done"], bounds) else {
        return;
    };
    assert_eq!(output.status.signal(), Some(libc::SIGXCPU));
    let output = run(
        &["perl", "-e", "my $x = 'x' x (200 << 20); print 'got it'"],
        bounds,
    );
    assert_eq!(output.unwrap().stdout, b"");
}
