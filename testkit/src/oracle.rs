//! Runs the tools that we compare with, as any user, in an environment with fixed language, time
//! zone and block size.
//!
//! Run our own program through [`command`], too: both sides must see the same environment.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::lines::visible;

/// The user who runs a command, by numeric ids: the user need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The user who runs the tests.
    Ourselves,
    /// Another user; only root can become one.
    Other {
        /// User id.
        uid: u32,
        /// Primary group id.
        gid: u32,
        /// Supplementary group ids.
        groups: Vec<u32>,
    },
}

impl Identity {
    /// Makes a user with one group of the same number.
    pub fn user(id: u32) -> Self {
        Self::Other {
            uid: id,
            gid: id,
            groups: Vec::new(),
        }
    }

    /// Returns a command that this identity runs, in the fixed environment.
    ///
    /// Other identities use setpriv(1), which also drops every capability.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let Self::Other { uid, gid, groups } = self else {
            return command(program);
        };
        let mut command = command("setpriv");
        command
            .arg(format!("--reuid={uid}"))
            .arg(format!("--regid={gid}"));
        if groups.is_empty() {
            command.arg("--clear-groups");
        } else {
            let list: Vec<String> = groups.iter().map(u32::to_string).collect();
            command.arg(format!("--groups={}", list.join(",")));
        }
        command.arg("--inh-caps=-all").arg("--").arg(program);
        command
    }
}

/// The search path for programs, whatever the machine's `PATH` is.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns a command in the fixed environment of tests: UTF-8 without a language, UTC, the system's
/// own programs, a home that does not exist, no input. Nothing else is inherited, so neither make's
/// variables nor the program's own nor anybody's settings reach a program that a test starts; only
/// the directory for temporary files is the machine's.
///
/// Every test starts its programs here: `xtask/tests/style.rs` refuses other ways.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC0")
        .env("TMPDIR", std::env::temp_dir())
        .stdin(Stdio::null());
    command
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The command, for messages.
    pub line: String,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Exit code, or `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Ran {
    /// Returns the result, if the command ended with this code.
    ///
    /// # Panics
    /// With its standard error, otherwise.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert!(self.code == Some(code), "{self}\nexpected exit code {code}");
        self
    }

    /// Returns standard output as text, with odd bytes replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns standard error as text, with odd bytes replaced.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}\ncode {:?}, signal {:?}\n{}",
            self.line,
            self.code,
            self.signal,
            self.errors()
        )
    }
}

/// Runs a command to its end.
///
/// # Panics
/// If it cannot be started.
#[track_caller]
pub fn run(command: &mut Command) -> Ran {
    use std::os::unix::process::ExitStatusExt;
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words
        .map(|word| visible(word.as_encoded_bytes()))
        .collect::<Vec<_>>()
        .join(" ");
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {line}: {error}"));
    Ran {
        line,
        stdout: output.stdout,
        stderr: output.stderr,
        code: output.status.code(),
        signal: output.status.signal(),
    }
}

/// Runs a GNU tool with its arguments in a directory.
///
/// # Panics
/// If it cannot be started.
#[track_caller]
pub fn gnu<A: Into<OsString>>(
    tool: &str,
    arguments: impl IntoIterator<Item = A>,
    directory: &Path,
    identity: &Identity,
) -> Ran {
    let mut command = identity.command(tool);
    command
        .args(arguments.into_iter().map(Into::into))
        .current_dir(directory);
    run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings each of which once changed some test's result.
    const HOSTILE: &[(&str, &str)] = &[
        ("MAKELEVEL", "1"),
        ("MAKEFLAGS", "w"),
        ("MFLAGS", "-w"),
        ("TRAWL_INDEX", "/nonexistent"),
        ("TRAWL_FIND", "index"),
        ("LANG", "de_DE.UTF-8"),
        ("LC_TIME", "de_DE.UTF-8"),
        ("LC_ALL", "de_DE.UTF-8"),
        ("LANGUAGE", "de"),
        ("TZ", "Asia/Kolkata"),
        ("POSIXLY_CORRECT", "1"),
        ("BLOCK_SIZE", "7"),
        ("TIME_STYLE", "iso"),
        ("PATH", "/nonexistent"),
        ("HOME", "/etc"),
        ("XDG_DATA_HOME", "/etc"),
        ("TMPDIR", "/tmp"),
    ];

    #[test]
    fn the_environment_is_fixed() {
        let ran = run(command("sh").args(["-c", "echo $LC_ALL $TZ; exit 3"]));
        assert_eq!((ran.text().as_str(), ran.code), ("C.UTF-8 UTC0\n", Some(3)));
    }

    /// A process with hostile settings starts a program, which gets none of them.
    #[test]
    fn settings_of_the_machine_do_not_reach_programs() {
        let mut hostile = Command::new(std::env::current_exe().expect("ours"));
        hostile.env_clear().envs(HOSTILE.iter().copied());
        hostile.args(["--exact", "--ignored", "--nocapture"]);
        let ran = run(hostile.arg("oracle::tests::shows_the_environment")).expect_code(0);
        let text = ran.text();
        let mut lines: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("> ")).collect();
        lines.sort_unstable();
        let path = format!("PATH={PATH}");
        let [home, locale] = ["HOME=/nonexistent", "LC_ALL=C.UTF-8"];
        assert_eq!(lines, [home, locale, &path, "TMPDIR=/tmp", "TZ=UTC0"]);
    }

    #[test]
    #[ignore = "the one before runs it with other variables"]
    fn shows_the_environment() {
        let ran = run(&mut command("env")).expect_code(0);
        for line in ran.text().lines() {
            println!("> {line}");
        }
    }

    #[test]
    fn another_user_is_that_user_and_nobody_else() {
        if let Some(skip) = crate::skip::without_root("another user") {
            return skip.say();
        }
        let identity = Identity::Other {
            uid: 4711,
            gid: 4712,
            groups: vec![4713, 4714],
        };
        let ran = gnu(
            "sh",
            ["-c", "id -u; id -g; id -G; grep CapEff /proc/self/status"],
            Path::new("/"),
            &identity,
        );
        let text = ran.expect_code(0).text();
        assert_eq!(
            text,
            "4711\n4712\n4712 4713 4714\nCapEff:\t0000000000000000\n"
        );
        let ran = gnu("id", ["-G"], Path::new("/"), &Identity::user(4711)).expect_code(0);
        assert_eq!(ran.text(), "4711\n");
    }
}
