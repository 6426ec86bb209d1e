//! Call sites, against nm(1) and addr2line(1).

use std::path::Path;

use trawl_histogram::Profile;
use trawl_testkit::{Scratch, oracle};
use trawl_user_profile::{CallSite, CallSites, Options, Reading, Symbols, Threads};

use crate::site::{self, compiled, entered};

fn options() -> Options {
    Options {
        call_sites: CallSites::Apart,
        ..Options::default()
    }
}

/// "results in all of the buckets are summed and then compared with the total number of operations"
/// (§5.8): each call is at one site or among the others.
fn adds_up(reading: &Reading) {
    let mut sum = reading.other_sites.clone();
    for one in &reading.call_sites {
        one.profile.check().expect("each site adds up");
        sum.merge(&one.profile).expect("alike");
    }
    let counts = |profile: &Profile| -> Vec<_> {
        let all = profile.operations();
        all.map(|(name, one)| (name.to_owned(), *one.counts(), one.buckets().to_vec()))
            .collect()
    };
    assert_eq!(counts(&sum), counts(&reading.whole));
}

/// Compiles a shared library and a program that uses it, which exist as long as their directories.
fn program_with_library() -> Option<([Scratch; 2], String, String)> {
    let (place, built) = compiled("call sites", "sites_library", &["-shared", "-fPIC", "-s"])?;
    let library = place.join("libsites.so").display().to_string();
    std::fs::rename(built, &library).expect("renamed");
    let path = format!("-Wl,-rpath,{}", place.path().display());
    let flags = ["-g", "-pie", "-fPIE", "-Wl,--no-as-needed", &library, &path];
    let (program_place, program) = compiled("call sites", "sites", &flags)?;
    Some(([place, program_place], program, library))
}

/// Returns the start and the end of a function, as nm(1) says.
fn range(program: &str, function: &str) -> (u64, u64) {
    let ran = oracle::run(oracle::command("nm").args(["-S", program])).expect_code(0);
    let text = ran.text();
    let words = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut found = words.filter(|words| words.len() == 4 && words[3] == function);
    let words = found
        .next()
        .unwrap_or_else(|| panic!("{function} in {text}"));
    let number = |text| u64::from_str_radix(text, 16).expect("a number");
    (number(words[0]), number(words[0]) + number(words[1]))
}

/// Returns the function and the source line of an address, as addr2line(1) says.
fn line(program: &str, address: u64) -> (String, String) {
    let mut addr2line = oracle::command("addr2line");
    addr2line.args(["-f", "-s", "-e", program, &format!("{address:#x}")]);
    let text = oracle::run(&mut addr2line).expect_code(0).text();
    let (function, line) = text.trim().split_once('\n').expect("two lines");
    (function.to_owned(), line.to_owned())
}

/// Returns the line of the source that has this text.
fn source_line(text: &str) -> usize {
    let source = include_str!("c/sites.c");
    let at = source.lines().position(|line| line.contains(text));
    at.expect("in the source") + 1
}

#[test]
fn each_place_has_its_own_counts_in_all_processes_together() {
    let Some((_place, program, library)) = program_with_library() else {
        return;
    };
    for tool in ["nm", "addr2line"] {
        if !site::has("names of call sites", tool) {
            return;
        }
    }
    let session = site::session(&options());
    let runs = [["3000", "20", "7"], ["40", "1", "500"], ["1", "0", "0"]];
    let mut bases: Vec<String> = Vec::new();
    for counts in runs {
        let mut command = site::profiled(&session, &program);
        bases.push(oracle::run(command.args(counts)).expect_code(0).text());
    }
    bases.sort_unstable();
    bases.dedup();
    if bases.len() == 1 {
        eprintln!("skipped in part, because addresses are not random here");
    }
    let reading = site::read(&session);
    adds_up(&reading);
    assert_eq!((reading.regions, reading.other_sites.is_empty()), (1, true));
    let reads = |module: &str| -> Vec<&CallSite> {
        let module = Path::new(module).canonicalize().expect("it exists");
        let sites = reading.call_sites.iter();
        let here = sites.filter(|one| one.module.canonicalize().ok() == Some(module.clone()));
        here.filter(|one| entered(&one.profile, "read") > 0)
            .collect()
    };
    let mut symbols = Symbols::default();
    let of_program = reads(&program);
    assert_eq!(of_program.len(), 2, "{of_program:?}");
    for (function, total, text) in [
        ("first", 3041, "return read(fd, &byte, 1)"),
        ("second", 21, "return read(fd, &byte, 0)"),
    ] {
        let (start, end) = range(&program, function);
        let here = |one: &&&CallSite| start < one.offset && one.offset <= end;
        let one = of_program.iter().find(here).expect("in the function");
        assert_eq!(entered(&one.profile, "read"), total);
        let (named, line) = line(&program, one.offset - 1);
        assert_eq!(named, function);
        assert_eq!(line, format!("sites.c:{}", source_line(text)));
        let name = format!("sites:{function}+0x{:x}", one.offset - start);
        assert_eq!(symbols.name(&one.module, one.offset), name);
    }
    let of_library = reads(&library);
    assert_eq!(of_library.len(), 1, "{of_library:?}");
    assert_eq!(entered(&of_library[0].profile, "read"), 507);
    // A stripped library names only what it exports.
    let name = symbols.name(&of_library[0].module, of_library[0].offset);
    let offset = of_library[0].offset;
    assert_eq!(name, format!("libsites.so+0x{offset:x}"));
    assert_eq!(symbols.name(Path::new(&library), 1), "libsites.so+0x1");
}

