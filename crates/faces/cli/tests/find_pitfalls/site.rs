//! A small tree, its index, and a shell in which `$FIND` is one or the other finder.

use std::path::{Path, PathBuf};

use trawl_testkit::lines::visible;
use trawl_testkit::oracle::{Ran, command, run};
use trawl_testkit::process::CLOSE_INHERITED;
use trawl_testkit::{Scratch, Skip};

/// Our answer that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// From the index.
    Index,
    /// From the live file system.
    Live,
}

/// Script that creates the tree; times are half a unit away from every limit.
const TREE: &str = r#"
umask 022
for n in 0 1 511 512 513 1023 1024 1025 1048575 1048576 1048577; do truncate -s $n s$n; done
mkdir -p a/b/c empty full/sub
echo one > a/one; echo two > a/b/two; echo three > a/b/c/three; : > full/sub/file
mkdir modes; for m in 0000 0644 0755 4755 2755 1644 0444 0222 0111 7777; do : > modes/f$m; chmod $m modes/f$m; done
mkdir sets; for m in 0000 2000 4000 6000 7777 2755 4755 0755; do mkdir sets/d$m; chmod $m sets/d$m; done
mkdir ages
for h in 1 23 25 47 49 71 73; do touch -d "-$h hours -30 minutes" ages/h$h; done
for s in 30 90 150 210; do touch -d "-$s seconds" ages/s$s; done
touch -d '+25 hours' ages/future; touch -d '1960-01-02 03:04:05.5' ages/old; touch -d '2400-01-01' ages/far
mkdir links
ln -s ../a/one links/ok; ln -s nothing links/broken; ln -s loop links/loop; ln -s ../a links/dir; ln -s $(printf %0300d 0) links/long
ln -s ../a/one/ links/slash; ln -s ../a/one/. links/dot; ln -s ../a/ links/dirslash; ln -s ../a/. links/dirdot
ln -s ../../../outside/file links/out; ln -s ../../../outside/none links/outnone; ln -s ../../../outside links/outdir
ln -s ../../beyond/left-out links/left; ln -s ../../../outside/null links/null; ln -s null/x links/nulled
ln -s ok links/chain; ln -s .. links/up; ln -s ../a/one/x links/through; ln a/one links/hard
mkfifo pipe
mkdir odd; for n in -dash -name '(' '!' '{}' ' ' 'a b' '*' '\' "it's" '"q"' "$(printf 'new\nline')" "$(printf '\377')" \
  "$(printf '\033[31m')" é ';'; do : > "odd/$n"; done
mkdir shut shut/inside; : > shut/inside/file; chmod 000 shut
mkdir many; long=$(printf '%0200d' 0); for n in $(seq 1 99); do : > "many/$long-$n"; done
"#;

/// `shut` may be closed to ourselves.
const RESTORE: &str = r#"
[ ! -d work ] || chmod u+rwx work/tree/shut 2>/dev/null
rm -rf work outside; mkdir work outside; echo out > outside/file; chmod 755 outside/file; mkdir outside/empty
mkdir outside/listed outside/listed/dir; : > outside/listed/f; ln -s f outside/listed/l; chmod 744 outside/listed
mkdir outside/shut; : > outside/shut/x; ln -s shut/x outside/into; chmod 700 outside/shut
ln -s /dev/null outside/null; mkdir -p work/beyond/left-out/inside; : > work/beyond/left-out/inside/file
mkdir work/far; ln -s ../tree/a/one work/far/0; for n in $(seq 1 41); do ln -s $((n - 1)) work/far/$n; done
 chmod u+rwx pristine/shut; cp -a pristine work/tree; chmod 000 work/tree/shut
"#;

pub(crate) struct Site {
    scratch: Scratch,
    trawl: PathBuf,
}

impl Site {
    pub(crate) fn new() -> Site {
        let scratch = Scratch::new("traps");
        let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
        let site = Site { scratch, trawl };
        site.make();
        site
    }

    /// Creates the tree, and a copy to recreate it from.
    fn make(&self) {
        let pristine = self.scratch.join("pristine");
        std::fs::create_dir(&pristine).expect("our own directory");
        let mut shell = command("sh");
        run(shell.args(["-e", "-c", TREE]).current_dir(&pristine)).expect_code(0);
        self.restore();
        self.index();
    }

    fn restore(&self) {
        let mut shell = command("sh");
        shell.args(["-c", RESTORE]).current_dir(self.scratch.path());
        run(&mut shell).expect_code(0);
    }

    fn index(&self) {
        let mut index = command(&self.trawl);
        index.arg("-i").arg(self.scratch.join("index"));
        index.args(["index", "-q", "--issues", "none", "--exclude", "left-out"]);
        let ran = run(index.arg(self.scratch.join("work")));
        assert!(matches!(ran.code, Some(0 | 1)), "{ran}");
    }

    /// Returns the reason why this mode cannot be tested, if there is one.
    pub(crate) fn cannot(&self, mode: Mode) -> Option<Skip> {
        let unknown = self
            .ask(&self.finder(mode), "$FIND s0")
            .errors()
            .contains("unknown predicate");
        unknown.then(|| Skip::new(format!("{mode:?}"), "the program has no such mode yet"))
    }

    fn finder(&self, mode: Mode) -> String {
        let trawl = self.trawl.display();
        match mode {
            Mode::Index => format!("{trawl} -i {} find", self.scratch.join("index").display()),
            Mode::Live => format!("{trawl} find --live"),
        }
    }

    fn ask(&self, finder: &str, line: &str) -> Ran {
        let line = match line.contains("ulimit -n") {
            true => format!("{CLOSE_INHERITED}; {line}"),
            false => line.to_owned(),
        };
        let mut shell = command("timeout");
        shell.args(["-s", "KILL", "60", "bash", "-c", &line]);
        shell.env("FIND", finder).env("OUT", self.scratch.path());
        run(shell.current_dir(self.scratch.join("work/tree")))
    }

    /// Returns the difference between the answers.
    pub(crate) fn difference(&self, mode: Mode, line: &str) -> Option<String> {
        let changes = ["-delete", " rm "].iter().any(|word| line.contains(word));
        let theirs = self.ask("find", line);
        if changes {
            self.restore();
        }
        if changes && mode == Mode::Index {
            self.index();
        }
        let ours = self.ask(&self.finder(mode), line);
        if changes {
            self.restore();
        }
        // The next line asks about this tree.
        if changes && mode == Mode::Index {
            self.index();
        }
        let sides = [shown(&theirs), shown(&ours)];
        (sides[0] != sides[1]).then(|| format!("  find: {}\n  ours: {}\n", sides[0], sides[1]))
    }
}

/// Returns records in order, messages in order, and the exit code.
fn shown(ran: &Ran) -> String {
    let sorted = |bytes: &[u8]| {
        let mut lines: Vec<String> = bytes
            .split_inclusive(|byte| matches!(byte, b'\n' | 0))
            .map(visible)
            .filter(|line| !line.contains("read from the file system now"))
            .collect();
        lines.sort();
        lines.concat()
    };
    // bash prefixes its own name and the line number.
    format!(
        "[{:?}] {} ! {}",
        ran.code,
        sorted(&ran.stdout),
        sorted(&ran.stderr)
    )
}
