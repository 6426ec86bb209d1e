//! Options of a search: patterns, and the form of the output.

/// How letters are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Exactly.
    #[default]
    Sensitive,
    /// Upper and lower case are equal.
    Insensitive,
    /// As `Insensitive`, unless the pattern has an upper-case letter.
    Smart,
}

/// Which part of a line must match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Any part.
    #[default]
    Anywhere,
    /// A part between word boundaries.
    Word,
    /// The whole line.
    Line,
}

/// How patterns are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// As regular expressions of the crate `regex`.
    #[default]
    Regex,
    /// As fixed strings.
    Fixed,
}

/// The patterns: a line matches if any of them does.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    /// The patterns. None of them: nothing matches.
    pub texts: Vec<String>,
    /// How they are read.
    pub syntax: Syntax,
    /// How letters are compared.
    pub case: Case,
    /// Which part of a line must match.
    pub extent: Extent,
}

/// Which lines are selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// Those that match.
    #[default]
    Matching,
    /// Those that do not match.
    Others,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// A newline.
    #[default]
    Newline,
    /// A NUL byte.
    Nul,
}

/// What happens with a member that holds a NUL byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binary {
    /// It is searched, and a message stands in the place of its lines.
    #[default]
    Message,
    /// Its lines are printed as text.
    Text,
    /// It counts as a member without a match.
    Skip,
}

/// Part of a member that is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Print {
    /// Its selected lines.
    #[default]
    Lines,
    /// The matching parts of its selected lines.
    Parts,
    /// The number of its selected lines.
    Count,
    /// Its name if a line is selected.
    NamesWith,
    /// Its name if no line is selected.
    NamesWithout,
    /// Nothing: the search ends at the first selected line.
    Nothing,
    /// JSON messages, as ripgrep prints them.
    Json,
}

/// Whether something is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// It is not shown.
    #[default]
    No,
    /// It is shown.
    Yes,
}

impl Shown {
    /// Returns `Yes` if the condition holds.
    pub fn if_true(condition: bool) -> Shown {
        if condition { Shown::Yes } else { Shown::No }
    }

    pub(crate) fn is_yes(self) -> bool {
        self == Shown::Yes
    }
}

/// Patterns, and the form of the output.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The patterns.
    pub patterns: Patterns,
    /// Which lines are selected.
    pub select: Select,
    /// What ends a line.
    pub ending: Ending,
    /// What happens with binary members.
    pub binary: Binary,
    /// Encoding of all members; `None` means that a byte order mark decides.
    pub encoding: Option<String>,
    /// Part of a member that is printed.
    pub print: Print,
    /// Number of lines printed before a selected line.
    pub before: usize,
    /// Number of lines printed after a selected line.
    pub after: usize,
    /// Maximum number of selected lines of a member.
    pub max_count: Option<u64>,
    /// Names of members.
    pub names: Shown,
    /// The name as a heading above the lines instead of at the beginning of each.
    pub heading: Shown,
    /// Line numbers.
    pub line_numbers: Shown,
    /// Columns of matches.
    pub columns: Shown,
    /// Byte offsets.
    pub offsets: Shown,
    /// Colours.
    pub colours: Shown,
    /// A NUL byte after names instead of a colon or newline.
    pub nul_names: Shown,
    /// Lines without white space at their beginning.
    pub trimmed: Shown,
    /// Number of threads; 0 means one for each processor.
    pub threads: usize,
}
