//! `-perm`: has exactly the given permission bits, all of them (`-`) or any of
//! them (`/`).

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};
use trawl_text::mode::{ALL_BITS, ModeChange};

use crate::context::Context;
use crate::error::FindError;
use crate::leaf::Leaf;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-perm` predicate.
pub(crate) static PERM: Predicate = Predicate {
    name: "-perm",
    aliases: &[],
    args: "[-/]MODE",
    kind: Kind::Test,
    help: "has exactly the permission bits MODE, all of them (-MODE) or any of them (/MODE)",
    cost: Cost::Number,
    columns: ColumnSet::of(&[Column::Mode]),
    standard: Standard::Posix,
    parse: Parse::Leaf(parse),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Exactly,
    AtLeast,
    Any,
}

#[derive(Debug)]
struct Perm {
    how: How,
    /// `X` stands for other bits in the mode of a directory.
    of_files: u32,
    of_directories: u32,
}

impl Leaf for Perm {
    fn eval(&self, row: &Row<'_>, _: &mut Context<'_>) -> bool {
        let wanted = match row.file_type() {
            FileType::Directory => self.of_directories,
            _ => self.of_files,
        };
        let bits = row.mode() & ALL_BITS;
        match self.how {
            How::Exactly => bits == wanted,
            How::AtLeast => bits & wanted == wanted,
            How::Any => wanted == 0 || bits & wanted != 0,
        }
    }

    fn is_always_true(&self) -> bool {
        self.how == How::Any && self.of_files == 0 && self.of_directories == 0
    }
}

fn parse(args: &mut Arguments<'_>) -> Result<Box<dyn Leaf>, FindError> {
    let text = args.value()?;
    let (how, mode) = match text {
        [b'-', rest @ ..] => (How::AtLeast, rest),
        [b'/', rest @ ..] => (How::Any, rest),
        _ => (How::Exactly, text),
    };
    // `+7` once meant `/7`; GNU find refuses it because it could mean either.
    let ambiguous = matches!(text, [b'+', b'0'..=b'7', ..]);
    let Some(change) = ModeChange::parse(mode).filter(|_| !ambiguous) else {
        let reason = format!("invalid mode {}", args.quoted(text));
        return Err(FindError::bad("-perm", reason));
    };
    let (of_files, of_directories) = (change.apply(0, false, 0), change.apply(0, true, 0));
    if how == How::Any && of_files == 0 && of_directories == 0 {
        // GNU find prints this warning even after -nowarn.
        args.warn_always(format!(
            "warning: you have specified a mode pattern {} (which is equivalent to /000). The \
             meaning of -perm /000 has now been changed to be consistent with -perm -000; that \
             is, while it used to match no files, it now matches all files.",
            String::from_utf8_lossy(text)
        ));
    }
    Ok(Box::new(Perm {
        how,
        of_files,
        of_directories,
    }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn bits_are_compared() {
        for (argument, mode, expected) in [
            ("644", 0o100_644, true),
            ("644", 0o100_645, false),
            ("-644", 0o100_645, true),
            ("-644", 0o100_640, false),
            ("/022", 0o100_604, false),
            ("/022", 0o100_624, true),
            ("/000", 0o100_000, true),
            ("-000", 0o100_777, true),
            ("000", 0o100_000, true),
            ("u=rw,go=r", 0o100_644, true),
            ("-u+x", 0o100_744, true),
            ("/u+s,g+s", 0o102_755, true),
            ("/a+w", 0o100_444, false),
            ("g=u", 0o100_000, true),
            ("+x", 0o100_111, true),
            ("a+X", 0o100_000, true),
            ("a+X", 0o040_111, true),
            ("4755", 0o104_755, true),
            ("/+7", 0o100_001, true),
        ] {
            let words = format!("-perm {argument}");
            let spec = Spec {
                mode,
                ..Spec::default()
            };
            assert_eq!(matches(&words, &spec), expected, "{words} {mode:o}");
        }
    }

    #[test]
    fn odd_modes_are_refused_in_finds_words() {
        for word in ["8", "+7", "-", "/u+q", "17777", "99999"] {
            assert_eq!(
                error_of(&format!("-perm {word}")),
                format!("invalid mode ‘{word}’")
            );
        }
    }
}
