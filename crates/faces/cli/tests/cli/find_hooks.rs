//! `trawl find -keyword` and `-attr` on what hooks find: the same before and after indexing, on
//! hostile files, and without reading moved files again. The expected values are those that the
//! files were made with.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use trawl_testkit::oracle::{self, Ran, command};
use trawl_testkit::skip::without_program;

use crate::grep_text::SETTLED;
use crate::site::Site;

/// Makes files of several formats, in the folder that is its argument.
const FORMATS: &str = r#"
import sys, wave, struct, zipfile, os
os.chdir(sys.argv[1])
with zipfile.ZipFile("report.docx", "w") as z:
    z.writestr("word/document.xml",
        '<w:document><w:body><w:p><w:r><w:t>quarterly flash storage</w:t></w:r></w:p></w:body></w:document>')
    z.writestr("docProps/core.xml",
        '<cp:coreProperties xmlns:dc="d"><dc:title>Yearly</dc:title><dc:creator>Ann</dc:creator></cp:coreProperties>')
card = lambda text: text.ljust(80).encode()
head = [card("SIMPLE  =                    T"), card("BITPIX  =                    8"),
        card("NAXIS   =                    0"), card("EXPTIME =                0.005"), card("END")]
open("m31.fits", "wb").write(b"".join(head).ljust(2880))
with wave.open("song.wav", "wb") as w:
    w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000); w.writeframes(b"\0\0" * 8000)
body = b"INFOIART" + struct.pack("<I", 4) + b"Bach"
data = open("song.wav", "rb").read() + b"LIST" + struct.pack("<I", len(body)) + body
open("song.wav", "wb").write(data[:4] + struct.pack("<I", len(data) - 8) + data[8:])
with zipfile.ZipFile("old.zip", "w") as z:
    z.writestr("letters/granny.txt", "x")
open("page.html", "w").write("<html><title>Disks</title><a href='more.html'>nvme page</a></html>")
open("main.c", "w").write('#include "disk.h"\nint spin_up(void) { return 0; }\n')
open("latin", "wb").write("gr\u00fcne Wiese, blauer Himmel und noch viele andere W\u00f6rter".encode("latin-1"))
open("image.png", "wb").write(bytes.fromhex("89504e470d0a1a0a0000000d49484452000000400000002008000000"))
"#;

/// Questions, and the only file that each finds.
const ANSWERS: [(&[&str], &str); 15] = [
    (&["-keyword", "quarterly storage"], "report.docx"),
    (&["-phrase", "flash storage"], "report.docx"),
    (&["-attr", "title=Yearly"], "report.docx"),
    (&["-attr", "author=ann"], "report.docx"),
    (&["-attr", "fits.exptime<0.01"], "m31.fits"),
    (&["-attr", "fits.exptime>0.004"], "m31.fits"),
    (&["-attr", "artist=Bach"], "song.wav"),
    (&["-attr", "sample-rate=8000"], "song.wav"),
    (&["-keyword", "granny"], "old.zip"),
    (&["-attr", "members=1"], "old.zip"),
    (&["-attr", "title=Disks"], "page.html"),
    (&["-attr", "function=spin_up"], "main.c"),
    (&["-attr", "language=c"], "main.c"),
    (&["-keyword", "gr\u{fc}ne"], "latin"),
    (&["-attr", "encoding=windows-1252"], "latin"),
];

#[track_caller]
fn check_formats(site: &Site, before: &[&str]) {
    for (words, name) in ANSWERS {
        // The picture ends after its header.
        let words = [before, &[".", "!", "-name", "*.png"], words].concat();
        let ran = site.trawl(&[&["find"], &words[..]].concat());
        assert_eq!(ran.text(), format!("./{name}\n"), "{words:?}: {ran}");
        assert_eq!(
            (ran.code, ran.errors()),
            (Some(0), String::new()),
            "{words:?}"
        );
    }
}

