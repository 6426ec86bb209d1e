//! Named indices over relations: `trawl index show NAME FILE` has the rows of `trawl related FILE`, its
//! messages and its exit code, whoever asks, and whether packs of keywords know the files or not.

use std::fs;

use trawl_testkit::oracle::{Identity, Ran, run};
use trawl_testkit::skip::without_root;

use crate::find::{ANNA, BEN, index, two_users};
use crate::related::random_tree;
use crate::site::Site;

/// Graphs, and the kinds of relations that they are over; no kind stands for all.
const GRAPHS: [(&str, &[&str]); 5] = [
    ("includes", &["includes"]),
    ("origins", &["derived", "built-from"]),
    ("links", &["links-to"]),
    ("several", &["includes", "links-to", "opened-with"]),
    ("all", &[]),
];

fn ask(site: &Site, words: &[&str]) -> Ran {
    let mut trawl = site.trawl(words);
    run(trawl.env("TRAWL_INDEX", site.path("../index")))
}

fn define_all(site: &Site) {
    for (name, kinds) in GRAPHS {
        let kinds = kinds.iter().map(|kind| format!("relation:{kind}"));
        let on = match kinds.len() {
            0 => "relation:all".to_owned(),
            _ => kinds.collect::<Vec<_>>().join(","),
        };
        let words = [
            "index", "define", name, "--kind", "graph", "--on", &on, "-q",
        ];
        ask(site, &words).expect_code(0);
    }
}

/// Compares the neighbours of a file with what `trawl related` shows, in one form; returns their number.
#[track_caller]
fn compare(site: &Site, file: &str, form: &[&str]) -> usize {
    let mut count = 0;
    for (name, kinds) in GRAPHS {
        let kinds = kinds.iter().flat_map(|kind| ["--kind", kind]);
        let related: Vec<&str> = ["related", file].into_iter().chain(kinds).collect();
        let related = ask(site, &[&related[..], form].concat());
        let shown = ask(site, &[&["index", "show", name, file], form].concat());
        let told = |ran: &Ran| (ran.code, ran.text(), ran.errors());
        assert_eq!(told(&shown), told(&related), "{name} {file}");
        count += shown.text().lines().count();
    }
    count
}

#[test]
fn neighbours_are_the_related_files() {
    let (site, files) = random_tree(7);
    site.write("a.md", "[b](b.md)\n");
    site.write("b.md", "[a](a.md) [s](s1.c)\n");
    site.learn("sort a.md b.md > sorted").expect_code(0);
    index(&site, &["--keywords"]);
    define_all(&site);
    let all = ["a.md", "b.md", "sorted"];
    let some = files.iter().step_by(7).map(String::as_str);
    let all: Vec<&str> = all.into_iter().chain(some).collect();
    let compare_all = |context: &str| {
        for file in &all {
            assert_ne!(
                compare(&site, file, &["--json", "--in", "."]),
                0,
                "{file}: {context}"
            );
        }
        for form in [&[][..], &["--csv"], &["--json"]] {
            compare(&site, all[0], form);
        }
    };
    compare_all("as indexed");
    // Behind: the packs do not know this yet.
    site.write("b.md", "[sorted](sorted)\n");
    site.write("new.md", "[a](a.md)\n");
    fs::rename(site.path("s1.c"), site.path("s9.c")).unwrap();
    fs::write(site.path("s1.c"), "#include \"h0.h\"\n").unwrap();
    compare_all("behind");
    index(&site, &[]);
    compare_all("indexed again");
    ask(&site, &["index", "--quiet", "--no-keywords", "."]).expect_code(0);
    compare_all("without packs");
    let list = ask(&site, &["index", "list"]).expect_code(0).text();
    assert_eq!(
        list.lines().filter(|line| line.ends_with("behind")).count(),
        5
    );
    for (name, _) in GRAPHS {
        ask(&site, &["index", "drop", name]).expect_code(0);
    }
    assert_eq!(ask(&site, &["index", "list"]).text(), "");
    ask(&site, &["index", "show", "all", "a.md"]).expect_code(2);
}

