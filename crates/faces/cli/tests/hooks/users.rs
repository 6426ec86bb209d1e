//! Users' hooks: what they get, and what they may not do.

use std::time::Instant;

use trawl_hooks::{Extracted, Fault, Value};
use trawl_testkit::skip::{is_root, without_root};

use crate::site::{HANGS, Site, attribute, faults};

const PYTHON: &str = "#!/usr/bin/python3 -S\nimport json, os, socket, sys, time\n";

/// Runs a hook with these limits on a file, beginning from a fresh site.
fn run_with(program: &str, limits: &str) -> Extracted {
    let mut site = Site::new();
    let is_script = program.starts_with("#!");
    let program = match is_script {
        true => program.to_owned(),
        false => format!("{PYTHON}{program}\n"),
    };
    site.user_hook(&program, limits);
    let found = site.found(&site.write("a.dat", b"\0the bytes"));
    // Whatever happened, the next file is read.
    let next = site.well_found(&site.write("next.txt", "next"));
    assert_eq!(next.text, "next");
    found
}

fn run(program: &str) -> Extracted {
    run_with(program, "")
}

#[track_caller]
fn fails(program: &str, limits: &str, fault: Fault, because: &str) {
    let begin = Instant::now();
    let found = run_with(program, limits);
    assert_eq!(faults(&found), [fault], "{program}: {:?}", found.problems);
    let problem = &found.problems[0];
    assert_eq!(problem.hook, "mine");
    assert!(
        problem.message.contains(because),
        "{program}: {}",
        problem.message
    );
    assert!(begin.elapsed() < HANGS, "{program}: it waited for the hook");
}

#[test]
fn a_hook_reads_the_file_and_prints_what_it_finds() {
    let found = run("data = sys.stdin.buffer.read()\n\
         print(json.dumps({'attribute': 'length', 'value': len(data)}))\n\
         print(json.dumps({'text': data[1:].decode()}))\n\
         print(json.dumps({'relation': 'derived-from', 'target': 'raw.dat'}))");
    assert_eq!(found.problems, []);
    assert_eq!(attribute(&found, "length"), &Value::Integer(10));
    assert_eq!(found.text, "the bytes\n");
    assert_eq!(found.relations[0].target, "raw.dat");
}

#[test]
fn a_hook_may_be_a_shell_script() {
    let found = run(
        "#!/bin/sh\nread -r line\nprintf '{\"attribute\": \"n\", \"value\": %s}\\n' $((6 * 7))\n",
    );
    assert_eq!(attribute(&found, "n"), &Value::Integer(42));
    assert_eq!(found.problems, []);
}

/// "receives a read-only descriptor, never a path"
#[test]
fn a_hook_gets_no_path_and_nothing_else() {
    let found = run("names = []\n\
         for fd in range(64):\n    try: os.fstat(fd); names.append(fd)\n    except OSError: pass\n\
         print(json.dumps({'attribute': 'descriptors', 'value': names}))\n\
         print(json.dumps({'attribute': 'arguments', 'value': len(sys.argv)}))\n\
         print(json.dumps({'attribute': 'variables', 'value': sorted(os.environ)}))\n\
         print(json.dumps({'attribute': 'cwd', 'value': os.getcwd()}))");
    assert_eq!(found.problems, []);
    let numbers = [0, 1, 2].map(Value::Integer);
    assert_eq!(
        attribute(&found, "descriptors"),
        &Value::List(numbers.into())
    );
    assert_eq!(attribute(&found, "arguments"), &Value::Integer(1));
    let variables = format!("{:?}", attribute(&found, "variables"));
    assert!(
        !variables.contains("CARGO") && !variables.contains("TMPDIR"),
        "{variables}"
    );
    assert_eq!(attribute(&found, "cwd"), &Value::Text("/".to_owned()));
}

#[test]
fn other_files_cannot_be_read() {
    for path in [
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/proc/1/cmdline",
        "/dev/shm",
    ] {
        let program =
            format!("os.listdir({path:?}) if os.path.isdir({path:?}) else open({path:?}).read()");
        fails(&program, "", Fault::Crash, "Permission");
    }
    // Not even the file itself, or its neighbours, by a path.
    let mut site = Site::new();
    let path = site.write("a.dat", b"\0the bytes");
    site.user_hook(
        &format!("{PYTHON}open({:?})\n", path.to_str().expect("UTF-8")),
        "",
    );
    let found = site.found(&path);
    assert_eq!(faults(&found), [Fault::Crash]);
    assert!(
        found.problems[0].message.contains("Permission"),
        "{:?}",
        found.problems
    );
}