#[test]
fn hooks_answer_alike_before_and_after_indexing() {
    if let Some(skip) = without_program("files of many formats", "python3") {
        return skip.say();
    }
    let site = Site::empty("find-hooks");
    let mut python = command("python3");
    oracle::run(python.args(["-c", FORMATS]).arg(site.tree())).expect_code(0);
    check_formats(&site, &["--live"]);
    std::thread::sleep(SETTLED);
    let made = site.run("index --keywords .");
    assert!(matches!(made.code, Some(0 | 1)), "{made}");
    check_formats(&site, &[]);
    check_formats(&site, &["--live"]);
    // The name decides what a text is: another name is another document.
    fs::hard_link(site.tree().join("main.c"), site.tree().join("text")).unwrap();
    for _ in 0..2 {
        let ran = site
            .run("find --live . ! -name *.png -attr function=spin_up")
            .expect_code(0);
        assert_eq!(ran.text(), "./main.c\n");
        std::thread::sleep(SETTLED);
        site.run("index --quiet .");
    }
}

/// Writes a hook for `*.dat`, and returns its directory.
fn hook(site: &Site, program: &str) -> PathBuf {
    let folder = site.scratch.join("hooks");
    fs::create_dir_all(&folder).unwrap();
    let text = format!("#!/usr/bin/python3\n{program}");
    fs::write(folder.join("mine"), text).unwrap();
    let manifest = "name = \"mine\"\nprogram = \"mine\"\nglobs = [\"*.dat\"]\n\
                    [limits]\ncpu_secs = 1\nwall_secs = 15\n";
    fs::write(folder.join("mine.toml"), manifest).unwrap();
    for path in [&folder, &folder.join("mine"), &folder.join("mine.toml")] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn run(site: &Site, hooks: &Path, words: &[&str]) -> Ran {
    let mut command = site.command();
    oracle::run(command.args(words).env("TRAWL_HOOKS", hooks))
}

/// What the hook does is in the file.
const OBEDIENT: &str = "import json, os, sys, time
order = sys.stdin.buffer.read().decode()
if order.startswith('crash'): os.abort()
if order.startswith('hang'): time.sleep(3600)
if order.startswith('spin'):
    while True: pass
if order.startswith('talk'): print('no JSON at all')
if order.startswith('flood'):
    while True: print(json.dumps({'text': 'flood ' * 1000}))
print(json.dumps({'text': 'obeyed ' + order}))
print(json.dumps({'relation': 'derived-from', 'target': 'raw.fits'}))
";

/// "Hostile files and hooks: […] hooks that hang, fork, open sockets or print 10 GB: bounded,
/// recorded as issues, nothing lost" (issue of this feature).
#[test]
fn a_hostile_file_is_an_issue_and_nothing_else_is_lost() {
    if let Some(skip) = without_program("a hook", "python3") {
        return skip.say();
    }
    let site = Site::empty("find-hooks-hostile");
    let hostile = ["crash", "hang", "spin", "talk", "flood"];
    for name in hostile {
        // A NUL byte: no text, so that only the hook reads it.
        let content = format!("{name} needle\0");
        fs::write(site.tree().join(format!("{name}.dat")), content).unwrap();
    }
    fs::write(site.tree().join("good.dat"), "needle well\0").unwrap();
    fs::write(site.tree().join("plain.txt"), "needle in a text\n").unwrap();
    let hooks = hook(&site, OBEDIENT);
    std::thread::sleep(SETTLED);
    let made = run(&site, &hooks, &["index", "--keywords", "."]).expect_code(1);
    for name in hostile {
        let line = made
            .errors()
            .lines()
            .find(|line| line.contains(name))
            .map(String::from);
        assert!(
            line.is_some_and(|line| line.contains("mine:")),
            "{name}: {made}"
        );
    }
    assert!(made.text().contains("5 incomplete"), "{made}");
    for before in [&["find"][..], &["find", "--live"]] {
        let words = [before, &[".", "-keyword", "needle"]].concat();
        let ran = run(&site, &hooks, &words).expect_code(1);
        let mut found: Vec<String> = ran.text().lines().map(Into::into).collect();
        found.sort_unstable();
        assert_eq!(found, ["./good.dat", "./plain.txt"], "{ran}");
        assert_eq!(
            ran.errors().matches("cannot search its content").count(),
            5,
            "{ran}"
        );
    }
    // What does not depend on these files is whole.
    let words = ["find", ".", "-name", "[gp]*", "-keyword", "needle"];
    run(&site, &hooks, &words).expect_code(0);
    // An issue stays one, and is not tried again but for what took too long.
    let again = run(&site, &hooks, &["index", "."]).expect_code(1);
    assert!(again.text().contains("5 incomplete"), "{again}");
    let words = ["find", ".", "-name", "crash.dat", "-keyword", "needle"];
    let ran = run(&site, &hooks, &words).expect_code(1);
    assert!(
        ran.errors().contains("a hook crashed or was ended"),
        "{ran}"
    );
    // Without the hook, packs that it helped to make are not believed.
    let ran = site.run("find . -keyword needle");
    assert_eq!(ran.text(), "./plain.txt\n", "{ran}");
    assert!(ran.errors().contains("other hooks"), "{ran}");
}

/// Says when it ran.
const CLOCK: &str = "import json, sys, time
sys.stdin.buffer.read()
print(json.dumps({'attribute': 'ran', 'value': time.time_ns()}))
";

fn now_ns() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos()
}

