//! Checks that symbols, constants and layouts are those of the header, and do not change.

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};

use trawl::attributes::{self, trawl_attr_value};
use trawl::layout::{
    TRAWL_AUTO, TRAWL_DEPTH16, TRAWL_INDEX, TRAWL_INTR, TRAWL_LIVE, TRAWL_REMOTE,
    trawl_search_options, trawl_search_place, trawl_searchent,
};
use trawl::sets::layout::{self as sets, trawl_set_options, trawl_set_stats, trawl_setent};
use trawl_call::Source;
use trawl_call::options::Flags;
use trawl_testkit::{oracle, skip};

use super::site::{HERE, Site, compiler, shared_object};

/// C assertions about values that Rust knows.
struct Assertions(String);

impl Assertions {
    fn that(&mut self, left: &str, right: impl std::fmt::Display) {
        let _ = writeln!(
            self.0,
            "_Static_assert({left} == {right}, \"{left} == {right}\");"
        );
    }
}

macro_rules! layout {
    ($to:expr, $structure:ident, $($member:ident),+) => {
        let name = stringify!($structure);
        $to.that(&format!("sizeof(struct {name})"), size_of::<$structure>());
        $($to.that(
            &format!("offsetof(struct {name}, {})", stringify!($member)),
            offset_of!($structure, $member),
        );)+
    };
}

