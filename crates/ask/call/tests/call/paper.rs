//! Golden cases: the promises of the call, statement by statement, and the questions of the paper's
//! clients. Each is put to the live walk and to the index, in both modes unless it concerns one.
//!
//! `docs/search-call.md`, "Where it is from", gives the source of each statement.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use trawl_call::index::IndexRead;
use trawl_call::options::Flags;
use trawl_call::{Executor, LiveWalk};
use trawl_testkit::Scratch;

use super::support::{index_of, lines, make, open, records, request, tree};

/// The modes in which a case holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    Both,
    Paper,
    Fnmatch,
}
use In::{Both, Fnmatch, Paper};

/// A statement, a question and its whole answer.
type Case = (&'static str, In, &'static str, u32, &'static [&'static str]);

/// A tree and its index.
struct Asked {
    scratch: Scratch,
    index: IndexRead,
}

impl Asked {
    fn of(names: &[&str], more: impl FnOnce(&Path)) -> Asked {
        let scratch = tree(&[]);
        let top = scratch.join("top");
        std::fs::create_dir(&top).unwrap();
        make(&top, names);
        more(&top);
        let at = scratch.join("index");
        index_of(&top, &at);
        let everyone = trawl_model::guard::Credentials {
            uid: trawl_model::Uid(trawl_sys::identity::effective_uid()),
            groups: [trawl_model::Gid(trawl_sys::identity::effective_gid())]
                .into_iter()
                .collect(),
        };
        let index = IndexRead::new(open(&at, everyone), &at);
        Asked { scratch, index }
    }

    /// Puts all cases, in their modes, to each executor that can answer them.
    fn check(&self, cases: &[Case]) {
        for (says, mode, pattern, flags, answer) in cases {
            for (holds, language) in [(Paper, 0), (Fnmatch, Flags::FNMATCH)] {
                if [Both, holds].contains(mode) {
                    self.put(says, pattern, flags | language, answer);
                }
            }
        }
    }

    fn put(&self, says: &str, pattern: &str, flags: u32, answer: &[&str]) {
        let top = self.scratch.join("top");
        let put = |executor: &dyn Executor, who: &str| {
            let found = lines(&records(executor, request(pattern, flags, &[&top])));
            assert_eq!(found, answer, "{who}: {says}: {pattern} {flags:#x}");
        };
        put(&LiveWalk::default(), "live");
        // Searches that follow links are not answered from the index.
        if flags & Flags::FOLLOW == 0 {
            put(&self.index, "index");
        }
    }
}

/// The tree and the eleven questions of the own test of the search call's first public
/// implementation, in its later versions and in its order.
#[test]
fn the_first_implementations_own_questions() {
    let asked = Asked::of(&["b/bar", "b/foo", "b/c/bar"], |_| {});
    let says = "its own test";
    asked.check(&[
        (says, Both, "bar", 0, &["b/bar", "b/c/bar"]),
        (says, Both, "/bar", 0, &[]),
        (says, Both, "c/bar", 0, &["b/c/bar"]),
        (says, Both, "/c/bar", 0, &[]),
        (says, Both, "b/bar", 0, &["b/bar"]),
        (says, Both, "/b/bar", 0, &["b/bar"]),
        (says, Both, "b/foo", 0, &["b/foo"]),
        (says, Both, "/b/foo", 0, &["b/foo"]),
        (says, Both, "/*/foo", 0, &["b/foo"]),
        (says, Both, "/*/*/foo", 0, &[]),
        (says, Both, "*/*r", 0, &["b/bar", "b/c/bar"]),
    ]);
}