/// A program with more call sites than a thread has room for.
#[test]
fn sites_for_which_there_is_no_room_are_counted_together() {
    const SITES: usize = 500;
    const TIMES: usize = 3;
    if !site::has("many call sites", "cc") {
        return;
    }
    let scratch = Scratch::new("user-profile-sites");
    let (source, program) = (scratch.join("many.c"), scratch.join("many"));
    let calls = "lseek(-1, 0, SEEK_CUR);\n".repeat(SITES);
    let text = format!(
        "#include <unistd.h>\nint main(void) {{ for (int i = 0; i < {TIMES}; i++) {{ {calls} }} }}\n"
    );
    std::fs::write(&source, text).expect("written");
    let mut compiler = oracle::command("cc");
    oracle::run(compiler.arg("-o").arg(&program).arg(&source)).expect_code(0);
    let session = site::session(&options());
    for _ in 0..2 {
        oracle::run(&mut site::profiled(&session, &program)).expect_code(0);
    }
    let reading = site::read(&session);
    adds_up(&reading);
    let total = (SITES * TIMES * 2) as u64;
    assert_eq!(entered(&reading.whole, "lseek"), total);
    let others = entered(&reading.other_sites, "lseek");
    assert!(others > 0 && others < total / 2, "{others}");
    for one in &reading.call_sites {
        assert_eq!(entered(&one.profile, "lseek"), (TIMES * 2) as u64);
    }
}

/// A signal handler makes its calls at a place of its own, in the middle of the recording of others.
#[test]
fn handlers_have_sites_of_their_own() {
    let Some((_place, program)) = compiled("signal handlers", "signals", &[]) else {
        return;
    };
    let (ran, reading) = site::recorded(&options(), &program, &["1000000"]);
    let text = ran.text();
    let said: Vec<u64> = text
        .split_whitespace()
        .filter_map(|one| one.parse().ok())
        .collect();
    let of_sites = reading.call_sites.iter();
    let mut found: Vec<u64> = of_sites.map(|one| entered(&one.profile, "lseek")).collect();
    found.retain(|count| *count > 0);
    found.sort_unstable();
    let mut expected = said.clone();
    expected.sort_unstable();
    assert_eq!(found, expected);
    adds_up(&reading);
    assert!(said[1] > 100, "the handler hardly ran: {text}");
}

/// Threads and forked children, told apart as well: nothing is lost.
#[test]
fn threads_and_children_share_sites() {
    let Some((_place, program)) = compiled("children", "many", &[]) else {
        return;
    };
    let options = Options {
        threads: Threads::Apart,
        ..options()
    };
    let (_, reading) = site::recorded(&options, &program, &["3000", "3", "6"]);
    adds_up(&reading);
    let sites = reading.call_sites.iter();
    let counts = sites.map(|one| entered(&one.profile, "lseek"));
    let mut counts: Vec<u64> = counts.filter(|count| *count > 0).collect();
    counts.sort_unstable();
    // Before the children, in the child of vfork, and at the end; and those of all threads.
    assert_eq!(counts, [1, 1, 1, 7 * 3 * 3000]);
}
