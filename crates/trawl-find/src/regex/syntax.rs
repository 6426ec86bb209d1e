//! The rules in which dialects differ: the GNU C library's syntax bits
//! (`<regex.h>`, "Regular Expression Syntaxes" of its manual), under names of
//! our own. The numbers are the library's, which is told them for patterns
//! that it matches itself.

use trawl_text::glob::Case;

/// Rules of a dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syntax(u32);

/// One rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule(u32);

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        $($(#[$doc])* pub(super) const $name: Rule = Rule(1 << $bit);)*
    };
}

rules! {
    /// A backslash quotes within brackets.
    ESCAPE_IN_BRACKETS = 0;
    /// `\+` and `\?` repeat, not `+` and `?`.
    BACKSLASH_PLUS = 1;
    /// `[:alpha:]` is a class.
    CLASSES = 2;
    /// `^` and `$` are anchors everywhere.
    ANCHORS_ANYWHERE = 3;
    /// A repetition of nothing is passed over.
    REPEATS_ANYWHERE = 4;
    /// A repetition of nothing is an error.
    NO_STRAY_REPEATS = 5;
    /// `.` matches a newline.
    DOT_NEWLINE = 6;
    /// Repetitions in braces.
    INTERVALS = 9;
    /// No alternatives, `+` or `?`.
    LIMITED = 10;
    /// A newline separates alternatives.
    NEWLINE_IS_OR = 11;
    /// `{`, not `\{`.
    PLAIN_BRACES = 12;
    /// `(`, not `\(`.
    PLAIN_GROUPS = 13;
    /// No back-references.
    NO_REFERENCES = 14;
    /// `|`, not `\|`.
    PLAIN_OR = 15;
    /// A range that runs backwards is an error.
    NO_REVERSED_RANGES = 16;
    /// A stray `)` is itself.
    STRAY_CLOSE = 17;
    /// No `\w`, `\<` and so on.
    NO_GNU = 19;
    /// A brace that begins no repetition is itself.
    STRAY_BRACES = 21;
    /// Stray repetitions in braces are errors, and `**` is, too.
    NO_STRAY_INTERVALS = 24;
    /// `[^x]` does not match a newline.
    NEGATION_NO_NEWLINE = 8;
}

const fn all(rules: &[Rule]) -> Syntax {
    let (mut bits, mut at) = (0, 0);
    while at < rules.len() {
        bits |= rules[at].0;
        at += 1;
    }
    Syntax(bits)
}

const COMMON: Syntax = all(&[CLASSES, DOT_NEWLINE, INTERVALS, NO_REVERSED_RANGES]);

impl Syntax {
    pub(super) const EMACS: Syntax = Syntax(0);
    pub(super) const FINDUTILS: Syntax = all(&[DOT_NEWLINE]);
    pub(super) const POSIX_BASIC: Syntax = COMMON.with(&[BACKSLASH_PLUS, NO_STRAY_INTERVALS]);
    pub(super) const POSIX_MINIMAL_BASIC: Syntax = COMMON.with(&[LIMITED]);
    pub(super) const POSIX_EXTENDED: Syntax = COMMON.with(&[
        ANCHORS_ANYWHERE,
        REPEATS_ANYWHERE,
        PLAIN_BRACES,
        PLAIN_GROUPS,
        PLAIN_OR,
        NO_STRAY_REPEATS,
        STRAY_CLOSE,
    ]);
    pub(super) const GREP: Syntax = Self::POSIX_BASIC
        .with(&[NEWLINE_IS_OR])
        .without(&[NO_STRAY_INTERVALS]);
    pub(super) const EGREP: Syntax = Self::POSIX_EXTENDED
        .with(&[STRAY_BRACES, NEWLINE_IS_OR])
        .without(&[NO_STRAY_REPEATS]);
    pub(super) const POSIX_AWK: Syntax =
        Self::POSIX_EXTENDED.with(&[ESCAPE_IN_BRACKETS, NO_GNU, STRAY_BRACES]);
    pub(super) const GNU_AWK: Syntax = Self::POSIX_EXTENDED
        .with(&[ESCAPE_IN_BRACKETS, STRAY_BRACES])
        .without(&[REPEATS_ANYWHERE, NO_STRAY_REPEATS]);
    pub(super) const AWK: Syntax = all(&[
        ESCAPE_IN_BRACKETS,
        PLAIN_GROUPS,
        NO_REFERENCES,
        PLAIN_OR,
        NO_REVERSED_RANGES,
        DOT_NEWLINE,
        ANCHORS_ANYWHERE,
        CLASSES,
        STRAY_CLOSE,
        NO_GNU,
    ]);

    /// The bits that the C library's matcher takes.
    pub(super) fn library(self, case: Case) -> u32 {
        /// `RE_ICASE`
        const EITHER_CASE: u32 = 1 << 22;
        self.0 | if case == Case::Folded { EITHER_CASE } else { 0 }
    }

    pub(super) const fn has(self, rule: Rule) -> bool {
        self.0 & rule.0 != 0
    }

    const fn with(self, rules: &[Rule]) -> Syntax {
        Syntax(self.0 | all(rules).0)
    }

    const fn without(self, rules: &[Rule]) -> Syntax {
        Syntax(self.0 & !all(rules).0)
    }
}
