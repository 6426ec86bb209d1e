//! Parses a command from the words of the expression, and fills in an entry's
//! name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use memchr::memmem;
use trawl_sys::command::BRACES;

use super::{Consent, Where};
use crate::context::Races;
use crate::error::FindError;
use crate::parser::Arguments;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// `;`
    Semicolon,
    /// `{} +`
    Plus,
}

/// A command as it was written.
#[derive(Debug)]
pub(super) struct Words {
    /// Its words, without the final braces if it ends with a plus.
    pub(super) words: Vec<Vec<u8>>,
    pub(super) ending: Ending,
}

/// Takes the words of a command from the arguments.
pub(super) fn read(
    args: &mut Arguments<'_>,
    place: Where,
    consent: Consent,
) -> Result<Words, FindError> {
    let mut word = args.value()?;
    if place == Where::Beside {
        check_search_path(args)?;
        // From here on, GNU find reports files that vanish, even if
        // `-ignore_readdir_race` was given before.
        args.settings.races = Races::Told;
    }
    if word == b";" {
        return Err(args.invalid(word));
    }
    let (mut words, mut with_braces) = (Vec::new(), Vec::new());
    let mut follows_braces = false;
    loop {
        match word {
            b";" => {
                let ending = Ending::Semicolon;
                return Ok(Words { words, ending });
            }
            b"+" if follows_braces && consent == Consent::Given => break,
            _ => {}
        }
        follows_braces = memmem::find(word, BRACES).is_some();
        if follows_braces {
            with_braces.push(word);
        }
        words.push(word.to_vec());
        word = args.value()?;
    }
    check_braces(args, &with_braces)?;
    words.pop();
    let ending = Ending::Plus;
    Ok(Words { words, ending })
}

/// Checks that, before a plus, braces occur once and by themselves.
fn check_braces(args: &Arguments<'_>, with_braces: &[&[u8]]) -> Result<(), FindError> {
    let name = args.spelled();
    let reason = match with_braces {
        [word] if *word == BRACES => return Ok(()),
        [word] => format!(
            "In {} the {} must appear by itself, but you specified {}",
            args.quoted(format!("{name} ... {{}} +").as_bytes()),
            args.quoted(BRACES),
            args.quoted(word)
        ),
        _ => format!("Only one instance of {{}} is supported with {name} ... +"),
    };
    Err(FindError::bad("-exec", reason))
}

/// Refuses a `PATH` with relative directories: in a directory that other users
/// may write to, the command could then be found in that directory.
fn check_search_path(args: &Arguments<'_>) -> Result<(), FindError> {
    let Some(search) = std::env::var_os("PATH") else {
        return Ok(());
    };
    let name = args.spelled();
    let combined = format!(
        "is included in the PATH environment variable, which is insecure in combination with \
         the {name} action of find.  Please remove"
    );
    for dir in search.as_bytes().split(|byte| *byte == b':') {
        let reason = match dir {
            b"" | b"." => format!(
                "The current directory {combined} the current directory from your $PATH (that \
                 is, remove \".\", doubled colons, or leading or trailing colons)"
            ),
            [b'/', ..] => continue,
            _ => format!(
                "The relative path {} {combined} that entry from $PATH",
                args.quoted(dir)
            ),
        };
        return Err(FindError::bad("-execdir", reason));
    }
    Ok(())
}

/// Returns a word unchanged.
pub(super) fn as_it_is(word: &[u8]) -> OsString {
    OsStr::from_bytes(word).to_owned()
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, program};

    #[test]
    fn commands_end_where_find_ends_them() {
        for words in [
            "-exec echo ;",
            "-exec echo + ; -print",
            "-exec echo {} + ( -true )",
            "-exec echo {} x + ; -print",
            "-ok echo {} + ;",
            "-exec {} ;",
        ] {
            program(words);
        }
    }

    #[test]
    fn mistakes_are_named_as_find_names_them() {
        for (words, expected) in [
            ("-exec", "missing argument to `-exec'"),
            ("-exec ;", "invalid argument `;' to `-exec'"),
            ("-ok ;", "invalid argument `;' to `-ok'"),
            ("-exec echo", "missing argument to `-exec'"),
            ("-exec echo +", "missing argument to `-exec'"),
            ("-ok echo {} +", "missing argument to `-ok'"),
            (
                "-exec echo {} {} +",
                "Only one instance of {} is supported with -exec ... +",
            ),
            (
                "-execdir echo x{} +",
                "In ‘-execdir ... {} +’ the ‘{}’ must appear by itself, but you specified ‘x{}’",
            ),
        ] {
            assert_eq!(error_of(words), expected, "{words}");
        }
    }
}
