//! Users' hooks that are WebAssembly modules: what they get, and what they may not do.

use trawl_hooks::{Extracted, Fault, Hooks, Value};
use trawl_testkit::skip::without_program;

use crate::site::{Site, allow, attribute, faults};

/// Copies standard input to standard output, 1,024 bytes at a time.
const COPY: &str = r#"
(call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) drop
(loop $more
  (i32.store (i32.const 4) (i32.load (i32.const 8)))
  (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)) drop
  (i32.store (i32.const 4) (i32.const 1024))
  (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) drop
  (br_if $more (i32.load (i32.const 8))))"#;

/// Returns a module that does this; 16 and 1,024 are position and length of its buffer.
fn module(does: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\00\04\00\00")
  (func $deeper (call $deeper))
  (func (export "_start") {does}))"#
    );
    wat::parse_str(text).expect("a module")
}

fn run_with(module: &[u8], limits: &str, content: &str) -> Extracted {
    let mut site = Site::new();
    site.hook_with(module, &format!("module = \"hook\"\n[limits]\n{limits}"));
    let found = site.found(&site.write("a.dat", content));
    // Whatever happened, the next file is read.
    let next = site.well_found(&site.write("next.txt", "next"));
    assert_eq!(next.text, "next");
    found
}

#[track_caller]
fn fails(module: &[u8], limits: &str, fault: Fault, because: &str) {
    let found = run_with(module, limits, "\0");
    assert_eq!(faults(&found), [fault], "{:?}", found.problems);
    let message = &found.problems[0].message;
    assert!(message.contains(because), "{message}");
}

#[test]
fn a_module_reads_the_file_and_prints_what_it_finds() {
    let lines = "{\"attribute\": \"exposure\", \"value\": 0.5}\n".to_owned()
        + &format!("{{\"text\": \"{}\"}}\n", "words ".repeat(1000));
    let found = run_with(&module(COPY), "", &lines);
    assert_eq!(found.problems, []);
    assert_eq!(attribute(&found, "exposure"), &Value::Real(0.5));
    assert!(found.text.ends_with("words \n"), "{}", found.text.len());
}

#[test]
fn what_a_module_does_wrong_is_a_problem_of_the_file() {
    fails(&module("(unreachable)"), "", Fault::Crash, "unreachable");
    fails(
        &module("(call $proc_exit (i32.const 3))"),
        "",
        Fault::Crash,
        "exit code 3",
    );
    fails(&module("(call $deeper)"), "", Fault::Crash, "stack");
    let beyond = "(drop (i32.load (i32.const 0x7fffffff)))";
    fails(&module(beyond), "", Fault::Crash, "out of bounds");
    let endless = "(loop $more (br $more))";
    fails(
        &module(endless),
        "cpu_secs = 1",
        Fault::Timeout,
        "processor time",
    );
    let output = "(loop $more (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) \
                  (i32.const 12))) (br $more))";
    fails(&module(output), "", Fault::Limit, "wrote more than");
    // Memory that is not there is refused, so that the module ends itself.
    let hungry = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 100)) (i32.const -1)))) \
                  (unreachable)";
    fails(
        &module(hungry),
        "memory_mib = 512",
        Fault::Crash,
        "unreachable",
    );
}

#[test]
fn a_module_gets_nothing_but_its_streams() {
    // A module that ends with what a function of WASI returns: 76 is ENOTCAPABLE.
    let calls = |name: &str, parameters: &str| {
        let zeros: String = parameters
            .split(' ')
            .map(|kind| format!("({kind}.const 0)"))
            .collect();
        let text = format!(
            "(module (import \"wasi_snapshot_preview1\" \"{name}\" (func $asked (param {parameters}) \
             (result i32))) (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32))) \
             (memory (export \"memory\") 1) \
             (func (export \"_start\") (call $exit (call $asked {zeros}))))"
        );
        wat::parse_str(text).expect("a module")
    };
    let refused = [
        calls("sock_accept", "i32 i32 i32"),
        calls("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"),
        calls("path_unlink_file", "i32 i32 i32"),
        calls("fd_readdir", "i32 i32 i32 i64 i32"),
        calls("fd_filestat_set_size", "i32 i64"),
        calls("poll_oneoff", "i32 i32 i32 i32"),
    ];
    for module in refused {
        fails(&module, "", Fault::Crash, "exit code 76");
    }
    let other = "(module (import \"env\" \"system\" (func)) (memory (export \"memory\") 1) \
                 (func (export \"_start\")))";
    let other = wat::parse_str(other).expect("a module");
    fails(&other, "", Fault::Crash, "unknown import");
    fails(b"\0asm nonsense", "", Fault::Crash, "exit code 126");
    fails(b"", "", Fault::Crash, "exit code 126");
}

