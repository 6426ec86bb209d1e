//! The dialects of `-regextype`, by name.

use super::syntax::Syntax;

/// A dialect of regular expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `emacs`, the default without `-regextype`.
    Emacs,
    /// `findutils-default`: like `emacs`, but `.` matches a newline.
    Findutils,
    /// `gnu-awk`
    GnuAwk,
    /// `grep`
    Grep,
    /// `posix-awk`
    PosixAwk,
    /// `awk`
    Awk,
    /// `posix-basic`, `ed` and `sed`.
    PosixBasic,
    /// `posix-egrep` and `egrep`.
    Egrep,
    /// `posix-extended`
    PosixExtended,
    /// `posix-minimal-basic`
    PosixMinimalBasic,
}

/// Names, in the order in which GNU find lists them.
const NAMES: &[(&str, Dialect)] = &[
    ("findutils-default", Dialect::Findutils),
    ("ed", Dialect::PosixBasic),
    ("emacs", Dialect::Emacs),
    ("gnu-awk", Dialect::GnuAwk),
    ("grep", Dialect::Grep),
    ("posix-awk", Dialect::PosixAwk),
    ("awk", Dialect::Awk),
    ("posix-basic", Dialect::PosixBasic),
    ("posix-egrep", Dialect::Egrep),
    ("egrep", Dialect::Egrep),
    ("posix-extended", Dialect::PosixExtended),
    ("posix-minimal-basic", Dialect::PosixMinimalBasic),
    ("sed", Dialect::PosixBasic),
];

impl Dialect {
    /// Returns the dialect with this name.
    pub fn parse(name: &str) -> Option<Dialect> {
        let row = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(row.1)
    }

    /// Returns every name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Returns the dialect's rules.
    pub(super) fn syntax(self) -> Syntax {
        match self {
            Dialect::Emacs => Syntax::EMACS,
            Dialect::Findutils => Syntax::FINDUTILS,
            Dialect::GnuAwk => Syntax::GNU_AWK,
            Dialect::Grep => Syntax::GREP,
            Dialect::PosixAwk => Syntax::POSIX_AWK,
            Dialect::Awk => Syntax::AWK,
            Dialect::PosixBasic => Syntax::POSIX_BASIC,
            Dialect::Egrep => Syntax::EGREP,
            Dialect::PosixExtended => Syntax::POSIX_EXTENDED,
            Dialect::PosixMinimalBasic => Syntax::POSIX_MINIMAL_BASIC,
        }
    }
}
