//! `trawl related`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use trawl_testkit::oracle::{command, run};
use trawl_testkit::prng::Prng;
use trawl_testkit::skip::without_program;

use crate::site::{Site, dependencies};

/// Headers that include later ones, and sources that include headers, at random.
pub(crate) fn random_tree(seed: u64) -> (Site, Vec<String>) {
    let site = Site::new("related-random");
    let mut random = Prng::new(seed);
    let name = |at: u64| match at % 3 {
        0 => format!("h{at}.h"),
        1 => format!("sub/h{at}.h"),
        _ => format!("include/lib/h{at}.h"),
    };
    // As a file says it: relative to itself, or below the directory of headers.
    let said = |from: &str, to: &str| match to.strip_prefix("include/") {
        Some(rest) => format!("#include <{rest}>\n"),
        None => {
            let up = "../".repeat(from.matches('/').count());
            format!("#include \"{up}{to}\"\n")
        }
    };
    let mut files = Vec::new();
    for at in 0..30 {
        let mut text = format!("#pragma once\n/* {at} */\n");
        for other in at + 1..30 {
            if random.below(8) == 0 {
                text.push_str(&said(&name(at), &name(other)));
            }
        }
        site.write(&name(at), text);
        files.push(name(at));
    }
    for at in 0..8 {
        let mut text = format!("int v{at};\n");
        for other in 0..30 {
            if random.below(6) == 0 {
                text.push_str(&said("x.c", &name(other)));
            }
        }
        let source = format!("s{at}.c");
        site.write(&source, text);
        files.push(source);
    }
    (site, files)
}

#[test]
fn includes_are_those_of_gcc() {
    if let Some(skip) = without_program("gcc's dependencies", "gcc") {
        return skip.say();
    }
    let (site, files) = random_tree(3);
    let gcc = |file: &str| -> BTreeSet<PathBuf> {
        let mut gcc = command("gcc");
        gcc.args(["-MM", "-Iinclude", file])
            .current_dir(site.tree());
        let mut all = dependencies(&run(&mut gcc).expect_code(0), &site.tree());
        all.remove(&site.path(file));
        all
    };
    let deep = ["--kind", "includes", "--depth", "40", "--in", "."];
    let mut included = Vec::new();
    for file in files.iter().filter(|file| file.ends_with(".c")) {
        let words = [&deep[..], &["--direction", "forward", file]].concat();
        let wanted = gcc(file);
        assert_eq!(site.names(&words), wanted, "{file}");
        included.push((site.path(file), wanted));
    }
    // Backwards: the sources that need a header are those whose list has it.
    for header in files.iter().filter(|file| file.ends_with(".h")).step_by(4) {
        let words = [&deep[..], &["--direction", "backward", header]].concat();
        let found = site.names(&words).into_iter();
        let found: BTreeSet<_> = found
            .filter(|path| path.extension().is_some_and(|e| e == "c"))
            .collect();
        let needs = included
            .iter()
            .filter(|(_, all)| all.contains(&site.path(header)));
        let wanted: BTreeSet<_> = needs.map(|(source, _)| source.clone()).collect();
        assert_eq!(found, wanted, "{header}");
    }
}

#[test]
fn kinds_directions_and_depths_are_told() {
    let site = Site::new("related-kinds");
    site.write(
        "a.md",
        "[b](b%20b.md) [gone](gone.md) [web](https://example.org/b)\n",
    );
    site.write("b b.md", "[c](sub/c.md#part)\n");
    site.write("sub/c.md", "# c\n");
    site.write("copy.md", "# c\n");
    site.write("same-size", "# d\n");
    fs::hard_link(site.path("sub/c.md"), site.path("other-name")).unwrap();
    let rows = site.related(&["b b.md"]);
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.kind.as_str(), row.direction.as_str(), row.path.clone()))
        .collect();
    assert_eq!(
        told,
        [
            ("links-to", "forward", site.path("sub/c.md")),
            ("links-to", "backward", site.path("a.md")),
        ]
    );
    let rows = site.related(&[
        "a.md",
        "--direction",
        "forward",
        "--depth",
        "3",
        "--in",
        ".",
    ]);
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.depth, row.kind.as_str(), row.path.clone()))
        .collect();
    assert_eq!(
        told,
        [
            (1, "links-to", site.path("b b.md")),
            (2, "links-to", site.path("sub/c.md")),
            (3, "same-content", site.path("copy.md")),
        ]
    );
    let text = run(&mut site.trawl(&["related", "copy.md"]))
        .expect_code(0)
        .text();
    let named = ["other-name", "sub/c.md"]
        .map(|name| format!("same content as {}\n", site.path(name).display()));
    assert_eq!(text, named.concat());
    let csv = run(&mut site.trawl(&["related", "copy.md", "--csv"]))
        .expect_code(0)
        .text();
    assert_eq!(csv.lines().count(), 3);
}

