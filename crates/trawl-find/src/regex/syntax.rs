//! The rules in which dialects differ: the GNU C library's syntax bits
//! (regex(7), "Regular Expression Syntaxes" of its manual), under names of
//! our own.

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
    INTERVALS = 7;
    /// No alternatives, `+` or `?`.
    LIMITED = 8;
    /// A newline separates alternatives.
    NEWLINE_IS_OR = 9;
    /// `{`, not `\{`.
    PLAIN_BRACES = 10;
    /// `(`, not `\(`.
    PLAIN_GROUPS = 11;
    /// No back-references.
    NO_REFERENCES = 12;
    /// `|`, not `\|`.
    PLAIN_OR = 13;
    /// A range that runs backwards is an error.
    NO_REVERSED_RANGES = 14;
    /// A stray `)` is itself.
    STRAY_CLOSE = 15;
    /// No `\w`, `\<` and so on.
    NO_GNU = 16;
    /// A brace that begins no repetition is itself.
    STRAY_BRACES = 17;
    /// Stray repetitions in braces are errors, and `**` is, too.
    NO_STRAY_INTERVALS = 18;
    /// `[^x]` does not match a newline.
    NEGATION_NO_NEWLINE = 19;
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