#[test]
fn what_patterns_mean() {
    let asked = Asked::of(
        &[
            "x", "ax", "xa", "a/x", "a/b/x", "a/b/xa", "ab/x", "c.c", "c.h", "a/.c", "a/d.c/e",
            "s*r", "sbr", "sr", "q?", "q", "q1", "q12", "[ab]", "p|q", "p:q", "p q",
        ],
        |_| {},
    );
    asked.check(&[
        (
            "a pattern is of the last components",
            Both,
            "x",
            0,
            &["x", "a/x", "a/b/x", "ab/x"],
        ),
        ("whatever is above them", Both, "b/x", 0, &["a/b/x"]),
        (
            "components are whole",
            Both,
            "b/x|a/x",
            0,
            &["a/x", "a/b/x"],
        ),
        ("anchored at the end", Both, "a/b", 0, &["a/b"]),
        (
            "a leading slash anchors at the searched directory",
            Both,
            "/x",
            0,
            &["x"],
        ),
        ("and bounds the depth", Both, "/*/x", 0, &["a/x", "ab/x"]),
        ("at any depth", Both, "/*/*/x", 0, &["a/b/x"]),
        (
            "a slash alone is all that the searched directory holds",
            Both,
            "/",
            0,
            &[
                "[ab]", "a", "ab", "ax", "c.c", "c.h", "p q", "p:q", "p|q", "q", "q1", "q12", "q?",
                "s*r", "sbr", "sr", "x", "xa",
            ],
        ),
        (
            "a slash and a period are the searched directory",
            Both,
            "/.",
            0,
            &["."],
        ),
        (
            "slashes that follow each other are one",
            Both,
            "a//x|//x",
            0,
            &["x", "a/x"],
        ),
        (
            "a star is any run of bytes",
            Both,
            "a*",
            0,
            &["a", "ab", "ax"],
        ),
        ("none included", Both, "*xa", 0, &["xa", "a/b/xa"]),
        ("within a name", Both, "/a*x", 0, &["ax"]),
        (
            "a leading period included",
            Both,
            "*.c",
            0,
            &["c.c", "a/.c", "a/d.c"],
        ),
        ("in the middle", Both, "s*r", 0, &["s*r", "sbr", "sr"]),
        ("? is one byte or none", Paper, "q?", 0, &["q", "q1", "q?"]),
        ("? is just one", Fnmatch, "q?", 0, &["q1", "q?"]),
        ("several", Paper, "/q??", 0, &["q", "q1", "q12", "q?"]),
        ("brackets are themselves", Paper, "[ab]", 0, &["[ab]"]),
        ("brackets are sets", Fnmatch, "[ab]", 0, &["a", "a/b"]),
        (
            "and what is not in one",
            Fnmatch,
            "/q[!1?]*|/[!a-q]",
            0,
            &["x"],
        ),
        ("alternatives", Both, "c.c|c.h", 0, &["c.c", "c.h"]),
        (
            "each with its own anchor",
            Both,
            "/x|b/x",
            0,
            &["x", "a/b/x"],
        ),
        (
            "what two match is there once",
            Both,
            "x|/x|*x",
            0,
            &["ax", "x", "a/x", "a/b/x", "ab/x"],
        ),
        ("a quoted star is a star", Both, "s\\*r", 0, &["s*r"]),
        ("a quoted mark is a mark", Both, "q\\?", 0, &["q?"]),
        ("a quoted bar is a bar", Both, "p\\|q", 0, &["p|q"]),
        ("a bracket can be quoted", Both, "\\[ab]", 0, &["[ab]"]),
        ("colons mean nothing", Both, "p:q", 0, &["p:q"]),
        ("spaces mean nothing", Both, "p q", 0, &["p q"]),
        ("any name", Both, "/p?q", 0, &["p q", "p:q", "p|q"]),
        ("nothing is found", Both, "nothing|/no/where", 0, &[]),
    ]);
}

#[test]
fn what_flags_mean() {
    let asked = Asked::of(&["d/x", "d/.x", ".d/x", "e/f/x", "e/y", "x"], |top| {
        symlink("e", top.join("to")).unwrap();
        symlink("nowhere", top.join("lost")).unwrap();
    });
    asked.check(&[
        ("all", Both, "x", 0, &["x", ".d/x", "d/x", "e/f/x"]),
        (
            "the first match alone",
            Both,
            "x",
            Flags::STOPATFIRST,
            &["x"],
        ),
        (
            "the first in the order",
            Both,
            "*/x",
            Flags::STOPATFIRST,
            &[".d/x"],
        ),
        (
            "a first match of one level",
            Both,
            "/*/*/x",
            Flags::STOPATFIRST,
            &["e/f/x"],
        ),
        ("no first match", Both, "z", Flags::STOPATFIRST, &[]),
        (
            "a written period",
            Both,
            "/*",
            Flags::PERIOD,
            &["d", "e", "lost", "to", "x"],
        ),
        (
            "periods in the middle of names",
            Both,
            ".*",
            Flags::PERIOD,
            &[".d", "d/.x"],
        ),
        (
            "not the way to it",
            Both,
            "x",
            Flags::PERIOD,
            &["x", ".d/x", "d/x", "e/f/x"],
        ),
        (
            "components that are written",
            Both,
            "*/x",
            Flags::PERIOD,
            &["d/x", "e/f/x"],
        ),
        (
            "? is no written period",
            Both,
            "?x",
            Flags::PERIOD | Flags::FNMATCH,
            &[],
        ),
        ("links are not gone into", Both, "y", 0, &["e/y"]),
        (
            "unless it is said",
            Both,
            "y",
            Flags::FOLLOW,
            &["e/y", "to/y"],
        ),
        ("a link is a match", Both, "to|lost", 0, &["lost", "to"]),
        (
            "metadata is of what links lead to",
            Both,
            "lost",
            Flags::METADATA,
            &["!stat 2 lost"],
        ),
        (
            "or of links",
            Both,
            "lost",
            Flags::METADATA | Flags::NOFOLLOW,
            &["lost"],
        ),
        (
            "an error is no first match",
            Both,
            "/lost|/x",
            Flags::METADATA | Flags::STOPATFIRST,
            &["!stat 2 lost", "x"],
        ),
        (
            "what a link leads to may be read",
            Both,
            "to|lost",
            Flags::R_OK,
            &["to"],
        ),
    ]);
}

