//! `command`: a command line that the server answers, as the asking user. The answer is what the
//! command prints and how it exits.
//!
//! Invariants: the words are never given to a shell. Only the program that the server was
//! configured with is run ([`crate::server::Commands`]), and that program decides which commands and
//! options it answers. Only the variables in [`VARIABLES`] reach it.

pub(crate) mod asking;
mod mapped;
mod ranked;
mod running;
mod serving;

pub use mapped::{MAPPED, MappedCommand};
pub use ranked::{ROWS, RankedCommand};

use super::Body;
use crate::server::PATH_MAX_BYTES;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Maximum number of words.
const WORDS_MAX: usize = 4096;
/// Maximum length of all words and variables in bytes.
const WORDS_MAX_BYTES: usize = 1 << 20;
/// Maximum length of a variable in bytes.
const VARIABLE_MAX_BYTES: usize = 16 << 10;

/// Environment variables that change the form of an answer. No other variable is sent or accepted.
pub const VARIABLES: &[&str] = &[
    "BLOCKSIZE",
    "BLOCK_SIZE",
    "COLUMNS",
    "DU_BLOCK_SIZE",
    "FIND_BLOCK_SIZE",
    "LANG",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LS_BLOCK_SIZE",
    "LS_COLORS",
    "NO_COLOR",
    "POSIXLY_CORRECT",
    "QUOTING_STYLE",
    "TABSIZE",
    "TERM",
    "TIME_STYLE",
    "TZ",
];

/// Variables whose values name files of the system: locales and time zones.
const NAMES_OF_FILES: &[&str] = &["LANG", "TZ"];

/// The size of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalSize {
    /// Number of columns; 0 if unknown.
    pub columns: u16,
    /// Number of rows; 0 if unknown.
    pub rows: u16,
}

/// Which standard streams of the client are terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminals {
    /// Whether standard output is one.
    pub output: bool,
    /// Whether standard error is one.
    pub errors: bool,
    /// Their size.
    pub size: TerminalSize,
}

/// A command line, and what of the client's environment its answer depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The words without the program's name.
    pub words: Vec<Vec<u8>>,
    /// The working directory, to which relative paths refer.
    pub directory: Vec<u8>,
    /// Variables of [`VARIABLES`] that are set, as `NAME=VALUE`.
    pub variables: Vec<Vec<u8>>,
    /// Which streams are terminals.
    pub terminals: Terminals,
}

/// A request to answer a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRequest {
    /// Number of bytes that may be sent before more credit is granted.
    pub credit: u32,
    /// The command line.
    pub line: CommandLine,
}

const OUTPUT: u32 = 1;
const ERRORS: u32 = 2;

impl Body for CommandRequest {
    fn write(&self, out: &mut Fields) {
        let CommandLine {
            words,
            directory,
            variables,
            terminals,
        } = &self.line;
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(terminals.output, OUTPUT) | flag(terminals.errors, ERRORS);
        out.u32(self.credit).u32(flags);
        out.u16(terminals.size.columns).u16(terminals.size.rows);
        out.bytes(directory).list(variables).list(words);
    }

    fn read(body: &mut Reader<'_>) -> Result<CommandRequest, BadFrame> {
        let credit = body.u32("credit")?;
        let flags = body.u32("flags")?;
        if flags & !(OUTPUT | ERRORS) != 0 {
            return Err(BadFrame::Field("flags"));
        }
        let size = TerminalSize {
            columns: body.u16("number of columns")?,
            rows: body.u16("number of rows")?,
        };
        let directory = body.bytes("working directory")?.to_vec();
        let variables = body.list("number of variables", "variable")?;
        let words = body.list("number of words", "word")?;
        Ok(CommandRequest {
            credit,
            line: CommandLine {
                words,
                directory,
                variables,
                terminals: Terminals {
                    output: flags & OUTPUT != 0,
                    errors: flags & ERRORS != 0,
                    size,
                },
            },
        })
    }
}

impl CommandLine {
    /// Returns what is wrong with it, if anything is: limits, NUL bytes, variables.
    pub(crate) fn fault(&self) -> Option<String> {
        let all = self.words.iter().chain(&self.variables);
        let bytes: usize = all.clone().map(|word| word.len() + 1).sum();
        if self.words.len() > WORDS_MAX || bytes > WORDS_MAX_BYTES {
            return Some(format!(
                "a command line may have {WORDS_MAX} words and {WORDS_MAX_BYTES} bytes: ask in parts"
            ));
        }
        if self.directory.len() > PATH_MAX_BYTES || !self.directory.starts_with(b"/") {
            return Some("the working directory is not an absolute path".into());
        }
        let mut all = all.chain([&self.directory]);
        if all.any(|word| word.contains(&0)) {
            return Some("a word contains a NUL byte".into());
        }
        let bad = self.variables.iter().find(|one| !is_variable(one));
        bad.map(|one| format!("the variable {} is not accepted", one.escape_ascii()))
    }
}