/// "Moved files are not read again" (issue of this feature). The hook itself says when it ran.
#[test]
fn hooks_do_not_run_again_for_moved_files() {
    if let Some(skip) = without_program("a hook", "python3") {
        return skip.say();
    }
    let site = Site::empty("find-hooks-moved");
    let tree = site.tree();
    let path = |name: &str| tree.join(name);
    for dir in ["a", "b", "c"] {
        fs::create_dir(path(dir)).unwrap();
        for number in 0..4 {
            fs::write(
                path(&format!("{dir}/{number}.dat")),
                format!("{dir}{number}\0"),
            )
            .unwrap();
        }
    }
    let hooks = hook(&site, CLOCK);
    std::thread::sleep(SETTLED);
    run(&site, &hooks, &["index", "--quiet", "--keywords", "."]).expect_code(0);
    let before = now_ns();
    // Moved, with another name, with other permissions; and the same for a directory.
    fs::rename(path("a/0.dat"), path("b/moved.dat")).unwrap();
    fs::rename(path("a/1.dat"), path("a/renamed.dat")).unwrap();
    fs::set_permissions(path("a/2.dat"), Permissions::from_mode(0o600)).unwrap();
    fs::rename(path("b"), path("c/b")).unwrap();
    fs::set_permissions(path("c"), Permissions::from_mode(0o700)).unwrap();
    std::thread::sleep(SETTLED);
    let again = run(&site, &hooks, &["index", "."]).expect_code(0);
    assert!(again.text().contains("  0 read"), "{again}");
    let older = format!("ran<{before}");
    let ran = run(
        &site,
        &hooks,
        &["find", ".", "-name", "*.dat", "-attr", &older],
    );
    assert_eq!(
        (ran.text().lines().count(), ran.code),
        (12, Some(0)),
        "{ran}"
    );

    // What looks like a move, but is another content, is read.
    let changed = path("a/2.dat");
    let mtime = changed.metadata().unwrap().modified().unwrap();
    fs::write(&changed, "A2\0").unwrap();
    let file = fs::OpenOptions::new().write(true).open(&changed).unwrap();
    file.set_times(fs::FileTimes::new().set_modified(mtime))
        .unwrap();
    drop(file);
    std::thread::sleep(SETTLED);
    let again = run(&site, &hooks, &["index", "."]).expect_code(0);
    assert!(again.text().contains("  1 read"), "{again}");
    let newer = format!("ran>{before}");
    let ran = run(
        &site,
        &hooks,
        &["find", ".", "-name", "*.dat", "-attr", &newer],
    );
    assert_eq!(ran.text(), "./a/2.dat\n", "{ran}");
}