/// Lists of directories, as one string and as several strings.
#[test]
fn what_lists_mean() {
    let asked = Asked::of(&["one/cc", "one/bin/cc", "two/cc", "three/ld"], |_| {});
    let roots = ["one", "gone", "two", "three"].map(|name| asked.scratch.join("top").join(name));
    let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
    let ask = |executor: &dyn Executor, pattern: &str, flags| {
        lines(&records(executor, request(pattern, flags, &roots)))
    };
    for mode in [0, Flags::FNMATCH] {
        for executor in [&LiveWalk::default() as &dyn Executor, &asked.index] {
            let ask = |pattern: &str, flags| ask(executor, pattern, flags | mode);
            // One after the other; a directory that does not exist is a record and does not end the
            // search.
            assert_eq!(ask("cc", 0), ["cc", "bin/cc", "!1:open 2 .", "2:cc"]);
            assert_eq!(ask("/cc", 0), ["cc", "!1:open 2 .", "2:cc"]);
            // The earliest root that has a match.
            assert_eq!(ask("/ld", Flags::STOPATFIRST), ["!1:open 2 .", "3:ld"]);
            assert_eq!(ask("cc|ld", Flags::STOPATFIRST), ["cc"]);
            // With the root as it was given.
            let given = roots[3].to_str().unwrap();
            assert_eq!(
                ask("ld", Flags::INCLUDEROOT | Flags::STOPATFIRST)[1],
                format!("3:{given}/ld")
            );
        }
    }
}

/// The questions of the programs that the paper names: a shell's globs and its search along `PATH`,
/// execvp(3), the loader's and the compiler's searches, `ls -l`, `ls -lR`, find, the tests of a
/// configure script, and make.
#[test]
fn the_clients_questions() {
    let names = [
        "bin/cc",
        "bin/ld",
        "local/bin/cc",
        "lib/libc.so",
        "lib/libm.so",
        "local/lib/libm.so",
        "include/stdio.h",
        "include/sys/stat.h",
        "src/a.c",
        "src/b.c",
        "src/a.h",
        "src/.git/a.c",
        "src/sub/c.c",
        "src/Makefile",
        "src/configure",
    ];
    let asked = Asked::of(&names, |top| {
        for program in ["bin/ld", "local/bin/cc", "src/configure"] {
            let mode = PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(top.join(program), mode).unwrap();
        }
    });
    let top = asked.scratch.join("top");
    let ask = |pattern: &str, flags, dirs: &[&str]| {
        let roots: Vec<_> = dirs.iter().map(|dir| top.join(dir)).collect();
        let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
        let live = lines(&records(
            &LiveWalk::default(),
            request(pattern, flags, &roots),
        ));
        let indexed = lines(&records(&asked.index, request(pattern, flags, &roots)));
        assert_eq!(live, indexed, "{pattern}");
        live
    };
    let first = Flags::STOPATFIRST;
    let runs = first | Flags::X_OK;
    // bash: *.c, */*.c, **/*.c
    assert_eq!(ask("/*.c", Flags::PERIOD, &["src"]), ["a.c", "b.c"]);
    assert_eq!(ask("/*/*.c", Flags::PERIOD, &["src"]), ["sub/c.c"]);
    // PATH=bin:local/bin cc, where the first cc is not executable.
    assert_eq!(ask("/cc", runs, &["bin", "local/bin"]), ["1:cc"]);
    assert_eq!(ask("/ld", runs, &["bin", "local/bin"]), ["ld"]);
    assert_eq!(ask("/as", runs, &["bin", "local/bin"]), [""; 0]);
    // The loader, and the compiler's -I and -L.
    let libraries = ["none", "local/lib", "lib"];
    assert_eq!(
        ask("/libm.so", first | Flags::R_OK, &libraries[1..]),
        ["libm.so"]
    );
    assert_eq!(
        ask("/libc.so", first | Flags::R_OK, &libraries),
        ["!open 2 .", "2:libc.so"]
    );
    assert_eq!(
        ask("/sys/stat.h", first | Flags::R_OK, &["src", "include"]),
        ["1:sys/stat.h"]
    );
    // ls -l, ls -lR
    let of_links = Flags::METADATA | Flags::NOFOLLOW;
    assert_eq!(
        ask("/*", of_links | Flags::PERIOD, &["src"]),
        ["Makefile", "a.c", "a.h", "b.c", "configure", "sub"]
    );
    assert_eq!(
        ask("/.|*", of_links, &["include"]),
        [".", "stdio.h", "sys", "sys/stat.h"]
    );
    // find -name '*.c'
    assert_eq!(
        ask("*.c", 0, &["src"]),
        ["a.c", "b.c", ".git/a.c", "sub/c.c"]
    );
    // configure and make: does the file exist?
    assert_eq!(ask("/configure", runs, &["src"]), ["configure"]);
    assert_eq!(
        ask("/GNUmakefile|/makefile|/Makefile", first, &["src"]),
        ["Makefile"]
    );
    assert_eq!(ask("/a.o|/a.c", of_links, &["src"]), ["a.c"]);
}
