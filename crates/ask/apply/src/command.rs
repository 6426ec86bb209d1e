//! The words of a command, and the members filled into them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use trawl_sys::command::{BRACES, Limits, fill_in};

use crate::error::ApplyError;

/// How many members one command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One.
    Each,
    /// As many as fit (`{} +`).
    Batch,
}

/// A command.
#[derive(Clone, Debug)]
pub struct Command {
    words: Vec<Vec<u8>>,
    way: Way,
    room: Limits,
}

impl Command {
    /// Reads a command. `{}` stands for the member, wherever it is; `{} +` at the end for as many
    /// members as fit. Without braces, the member is the last argument, unless `takes_input`: then
    /// the command reads the member from its standard input.
    ///
    /// # Errors
    /// [`ApplyError::Words`].
    pub fn parse(words: &[OsString], takes_input: bool) -> Result<Command, ApplyError> {
        let mut words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let ends_with_plus =
            matches!(&words[..], [.., braces, plus] if braces == BRACES && plus == b"+");
        let way = match ends_with_plus {
            true => {
                words.truncate(words.len() - 2);
                Way::Batch
            }
            false => Way::Each,
        };
        let has_braces = words.iter().any(|word| has_braces(word));
        match way {
            _ if words.is_empty() => return Err(ApplyError::Words("name a command after --")),
            Way::Batch if has_braces => {
                return Err(ApplyError::Words("only one {} can stand before +"));
            }
            Way::Batch if takes_input => {
                let text = "standard input holds one member: leave out {} + or --stdin";
                return Err(ApplyError::Words(text));
            }
            Way::Each if !has_braces && !takes_input => words.push(BRACES.to_vec()),
            _ => {}
        }
        let limits = Limits::of_process().ok_or(ApplyError::Words(
            "the environment is too large to start a command: unset variables",
        ))?;
        let own: usize = words.iter().map(|word| word.len() + 1).sum();
        Ok(Command {
            room: Limits {
                bytes: limits.bytes.saturating_sub(own),
                words: limits.words.saturating_sub(words.len()),
            },
            words,
            way,
        })
    }

    /// Returns the program.
    pub fn program(&self) -> &[u8] {
        self.words.first().map_or(b"", |word| word)
    }

    /// Returns how many members one command gets.
    pub fn way(&self) -> Way {
        self.way
    }

    /// Returns the space for the arguments of a batch.
    pub(crate) fn room(&self) -> Limits {
        self.room
    }

    /// Returns whether the program itself depends on the member.
    pub(crate) fn has_filled_program(&self) -> bool {
        self.words.first().is_some_and(|word| has_braces(word))
    }

    /// Returns the command's words for these arguments.
    pub(crate) fn filled(&self, arguments: &[Vec<u8>]) -> Vec<OsString> {
        let words = self.words.iter();
        match (self.way, arguments) {
            (Way::Batch, all) => words
                .chain(all)
                .map(|word| OsString::from_vec(word.clone()))
                .collect(),
            (Way::Each, [one]) => words.map(|word| fill_in(word, one)).collect(),
            (Way::Each, _) => words.map(|word| fill_in(word, b"")).collect(),
        }
    }
}

fn has_braces(word: &[u8]) -> bool {
    word.windows(BRACES.len()).any(|two| two == BRACES)
}

/// Returns a name as an argument that no command takes for an option.
pub(crate) fn argument(name: &[u8]) -> Vec<u8> {
    match name.first() {
        Some(b'-') => [b"./", name].concat(),
        _ => name.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, takes_input: bool) -> Result<Command, ApplyError> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Command::parse(&words, takes_input)
    }

    fn filled(line: &str, arguments: &[&str]) -> String {
        let arguments: Vec<Vec<u8>> = arguments.iter().map(|one| one.as_bytes().into()).collect();
        let words = parse(line, false).unwrap().filled(&arguments);
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn members_stand_where_the_braces_are() {
        assert_eq!(filled("wc", &["a"]), "wc a");
        assert_eq!(filled("cp {} {}.old", &["a{}"]), "cp a{} a{}.old");
        assert_eq!(filled("wc -l {} +", &["a", "{}"]), "wc -l a {}");
        assert_eq!(argument(b"-rf"), b"./-rf");
        assert_eq!(argument(b"a"), b"a");
    }

    #[test]
    fn mistakes_are_refused() {
        for (line, takes_input) in [
            ("", false),
            ("{} +", false),
            ("a {} {} +", false),
            ("a {} +", true),
        ] {
            assert!(parse(line, takes_input).is_err(), "{line}");
        }
        assert!(parse("cat", true).unwrap().filled(&[]).len() == 1);
    }
}