/// Splits `NAME=VALUE`.
pub(crate) fn name_and_value(variable: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = variable.iter().position(|byte| *byte == b'=')?;
    Some((&variable[..end], &variable[end + 1..]))
}

/// Returns whether a variable, as `NAME=VALUE`, is one that a server accepts.
pub fn is_variable(variable: &[u8]) -> bool {
    let Some((name, value)) = name_and_value(variable) else {
        return false;
    };
    let is_known = VARIABLES.iter().any(|known| known.as_bytes() == name);
    let names_file =
        name.starts_with(b"LC_") || NAMES_OF_FILES.iter().any(|one| one.as_bytes() == name);
    is_known && value.len() <= VARIABLE_MAX_BYTES && (!names_file || names_no_other_file(value))
}

/// Returns whether the name of a locale or a time zone stays within the system's directory of them.
fn names_no_other_file(value: &[u8]) -> bool {
    let inner = value.strip_prefix(b":").unwrap_or(value);
    let mut parts = inner.split(|byte| *byte == b'/');
    !inner.starts_with(b"/") && parts.all(|part| part != b".." && part != b".")
}

#[cfg(test)]
impl super::Sample for CommandRequest {
    fn example() -> CommandRequest {
        CommandRequest {
            credit: 1 << 20,
            line: CommandLine {
                words: vec![b"du".to_vec(), b"-sh".to_vec(), b"/srv".to_vec()],
                directory: b"/home/a".to_vec(),
                variables: vec![b"LANG=C.UTF-8".to_vec()],
                terminals: Terminals {
                    output: true,
                    errors: false,
                    size: TerminalSize {
                        columns: 80,
                        rows: 25,
                    },
                },
            },
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<CommandRequest> {
        use super::tests::bytes;
        use proptest::collection::vec;
        use proptest::prelude::*;
        let lists = (vec(bytes(), 0..4), vec(bytes(), 0..3), bytes());
        let numbers = any::<(u32, bool, bool, u16, u16)>();
        let request = |((words, variables, directory), (credit, output, errors, columns, rows))| {
            let size = TerminalSize { columns, rows };
            CommandRequest {
                credit,
                line: CommandLine {
                    words,
                    directory,
                    variables,
                    terminals: Terminals {
                        output,
                        errors,
                        size,
                    },
                },
            }
        };
        (lists, numbers).prop_map(request).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_accepted_and_none_names_another_file() {
        for good in [
            &b"LANG=de_DE.UTF-8"[..],
            b"TZ=Europe/Berlin",
            b"TZ=:America/New_York",
            b"TZ=CET-1CEST,M3.5.0,M10.5.0/3",
            b"LS_COLORS=di=01;34:ln=/x",
            b"LC_ALL=",
            b"POSIXLY_CORRECT=1",
        ] {
            assert!(is_variable(good), "{}", good.escape_ascii());
        }
        for bad in [
            &b"LD_PRELOAD=/tmp/x.so"[..],
            b"PATH=/tmp",
            b"HOME=/root",
            b"TRAWL_INDEX=/tmp/x",
            b"LOCPATH=/tmp",
            b"LANG=/tmp/x",
            b"LC_ALL=../../tmp/x",
            b"TZ=:/etc/shadow",
            b"TZ=/etc/shadow",
            b"TZ=../../../etc/shadow",
            b"TZ",
            b"",
            b"=x",
        ] {
            assert!(!is_variable(bad), "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn a_command_line_has_limits() {
        let line = |words: usize, each: usize| CommandLine {
            words: vec![vec![b'x'; each]; words],
            directory: b"/".to_vec(),
            ..CommandLine::default()
        };
        assert_eq!(line(WORDS_MAX, 10).fault(), None);
        assert!(line(WORDS_MAX + 1, 1).fault().is_some());
        assert!(line(2, WORDS_MAX_BYTES / 2).fault().is_some());
        let nul = CommandLine {
            words: vec![b"a\0b".to_vec()],
            ..line(0, 0)
        };
        assert!(nul.fault().is_some());
        for directory in [&b""[..], b"tmp", b"/\0"] {
            let line = CommandLine {
                directory: directory.to_vec(),
                ..line(1, 1)
            };
            assert!(line.fault().is_some(), "{}", directory.escape_ascii());
        }
    }
}