/// What each of two users is shown follows from what was written; and it is what `trawl related` shows.
#[test]
fn both_ends_are_guarded() {
    if let Some(skip) = without_root("relations of two users") {
        return skip.say();
    }
    let mut site = two_users("graph-users");
    site.write("closed.c", "#include \"open.h\"\n");
    std::os::unix::fs::chown(site.path("closed.c"), Some(ANNA), Some(ANNA)).expect("root");
    crate::site::mode(&site.path("closed.c"), 0o600);
    index(&site, &["--keywords"]);
    define_all(&site);
    for (who, header, source, closed) in [
        (
            ANNA,
            &["open.c", "closed.c", "anna/uses-open.c"][..],
            &["open.h", "anna/secret.h"][..],
            &["open.h"][..],
        ),
        (BEN, &["open.c"], &["open.h"], &[]),
    ] {
        site.who = Identity::user(who);
        for (file, wanted) in [("open.h", header), ("open.c", source), ("closed.c", closed)] {
            compare(&site, file, &[]);
            let ran = ask(&site, &["index", "show", "includes", file, "--json"]);
            let found = crate::site::rows(&ran).into_iter().map(|row| row.path);
            assert_eq!(site.paths(wanted), found.collect(), "{who} {file}");
            let said = ran.text() + &ran.errors();
            let is_told = said.contains("secret") || said.contains("uses-open");
            assert!(who == ANNA || !is_told, "{said}");
        }
    }
    // Of a file that Ben cannot reach he learns as much as of one that is not there.
    let tree = site.tree().display().to_string();
    let told = |name: &str| {
        let file = format!("{tree}/anna/{name}");
        let ran = ask(&site, &["index", "show", "includes", &file]);
        (ran.code, ran.text(), ran.errors().replace(name, "NAME"))
    };
    assert_eq!(told("secret.h"), told("gone.h"));
    assert_eq!(told("gone.h").0, Some(2));
}

/// References that no bytes show are known backward from the packs alone: they serve the graph.
#[test]
fn packs_serve_a_graph() {
    let site = Site::new("graph-packs");
    let hooks = site.path("../hooks");
    fs::create_dir(&hooks).unwrap();
    let manifest = "name = \"m\"\nprogram = \"m\"\nglobs = [\"*.dat\"]\n";
    fs::write(hooks.join("m.toml"), manifest).unwrap();
    let program = "#!/bin/sh\necho '{\"relation\": \"calibrated-by\", \"target\": \"dark.bin\"}'\n";
    fs::write(hooks.join("m"), program).unwrap();
    crate::site::mode(&hooks.join("m"), 0o755);
    site.write("a.dat", "no name of another file\n");
    site.write("dark.bin", "1\n");
    let with_hooks = |words: &[&str]| {
        let mut trawl = site.trawl(words);
        trawl.env("TRAWL_HOOKS", &hooks);
        trawl.env("TRAWL_INDEX", site.path("../index"));
        run(&mut trawl).expect_code(0)
    };
    std::thread::sleep(std::time::Duration::from_millis(4500));
    with_hooks(&["index", "--quiet", "."]);
    let define = "index define dark --kind graph --on relation:calibrated-by";
    let made = with_hooks(&define.split(' ').collect::<Vec<_>>());
    assert!(made.text().contains("keywords of 2 files"), "{made}");
    let shown = with_hooks(&["index", "show", "dark", "dark.bin"]).text();
    let wanted = format!("calibrated-by of {}\n", site.path("a.dat").display());
    assert_eq!(shown, wanted);
    // The definition made the packs; without them, nobody knows.
    with_hooks(&["index", "--quiet", "--no-keywords", "."]);
    assert_eq!(
        with_hooks(&["index", "show", "dark", "dark.bin"]).text(),
        ""
    );
}

#[test]
fn what_is_asked_of_a_graph_is_checked() {
    let site = Site::new("graph-wrong");
    site.write("a.md", "[b](b.md) [c](c.md)\n");
    site.write("b.md", "1\n");
    site.write("c.md", "2\n");
    site.write("../beside", "3\n");
    ask(&site, &["index", "--quiet", "."]).expect_code(0);
    define_all(&site);
    for (words, why) in [
        (&["links"][..], "give it a file"),
        (&["links", "gone"], "give it a file"),
        (&["links", "../beside"], "give it a file"),
        (&["links", "../beside", "--in", "."], "is not below"),
        (&["links", "a.md", "--at", "now"], "--at"),
        (&["other", "a.md"], "no named index `other`"),
    ] {
        let ran = ask(&site, &[&["index", "show"][..], words].concat());
        assert_eq!(
            (ran.code, ran.text()),
            (Some(2), String::new()),
            "{words:?}"
        );
        assert!(ran.errors().contains(why), "{words:?}: {ran}");
    }
    let ran = ask(&site, &["index", "show", "links", "a.md", "-0", "-n", "1"]);
    let path = format!("{}\0", site.path("b.md").display());
    assert_eq!((ran.code, ran.text()), (Some(0), path), "{ran}");
    assert!(ran.errors().contains("only the first 1"), "{ran}");
    let part = [
        "index",
        "define",
        "x",
        "--kind",
        "graph",
        "--on",
        "relation:a",
    ];
    fs::create_dir(site.path("sub")).unwrap();
    ask(&site, &["index", "--quiet", "."]).expect_code(0);
    let ran = ask(&site, &[&part[..], &["sub"]].concat()).expect_code(2);
    assert!(ran.errors().contains("whole source"), "{ran}");
    // `derived-from` is another name of `derived`.
    let words = ["index", "define", "d", "--kind", "graph", "--on"];
    ask(
        &site,
        &[&words[..], &["relation:derived-from", "-q"]].concat(),
    )
    .expect_code(0);
    let list = ask(&site, &["index", "list"]).text();
    assert!(list.contains("d, graph by relation:derived,"), "{list}");
}