#[test]
fn nothing_is_changed() {
    for program in [
        "open('/tmp/trawl-hook-was-here', 'w')",
        "os.write(0, b'x')",
        "os.ftruncate(0, 0)",
        "os.fchmod(0, 0o777)",
        "os.utime(0)",
        "os.setxattr(0, 'user.x', b'x')",
        "import fcntl; fcntl.flock(0, fcntl.LOCK_EX)",
        "import fcntl; fcntl.ioctl(0, 0x40086602, b'\\0' * 8)",
    ] {
        let mut site = Site::new();
        site.user_hook(&format!("{PYTHON}{program}\n"), "");
        let path = site.write("a.dat", b"\0the bytes");
        let before = std::fs::metadata(&path).expect("a file");
        let found = site.found(&path);
        assert_eq!(faults(&found), [Fault::Crash], "{program}");
        let after = std::fs::metadata(&path).expect("a file");
        assert_eq!(std::fs::read(&path).expect("a file"), b"\0the bytes");
        assert_eq!(before.modified().ok(), after.modified().ok(), "{program}");
        assert_eq!(before.permissions(), after.permissions(), "{program}");
    }
    assert!(!std::path::Path::new("/tmp/trawl-hook-was-here").exists());
}

#[test]
fn no_process_and_no_socket_is_made() {
    fails("os.fork()", "", Fault::Crash, "Operation not permitted");
    fails(
        "socket.socket()",
        "",
        Fault::Crash,
        "Operation not permitted",
    );
    fails(
        "socket.socket(socket.AF_UNIX)",
        "",
        Fault::Crash,
        "Operation not permitted",
    );
    fails(
        "socket.socketpair()",
        "",
        Fault::Crash,
        "Operation not permitted",
    );
    fails(
        "os.kill(os.getppid(), 15)",
        "",
        Fault::Crash,
        "not permitted",
    );
    fails("#!/bin/sh\nls | cat\n", "", Fault::Crash, "fork");
}

#[test]
fn a_hook_that_hangs_is_ended() {
    fails("time.sleep(1000)", "wall_secs = 1", Fault::Timeout, "1 s");
    let stubborn = "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    \
                    except OSError: pass\nos.close(1); os.close(2)\ntime.sleep(1000)";
    fails(stubborn, "wall_secs = 1", Fault::Timeout, "1 s");
    fails(
        "while True: pass",
        "cpu_secs = 1",
        Fault::Timeout,
        "processor time",
    );
}

#[test]
fn ten_gigabytes_of_output_are_not_read() {
    fails(
        "import json\nwhile True: os.write(1, b'x' * 65536)",
        "text_kib = 64",
        Fault::Limit,
        "wrote more than",
    );
    fails(
        "while True: os.write(2, b'x' * 65536)",
        "wall_secs = 2",
        Fault::Timeout,
        "2 s",
    );
}

#[test]
fn memory_is_bounded() {
    fails(
        "x = b'x' * (300 << 20)",
        "memory_mib = 200",
        Fault::Crash,
        "MemoryError",
    );
}

#[test]
fn crashes_and_nonsense_are_problems_and_earlier_lines_hold() {
    let found = run("print('{\"text\": \"before\"}', flush=True)\nsys.exit('the reason')");
    assert_eq!(found.text, "before\n");
    assert_eq!(faults(&found), [Fault::Crash]);
    assert_eq!(
        found.problems[0].message,
        "it ended with exit code 1: the reason"
    );
    fails("print('no JSON')", "", Fault::Nonsense, "line 1");
    fails(
        "print('{\"attribute\": \"No Name\", \"value\": 1}')",
        "",
        Fault::Nonsense,
        "No Name",
    );
    fails("os.abort()", "", Fault::Crash, "signal");
    fails("#!/nonexistent\n", "", Fault::Unavailable, "no such file");
}

#[test]
fn a_hook_of_the_superuser_runs_as_nobody() {
    if let Some(skip) = without_root("a hook of the superuser") {
        return skip.say();
    }
    assert!(is_root());
    let found = run(
        "print(json.dumps({'attribute': 'ids', 'value': [os.getuid(), os.getgid()] + os.getgroups()}))",
    );
    let ids = [65534, 65534].map(Value::Integer);
    let Value::List(all) = attribute(&found, "ids") else {
        panic!("{found:?}");
    };
    assert_eq!(all[..2], ids);
    assert!(
        all[2..].iter().all(|group| *group == Value::Integer(65534)),
        "{all:?}"
    );
}

#[test]
fn threads_are_allowed() {
    let found = run(
        "import threading\nout = []\nt = threading.Thread(target=lambda: out.append(7))\nt.start(); t.join()\n\
         print(json.dumps({'attribute': 'n', 'value': out[0]}))",
    );
    assert_eq!(found.problems, []);
    assert_eq!(attribute(&found, "n"), &Value::Integer(7));
}
