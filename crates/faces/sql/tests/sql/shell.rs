//! The shell on a terminal, through script(1): lines, history, completion, interrupts.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use trawl_testkit::{oracle, skip};

use crate::behaviour::ENDLESS;
use crate::site::Site;

/// The characters of Ctrl-C and Ctrl-D.
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
/// The key for the previous line.
const UP: &str = "\x1b[A";
/// Time limit for expected output.
const PATIENCE: Duration = Duration::from_secs(120);

/// A shell on a terminal of its own.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: Receiver<Vec<u8>>,
    /// Printed text that was not consumed yet.
    fresh: String,
}

impl Terminal {
    fn open(site: &Site) -> Terminal {
        // A shell in between would receive the interrupts, too, and end with 130.
        let program = concat!("exec ", env!("CARGO_BIN_EXE_trawl-sql"));
        // The tests may run with SIGINT ignored, as in a shell's background jobs.
        let mut command = oracle::command("env");
        let mut child = command
            .args(["--default-signal=INT", "script", "-qec", program])
            .arg("/dev/null")
            .env("TRAWL_INDEX", site.index_dir())
            .env("TERM", "xterm")
            .env("HOME", site.scratch.path())
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, screen) = channel();
        let mut printed = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut piece = vec![0; 4096];
            while let Ok(bytes @ 1..) = printed.read(&mut piece) {
                if send.send(piece[..bytes].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal {
            keys: child.stdin.take().unwrap(),
            child,
            screen,
            fresh: String::new(),
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types at the next prompt; text before it is discarded.
    #[track_caller]
    fn enter(&mut self, keys: &str) {
        self.expect("trawl> ");
        self.press(keys);
    }

    /// Returns true as soon as `words` appear in text that was not consumed yet.
    fn shows_within(&mut self, words: &str, most: Duration) -> bool {
        let end = Instant::now() + most;
        loop {
            if let Some(at) = self.fresh.find(words) {
                self.fresh.drain(..at + words.len());
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(piece) => self.fresh.push_str(&String::from_utf8_lossy(&piece)),
                Err(_) => return false,
            }
        }
    }

    #[track_caller]
    fn expect(&mut self, words: &str) {
        let is_shown = self.shows_within(words, PATIENCE);
        assert!(is_shown, "no {words:?} in {:?}", self.fresh);
    }

    #[track_caller]
    fn leave(mut self) {
        self.enter(CTRL_D);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn the_shell_takes_lines_completes_words_and_remembers() {
    if let Some(skip) = skip::without_program("the shell on a terminal", "script") {
        return skip.say();
    }
    let site = Site::server("sql-shell");
    let mut shell = Terminal::open(&site);
    shell.enter("SELECT count(*) AS ways\r");
    shell.expect("  ...> ");
    shell.press("FROM generate_series(1, 7);\r");
    shell.expect("ways\r\n");
    shell.expect("7\r\n(1 row)");
    // A keyword and a table's column.
    shell.enter("SEL\t 41 + 1 AS as_o\t;\r");
    shell.expect("as_of\r\n");
    shell.expect("42\r\n(1 row)");
    shell.enter("SELECT 'dropped");
    shell.expect("dropped");
    shell.press(CTRL_C);
    shell.enter("SELECT nothing FROM entries;\r");
    shell.expect("no field named nothing");
    shell.enter("\\d entries\r");
    shell.expect("path_raw");
    shell.enter("\\nonsense\r");
    shell.expect("there is no command \\nonsense");
    shell.leave();

    let mut again = Terminal::open(&site);
    again.enter(&format!("{UP}{UP}\r"));
    again.expect("path_raw");
    again.leave();
}

#[test]
fn an_interrupt_ends_a_statement_and_not_the_shell() {
    if let Some(skip) = skip::without_program("interrupts on a terminal", "script") {
        return skip.say();
    }
    let site = Site::server("sql-shell-interrupt");
    let mut shell = Terminal::open(&site);
    shell.enter(&format!("SELECT 'before' AS x; {ENDLESS};\r"));
    shell.expect("(1 row)");
    // An interrupt between the two statements would reach neither.
    std::thread::sleep(Duration::from_millis(500));
    let is_told = (0..3).any(|_| {
        shell.press(CTRL_C);
        shell.shows_within("trawl: interrupted", PATIENCE / 4)
    });
    assert!(is_told, "{:?}", shell.fresh);
    // Threads that are still busy with it do not delay the next statement.
    shell.enter("SELECT 6 * 7 AS answer;\r");
    shell.expect("answer\r\n");
    shell.expect("42\r\n(1 row)");
    shell.leave();
}