fn assertions() -> String {
    let mut all = Assertions(
        "#include <trawl/setcall.h>\n#include <trawl/searchcall.h>\n#include <trawl/attr.h>\n"
            .into(),
    );
    layout!(
        all,
        trawl_searchent,
        path,
        info,
        errsource,
        err,
        root,
        reserved,
        path_length
    );
    layout!(
        all,
        trawl_search_options,
        size,
        served_by,
        max_depth,
        index,
        cookie,
        cookie_bytes,
        wait_ms,
        reserved,
        remote
    );
    layout!(
        all,
        trawl_search_place,
        cookie,
        room,
        used,
        needed,
        next_bytes
    );
    layout!(
        all,
        trawl_setent,
        name,
        name_length,
        info,
        fd,
        is_stream,
        errsource,
        err
    );
    layout!(
        all,
        trawl_set_options,
        size,
        served_by,
        wait_ms,
        index,
        ahead_bytes,
        descriptors,
        in_flight
    );
    layout!(
        all,
        trawl_set_stats,
        size,
        members,
        delivered,
        problems,
        cached,
        fetched_bytes,
        unused_bytes,
        fetch_ns,
        wait_ns,
        processing_ns
    );
    layout!(all, trawl_attr_value, reserved, of);
    all.that(
        "offsetof(struct trawl_attr_value, type)",
        offset_of!(trawl_attr_value, r#type),
    );
    for (name, number) in [
        ("TEXT", attributes::TRAWL_ATTR_TEXT),
        ("INTEGER", attributes::TRAWL_ATTR_INTEGER),
        ("REAL", attributes::TRAWL_ATTR_REAL),
        ("TIME", attributes::TRAWL_ATTR_TIME),
    ] {
        all.that(&format!("TRAWL_ATTR_{name}"), number);
    }
    for (name, number) in [
        ("ORDERED", sets::TRAWL_SET_ORDERED),
        ("COMMANDS", sets::TRAWL_SET_COMMANDS),
        ("METADATA", sets::TRAWL_SET_METADATA),
        ("CALLER_CLOSES", sets::TRAWL_SET_CALLER_CLOSES),
        ("ERR_EXPAND", sets::TRAWL_SET_ERR_EXPAND),
        ("ERR_OPEN", sets::TRAWL_SET_ERR_OPEN),
        ("ERR_FETCH", sets::TRAWL_SET_ERR_FETCH),
    ] {
        all.that(&format!("TRAWL_SET_{name}"), number);
    }
    all.that("sizeof(struct stat)", size_of::<libc::stat>());
    for (name, flag) in [
        ("STOPATFIRST", Flags::STOPATFIRST),
        ("METADATA", Flags::METADATA),
        ("INCLUDEROOT", Flags::INCLUDEROOT),
        ("PERIOD", Flags::PERIOD),
        ("R_OK", Flags::R_OK),
        ("W_OK", Flags::W_OK),
        ("X_OK", Flags::X_OK),
        ("NOFOLLOW", Flags::NOFOLLOW),
        ("FOLLOW", Flags::FOLLOW),
        ("XDEV", Flags::XDEV),
        ("FNMATCH", Flags::FNMATCH),
    ] {
        all.that(&format!("TRAWL_{name}"), flag);
        let bare = match name {
            "R_OK" => libc::R_OK,
            "W_OK" => libc::W_OK,
            "X_OK" => libc::X_OK,
            _ => (flag << 16).cast_signed(),
        };
        all.that(&format!("SEARCH_{name}"), bare);
    }
    for (name, flag) in [("INTR", TRAWL_INTR), ("DEPTH16", TRAWL_DEPTH16)] {
        all.that(&format!("TRAWL_{name}"), flag);
        all.that(&format!("SEARCH_{name}"), flag << 16);
        // These flags exist in the C interface only.
        assert_eq!(flag.cast_unsigned() & Flags::ALL, 0, "{name}");
    }
    for number in 0..=u8::MAX {
        if let Some(source) = Source::from_number(number) {
            let name = source.name().to_uppercase();
            all.that(&format!("TRAWL_ERR_{name}"), number);
            all.that(&format!("SEARCH_ERR_{name}"), number);
        }
    }
    for (name, number) in [
        ("AUTO", TRAWL_AUTO),
        ("LIVE", TRAWL_LIVE),
        ("INDEX", TRAWL_INDEX),
        ("REMOTE", TRAWL_REMOTE),
    ] {
        all.that(&format!("TRAWL_{name}"), number);
    }
    all.that("TRAWL_RECORD_MIN", trawl_call::packed::LENGTH_MIN);
    all.0
}

#[test]
fn the_header_has_the_librarys_numbers() {
    let Some(site) = Site::get("the header beside the library") else {
        return;
    };
    let source = site.path("layout.c");
    std::fs::write(&source, assertions()).unwrap();
    for words in [
        &["gcc", "-std=c11", "-pedantic"][..],
        &[
            "gcc",
            "-std=gnu17",
            "-Wconversion",
            "-Wshadow",
            "-Wcast-qual",
        ],
    ] {
        let mut gcc = compiler(words[0]);
        gcc.args(&words[1..]).arg("-fsyntax-only").arg(&source);
        oracle::run(&mut gcc).expect_code(0);
    }
}

#[test]
fn the_header_is_also_one_for_other_languages() {
    let test = "the header in C++";
    if let Some(skip) = skip::without_program(test, "g++") {
        return skip.say();
    }
    let mut gcc = compiler("g++");
    gcc.args(["-std=c++17", "-pedantic", "-fsyntax-only", "-x", "c++"]);
    gcc.arg(format!("{HERE}/include/trawl/search.h"));
    gcc.arg(format!("{HERE}/include/trawl/setcall.h"));
    gcc.arg(format!("{HERE}/include/trawl/attr.h"));
    oracle::run(&mut gcc).expect_code(0);
}

/// Compiles each header by itself, from C89 on.
#[test]
fn the_headers_are_clean_in_every_c() {
    let test = "the headers in C89";
    if let Some(skip) = skip::without_program(test, "gcc") {
        return skip.say();
    }
    for standard in [
        "-std=c89",
        "-std=c99",
        "-std=c23",
        "-std=gnu89",
        "-std=gnu17",
    ] {
        for header in [
            "trawl.h",
            "trawl/searchcall.h",
            "trawl/search.h",
            "trawl/sets.h",
            "trawl/setcall.h",
            "trawl/attr.h",
        ] {
            let mut gcc = compiler("gcc");
            gcc.args([standard, "-pedantic", "-fsyntax-only", "-x", "c"]);
            gcc.arg(format!("{HERE}/include/{header}"));
            let ran = oracle::run(&mut gcc);
            // Not every compiler knows the newest standard.
            if standard == "-std=c23" && ran.errors().contains("unrecognized") {
                continue;
            }
            ran.expect_code(0);
        }
    }
}

#[test]
fn the_library_has_the_symbols_that_it_always_had() {
    let test = "symbols of the library";
    if let Some(skip) = skip::without_program(test, "nm") {
        return skip.say();
    }
    let mut nm = oracle::command("nm");
    nm.args(["-D", "--defined-only", "--format=posix"])
        .arg(shared_object());
    let listed = oracle::run(&mut nm).expect_code(0).text();
    let mut symbols: Vec<String> = listed
        .lines()
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    symbols.sort();
    let expected = include_str!("symbols.txt");
    let rest = expected.lines().filter(|line| !line.starts_with('#'));
    // A new symbol is added to the list; a removed symbol needs another soname.
    assert_eq!(symbols, rest.collect::<Vec<_>>());
    let headers = ["trawl.h", "trawl/sets.h", "trawl/attr.h"]
        .map(|header| std::fs::read_to_string(format!("{HERE}/include/{header}")).unwrap());
    for symbol in &symbols {
        let name = symbol.split(' ').next().unwrap();
        assert!(
            headers
                .iter()
                .any(|header| header.contains(&format!("{name}("))),
            "no header has {name}"
        );
    }
}

#[test]
fn the_library_has_its_installed_name() {
    let test = "the library's name";
    if let Some(skip) = skip::without_program(test, "readelf") {
        return skip.say();
    }
    let mut readelf = oracle::command("readelf");
    readelf.arg("-d").arg(shared_object());
    let text = oracle::run(&mut readelf).expect_code(0).text();
    assert!(text.contains("soname: [libtrawl.so.0]"), "{text}");
}

#[test]
fn what_pkg_config_says_makes_programs() {
    let test = "programs by pkg-config";
    let Some(site) = Site::get(test) else { return };
    if let Some(skip) = skip::without_program(test, "pkg-config") {
        return skip.say();
    }
    let prefix = site.path("prefix");
    for dir in ["lib/pkgconfig", "include/trawl"] {
        std::fs::create_dir_all(prefix.join(dir)).unwrap();
    }
    let copy = |from: &str, to: &str| std::fs::copy(from, prefix.join(to)).unwrap();
    for header in [
        "trawl.h",
        "trawl/searchcall.h",
        "trawl/search.h",
        "trawl/sets.h",
        "trawl/setcall.h",
        "trawl/attr.h",
    ] {
        copy(
            &format!("{HERE}/include/{header}"),
            &format!("include/{header}"),
        );
    }
    let archive = shared_object().with_extension("a");
    std::os::unix::fs::symlink(archive, prefix.join("lib/libtrawl.a")).unwrap();
    let library = site.path("libtrawl.so.0");
    std::os::unix::fs::symlink(library, prefix.join("lib/libtrawl.so")).unwrap();
    let template = format!("{HERE}/../../../contrib/pkgconfig/trawl.pc.in");
    let template = std::fs::read_to_string(template).unwrap();
    let text = template
        .replace("@PREFIX@", prefix.to_str().unwrap())
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    std::fs::write(prefix.join("lib/pkgconfig/trawl.pc"), text).unwrap();
    let flags = |words: &[&str]| -> Vec<String> {
        let mut program = oracle::command("pkg-config");
        program.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        let ran = oracle::run(program.args(words).arg("trawl")).expect_code(0);
        ran.text().split_whitespace().map(str::to_owned).collect()
    };
    let in_archive = |flag: String| match &flag[..] {
        "-ltrawl" => "-l:libtrawl.a".to_owned(),
        _ => flag,
    };
    let shared = flags(&["--cflags", "--libs"]);
    let whole = flags(&["--cflags", "--static", "--libs"]);
    let whole: Vec<String> = whole.into_iter().map(in_archive).collect();
    for (name, flags) in [("paper-shared", shared), ("paper-static", whole)] {
        let mut gcc = oracle::command("gcc");
        gcc.arg("-o").arg(prefix.join(name));
        gcc.arg(format!("{HERE}/tests/capi/c/paper.c")).args(flags);
        oracle::run(&mut gcc).expect_code(0);
        let mut program = oracle::command(prefix.join(name));
        program
            .args(["/", "/.", "524288"])
            .env("LD_LIBRARY_PATH", site.path(""));
        let ran = oracle::run(&mut program).expect_code(0);
        assert_eq!(ran.stdout, b"/\0", "{ran}");
    }
}