#[test]
fn hooks_add_kinds() {
    let site = Site::new("related-hooks");
    let hooks = site.path("../hooks");
    fs::create_dir(&hooks).unwrap();
    fs::write(
        hooks.join("m.toml"),
        "name = \"m\"\nprogram = \"m\"\nglobs = [\"*.dat\"]\n",
    )
    .unwrap();
    let program = "#!/bin/sh\necho '{\"relation\": \"calibrated-by\", \"target\": \"dark.bin\"}'\n\
        echo '{\"relation\": \"derived-from\", \"target\": \"raw.bin\"}'\n";
    fs::write(hooks.join("m"), program).unwrap();
    crate::site::mode(&hooks.join("m"), 0o755);
    for name in ["a.dat", "dark.bin", "raw.bin"] {
        site.write(name, format!("{name} dark.bin raw.bin"));
    }
    let rows = site.related(&["a.dat", "--hooks", "../hooks", "--direction", "forward"]);
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.kind.as_str(), row.path.clone()))
        .collect();
    assert_eq!(
        told,
        [
            ("derived", site.path("raw.bin")),
            ("calibrated-by", site.path("dark.bin"))
        ]
    );
    let found = site.names(&["dark.bin", "--hooks", "../hooks", "--kind", "calibrated-by"]);
    assert_eq!(found, site.paths(&["a.dat"]));
}

/// A large file beside many related ones is read once at each depth, not once for each of them: all
/// readings together would be more than are allowed.
#[test]
fn a_large_file_does_not_end_the_search() {
    let site = Site::new("related-large");
    let large = fs::File::create(site.path("large.txt")).expect("room");
    large.set_len(16 << 20).expect("room");
    site.write("f.h", "int f;\n");
    let names: Vec<String> = (0..300).map(|at| format!("x{at}.c")).collect();
    for name in &names {
        site.write(name, "#include \"f.h\"\n");
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let words = "f.h --kind includes --direction backward --depth 2";
    let words: Vec<&str> = words.split(' ').collect();
    assert_eq!(site.names(&words), site.paths(&names));
}

#[test]
fn a_directory_has_no_relations() {
    let site = Site::new("related-directory");
    site.write("sub/a", "a");
    site.write("b", "b");
    let tree = site.tree().display().to_string();
    for (words, code) in [
        (&["related", "sub"][..], 2),
        (&["related", "sub", "--in", "."], 2),
        (&["related", "sub", "--direction", "forward"], 2),
        (&["find", tree.as_str(), "-related-to", "sub"], 1),
    ] {
        let ran = run(&mut site.trawl(words)).expect_code(code);
        let is_said = ran.errors().contains("is a directory: name a file");
        assert!(is_said && ran.errors().lines().count() == 1, "{ran}");
        assert_eq!(ran.text(), "", "{ran}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let site = Site::new("related-wrong");
    site.write("a", "x");
    for words in [
        &["gone"][..],
        &["a", "--kind", "No Kind"],
        &["a", "--depth", "0"],
        &["a", "--in", "gone"],
    ] {
        run(site.trawl(&["related"]).args(words)).expect_code(2);
    }
    site.write("../state/trawl/accesses", "nonsense");
    crate::site::mode(&site.state().join("trawl/accesses"), 0o600);
    let ran = run(&mut site.trawl(&["related", "a"])).expect_code(2);
    assert!(ran.errors().contains("accesses"), "{ran}");
    // Nothing that was not learnt is needed for other kinds.
    assert_eq!(site.related(&["a", "--kind", "same-content"]), []);
}

#[test]
fn files_replaced_since_are_marked() {
    let site = Site::new("related-replaced");
    site.write("a", "1\n");
    site.learn("sort a > b").expect_code(0);
    let rows = site.related(&["b", "--kind", "built-from"]);
    assert!(!rows[0].is_replaced);
    site.write("new", "2\n");
    fs::rename(site.path("new"), site.path("a")).unwrap();
    let rows = site.related(&["b", "--kind", "built-from"]);
    assert_eq!(rows[0].path, site.path("a"));
    assert!(rows[0].is_replaced);
    fs::remove_file(site.path("a")).unwrap();
    assert_eq!(site.related(&["b", "--kind", "built-from"]), []);
}
