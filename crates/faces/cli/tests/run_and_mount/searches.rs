//! Searches that reach Trawl's own mounts: the server answers for the parts below them, in one
//! request, and the records are those of a walk through the mount.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use trawl_testkit::oracle;

use crate::site::{Site, TRAWL, cannot};

/// A server at a socket that ends with the test.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Listening {
    fn at(socket: &Path) -> Listening {
        let mut command = oracle::command(TRAWL);
        command
            .arg("serve")
            .arg(format!("--listen=unix:{}", socket.display()));
        let server = Listening(command.stderr(Stdio::null()).spawn().expect("it starts"));
        let until = Instant::now() + Duration::from_secs(60);
        while !socket.exists() {
            assert!(Instant::now() < until, "it does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }
}

fn site() -> Site {
    let site = Site::empty("running-searches");
    for name in [
        "tree/a/x.c",
        "tree/a/b/y.c",
        "tree/z.c",
        "tree/a/run",
        "point/../w.c",
    ] {
        let path = site.scratch.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("room");
        fs::write(path, name).expect("room");
    }
    let run = site.tree().join("a/run");
    fs::set_permissions(run, fs::Permissions::from_mode(0o755)).expect("our own file");
    // The target of a link depends on who looks.
    symlink("../w.c", site.tree().join("out.c")).expect("room");
    symlink("z.c", site.tree().join("in.c")).expect("room");
    // The first look at a directory sets its access time.
    trawl_testkit::tick();
    oracle::run(oracle::command("find").arg(site.scratch.path())).expect_code(0);
    site
}

const WORDS: [&str; 7] = [
    "'*.c'",
    "-m '*.c'",
    "-m -P -r '*'",
    "/",
    "-f -r -x run",
    "--json -m 'a/*'",
    "'/point/a/*|point'",
];

/// Removes device numbers: each run mounts anew, and the kernel gives the mount any free number.
fn without_devices(text: &str) -> String {
    let mut parts = text.split("\"dev\":");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    rest.fold(first, |text, part| text + "\"dev\":" + part)
}

#[test]
fn a_search_in_a_run_asks_the_server() {
    if let Some(skip) = cannot("searches in a run") {
        return skip.say();
    }
    let site = site();
    let socket = site.scratch.join("socket");
    let server = Listening::at(&socket);
    let address = format!("unix:{}", socket.display());
    let run = |script: &str| {
        let mut command = site.command_with(&address, &["--no-preload"]);
        oracle::run(
            command
                .args(["sh", "-c", script])
                .arg(TRAWL)
                .arg(site.point()),
        )
    };
    let walks = |text: &str| without_devices(&text.replace("remote (live)", "live"));
    for words in WORDS {
        for place in ["$1", "$1/.."] {
            // It would be found before the mount is reached, or only above it.
            if (words.contains("-f ") && place != "$1")
                || (words.contains("point") && place == "$1")
            {
                continue;
            }
            let ask = |how: &str| run(&format!("$0 search --status {how} {words} {place}"));
            let (walked, asked) = (ask("--served-by live"), ask(""));
            assert_eq!(
                walks(&asked.text()),
                walks(&walked.text()),
                "{words} {asked}"
            );
            assert_eq!(asked.code, walked.code, "{words} {asked}");
            assert!(!walked.text().is_empty(), "{words} {walked}");
            let said = asked.errors();
            assert!(said.contains("remote (live)"), "{words} {place} {asked}");
        }
    }
    // Without the server, the mount answers what it can.
    drop(server);
    let ran = run("$0 search '*.c' $1");
    assert_ne!(ran.code, Some(0), "{ran}");
    site.expect_nothing_left();
}

/// Prints the source of the answers, and the paths, with the library's functions for C.
const C_INTERFACE: &str = r#"
import ctypes, os, sys
class Entry(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("info", ctypes.c_void_p), ("errsource", ctypes.c_int), ("err", ctypes.c_int)]
lib = ctypes.CDLL(sys.argv[1])
lib.trawl_opensearch.restype = ctypes.c_void_p
lib.trawl_readsearch.restype = ctypes.POINTER(Entry)
search = ctypes.c_void_p(lib.trawl_opensearch(os.fsencode(sys.argv[2]), b"*.c", 0))
paths = []
while entry := lib.trawl_readsearch(search):
    assert entry.contents.err == 0, entry.contents.path
    paths.append(entry.contents.path.decode())
by = lib.trawl_search_served_by(search)
assert lib.trawl_closesearch(search) == 0
print(by, *sorted(paths))
"#;

#[test]
fn a_program_that_calls_the_library_asks_the_server() {
    let test = "the library's searches in a run";
    if let Some(skip) = cannot(test).or(trawl_testkit::skip::without_program(test, "python3")) {
        return skip.say();
    }
    let library = Path::new(TRAWL).with_file_name("deps/libtrawl.so");
    if !library.exists() {
        return trawl_testkit::Skip::new(test, "libtrawl.so was not built").say();
    }
    let site = site();
    let socket = site.scratch.join("socket");
    let _server = Listening::at(&socket);
    let mut command = site.command_with(&format!("unix:{}", socket.display()), &["--no-preload"]);
    let words = [
        Path::new("-c"),
        Path::new(C_INTERFACE),
        &library,
        &site.point(),
    ];
    let ran = oracle::run(command.arg("python3").args(words));
    // `TRAWL_REMOTE`.
    assert_eq!(ran.text(), "3 a/b/y.c a/x.c in.c out.c z.c\n", "{ran}");
}

/// A user other than the one who mounted asks through the mount.
#[test]
fn mounts_of_others_are_not_believed() {
    let test = "a mount of another user";
    if let Some(skip) = cannot(test).or(trawl_testkit::skip::without_program(test, "setpriv")) {
        return skip.say();
    }
    let site = site();
    let socket = site.scratch.join("socket");
    let _server = Listening::at(&socket);
    let program = site.scratch.install(Path::new(TRAWL));
    let mut command = site.command_with(&format!("unix:{}", socket.display()), &["--no-preload"]);
    let script = "setpriv --reuid=54321 --regid=54321 --clear-groups \
                  $0 search --status '*.c' $1";
    let ran = oracle::run(
        command
            .args(["sh", "-c", script])
            .arg(program)
            .arg(site.point()),
    );
    assert!(ran.errors().contains("answered by: live\n"), "{ran}");
    assert_eq!(ran.expect_code(0).text().lines().count(), 5);
}
