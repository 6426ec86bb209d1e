//! Tests of names over so many rows that names are kept in sidecars, compared with GNU find, which
//! looks at every name.

use std::path::Path;

use trawl_testkit::Scratch;
use trawl_testkit::prng::Prng;

/// Number of directories, and of files in each.
const DIRS: usize = 40;
const FILES: usize = 120;

/// Words in either case; in this folding, the Kelvin sign and the long s equal ASCII letters.
const WORDS: [&str; 10] = [
    "plain",
    "Mixed_CASE",
    "KELVIN",
    "\u{212a}elvin",
    "kelvin",
    "Éclair",
    "éclair",
    "ma\u{17f}s",
    "new\nline",
    "mass",
];
const ENDS: [&str; 5] = [".h5", ".H5", ".c", "", ".tar.gz"];

const EXPRESSIONS: &[&str] = &[
    "-name '*_0042*'",
    "-name '*_0042*.h5'",
    "-iname '*kelvin*'",
    "-iname '*KELVIN_00[0-9]7*'",
    "-iname 'mixed*_0117*.H5'",
    "-iname '*ÉCLAIR_01*'",
    "-iname '*mass_0*3.h5'",
    "-path '*/d07/*kel*'",
    "-ipath '*D07/*KEL*7*'",
    "-ipath '*d1[0-9]/mass*'",
    "-regex '.*/d2.*/plain_.*9\\.c'",
    "-iregex '.*/D2.*/PLAIN_.*9\\.C'",
    "-name '*_0042*' -size 0",
    "-iname '*kelvin_0*' ! -name '*h5'",
    "\\( -name '*_0042*' -o -name '*_0043*' \\) -type f",
    "-name 'nowhere*'",
    "-name 'd1*' -type d",
    "-mindepth 2 -iname '*line_0*'",
];

fn build(root: &Path) {
    let mut prng = Prng::new(11);
    for dir in 0..DIRS {
        let dir = root.join(format!("d{dir:02}"));
        std::fs::create_dir_all(&dir).unwrap();
        for file in 0..FILES {
            let (word, end) = (prng.word(&WORDS), prng.word(&ENDS));
            std::fs::write(dir.join(format!("{word}_{file:04}{end}")), b"").unwrap();
        }
    }
}

fn answer(program: &[&str], root: &Path, expression: &str) -> Vec<String> {
    let script = format!(
        "{} {} {expression} -print0",
        program.join(" "),
        root.display()
    );
    let done = trawl_testkit::oracle::command("bash")
        .args(["-c", &script])
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    assert!(done.status.success(), "{script}: {done:?}");
    let text = String::from_utf8(done.stdout).unwrap();
    let mut paths: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn names_are_found_as_find_finds_them() {
    let scratch = Scratch::new("find-names");
    let (root, index) = (scratch.join("w"), scratch.join("index"));
    build(&root);
    let trawl = env!("CARGO_BIN_EXE_trawl");
    let index = index.to_str().unwrap();
    let made = trawl_testkit::oracle::command(trawl)
        .args(["-i", index, "index"])
        .arg(&root)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut found = 0;
    for expression in EXPRESSIONS {
        let theirs = answer(&["find"], &root, expression);
        let ours = answer(&[trawl, "-i", index, "find"], &root, expression);
        assert_eq!(ours, theirs, "{expression}");
        found += usize::from(!theirs.is_empty());
    }
    assert_eq!(found, EXPRESSIONS.len() - 1, "all but one find something");
}