/// The same file must give the same attributes and words each time.
#[test]
fn random_numbers_are_the_same_each_time() {
    let random = "(drop (call $random_get (i32.const 16) (i32.const 8)))
        (i32.store8 (i32.const 16) (i32.or (i32.const 0x30)
            (i32.and (i32.load8_u (i32.const 16)) (i32.const 7))))
        (i32.store8 (i32.const 17) (i32.const 0x0a))
        (i32.store (i32.const 4) (i32.const 2))
        (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 12)))
        (call $proc_exit (i32.const 1))";
    let run = || run_with(&module(random), "", "\0").problems;
    let first = run();
    assert!(first[0].message.starts_with("it ended with exit code 1: "));
    assert_eq!(first, run());
}

#[test]
fn a_manifest_names_a_program_or_a_module() {
    let site = Site::new();
    let folder = site.path("own");
    std::fs::create_dir(&folder).expect("a folder");
    let manifest = folder.join("a.toml");
    std::fs::write(folder.join("m"), module("")).expect("a module");
    std::fs::write(&manifest, "").expect("a manifest");
    for path in [&folder, &folder.join("m"), &manifest] {
        allow(path);
    }
    for (lines, why) in [
        ("", "a program or a module"),
        ("program = \"m\"\nmodule = \"m\"", "a program or a module"),
        ("module = \"m\"\nreads = [\"/etc\"]", "reads no files"),
    ] {
        let text = format!("name = \"a\"\nglobs = [\"*\"]\n{lines}\n");
        std::fs::write(&manifest, text).expect("a manifest");
        let refused = Hooks::beside_this_program().add_directory(&folder);
        let refused = refused.expect_err(lines).to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

/// The C library and compiler are those of others: reading, seeking, arguments, and opening.
#[test]
fn a_program_in_c_runs_as_a_module() {
    if let Some(skip) = without_program("a module in C", "clang") {
        return skip.say();
    }
    if !std::path::Path::new("/usr/lib/wasm32-wasi/libc.a").exists() {
        return println!("skipped, because wasi-libc is not installed: a module in C");
    }
    const SOURCE: &str = r#"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    static char line[4096];
    int lines = 0;
    while (fgets(line, sizeof line, stdin)) lines++;
    fseek(stdin, 0, SEEK_SET);
    if (fgets(line, sizeof line, stdin)) line[strcspn(line, "\n")] = 0;
    printf("{\"attribute\": \"lines\", \"value\": %d}\n{\"text\": \"%s\"}\n", lines, line);
    printf("{\"attribute\": \"argument\", \"value\": \"%s\"}\n", argv[argc - 1]);
    FILE *other = fopen("/etc/passwd", "r");
    printf("{\"attribute\": \"opened\", \"value\": \"%s\"}\n", other ? "yes" : "no");
    return 0;
}"#;
    let mut site = Site::new();
    site.write("a.c", SOURCE);
    site.tool("clang --target=wasm32-wasi -O2 -o a.wasm a.c");
    let compiled = std::fs::read(site.path("a.wasm")).expect("a module");
    site.hook_with(
        &compiled,
        "module = \"hook\"\narguments = [\"one\", \"two words\"]",
    );
    let lines: String = (0..10_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    let found = site.well_found(&site.write("a.dat", lines));
    assert_eq!(attribute(&found, "lines"), &Value::Integer(10_000));
    assert_eq!(found.text.lines().last(), Some("line 0"));
    assert_eq!(
        attribute(&found, "argument"),
        &Value::Text("two words".to_owned())
    );
    assert_eq!(attribute(&found, "opened"), &Value::Text("no".to_owned()));
}
