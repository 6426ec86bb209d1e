//! What ends a search before it begins, in find's words.

/// A command line that cannot be read, and the warnings that came before the mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Refusal {
    /// The mistake.
    pub error: FindError,
    /// Warnings to print before it, without the program's name.
    pub warnings: Vec<String>,
}

impl From<Refusal> for FindError {
    fn from(refusal: Refusal) -> FindError {
        refusal.error
    }
}

/// Why arguments make no program. Every one means exit code 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// A word that begins as a predicate and is none.
    #[error("unknown predicate `{name}'")]
    UnknownPredicate {
        /// As it was spelled.
        name: String,
    },
    /// A predicate at the end of the words lacks its argument.
    #[error("missing argument to `{name}'")]
    MissingArgument {
        /// As it was spelled.
        name: String,
    },
    /// An argument that the predicate cannot use.
    #[error("invalid argument `{value}' to `{name}'")]
    InvalidArgument {
        /// The predicate as it was spelled.
        name: String,
        /// The argument.
        value: String,
    },
    /// An argument that cannot be used, in the words of this predicate.
    #[error("{reason}")]
    BadArgument {
        /// The predicate.
        name: &'static str,
        /// What is wrong with its argument.
        reason: String,
    },
    /// A regular expression that is none, or cannot be matched.
    #[error("failed to compile regular expression '{pattern}': {reason}")]
    Regex {
        /// The expression.
        pattern: String,
        /// Why not.
        reason: String,
    },
    /// Operators and parentheses that do not fit together.
    #[error("{reason}")]
    Grammar {
        /// What does not fit where.
        reason: String,
    },
    /// A path behind the first predicate.
    #[error("paths must precede expression: `{word}'{}", hint(.after))]
    PathAfterExpression {
        /// The path.
        word: String,
        /// The predicate before it, if a shell may have expanded its pattern.
        after: Option<String>,
    },
}

fn hint(after: &Option<String>) -> String {
    match after {
        Some(name) => format!("\nfind: possible unquoted pattern after predicate `{name}'?"),
        None => String::new(),
    }
}

impl FindError {
    pub(crate) fn bad(name: &'static str, reason: impl Into<String>) -> FindError {
        FindError::BadArgument {
            name,
            reason: reason.into(),
        }
    }
}
