//! The rules in which dialects differ: the GNU C library's syntax bits
//! (`<regex.h>`, "Regular Expression Syntaxes" in its manual), under names of
//! our own. The bit numbers are the library's, since it receives them for
//! patterns that it matches itself.

use trawl_text::glob::Case;

/// The rules of a dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syntax(u32);

/// One rule, as a bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule(u32);

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        $($(#[$doc])* pub(super) const $name: Rule = Rule(1 << $bit);)*
    };
}

rules! {
    /// A backslash escapes within brackets.
    ESCAPE_IN_BRACKETS = 0;
    /// `\+` and `\?` are repetitions, `+` and `?` are not.
    BACKSLASH_PLUS = 1;
    /// `[:alpha:]` is a character class.
    CLASSES = 2;
    /// `^` and `$` are anchors everywhere.
    ANCHORS_ANYWHERE = 3;
    /// A repetition with nothing before it is ignored.
    REPEATS_ANYWHERE = 4;
    /// A repetition with nothing before it is an error.
    NO_STRAY_REPEATS = 5;
    /// `.` matches a newline.
    DOT_NEWLINE = 6;
    /// Braces are repetitions.
    INTERVALS = 9;
    /// Alternatives, `+` and `?` do not exist.
    LIMITED = 10;
    /// A newline separates alternatives.
    NEWLINE_IS_OR = 11;
    /// `{` begins a repetition, not `\{`.
    PLAIN_BRACES = 12;
    /// `(` begins a group, not `\(`.
    PLAIN_GROUPS = 13;
    /// Back-references do not exist.
    NO_REFERENCES = 14;
    /// `|` separates alternatives, not `\|`.
    PLAIN_OR = 15;
    /// A range whose end precedes its start is an error.
    NO_REVERSED_RANGES = 16;
    /// A stray `)` is a literal.
    STRAY_CLOSE = 17;
    /// `\w`, `\<` and other GNU operators do not exist.
    NO_GNU = 19;
    /// A brace that begins no valid repetition is a literal.
    STRAY_BRACES = 21;
    /// Stray repetitions in braces are errors, and so is `**`.
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

    /// Returns the bits for the C library's matcher.
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
