//! Errors that end a search before it begins, with GNU find's messages.

/// A command line that cannot be parsed, with the warnings that precede the
/// error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Refusal {
    /// The error.
    pub error: FindError,
    /// Warnings to print before it, without the program's name.
    pub warnings: Vec<String>,
}

impl From<Refusal> for FindError {
    fn from(refusal: Refusal) -> FindError {
        refusal.error
    }
}

/// Why the arguments are not a valid program. Every error means exit code 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// A word that looks like a predicate but is not one.
    #[error("unknown predicate `{name}'")]
    UnknownPredicate {
        /// As it was spelled.
        name: String,
    },
    /// A predicate at the end of the command line lacks its argument.
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
    /// An argument that cannot be used, with a message of this predicate.
    #[error("{reason}")]
    BadArgument {
        /// The predicate.
        name: &'static str,
        /// Why its argument is invalid.
        reason: String,
    },
    /// A regular expression that is invalid, or cannot be matched.
    #[error("failed to compile regular expression '{pattern}': {reason}")]
    Regex {
        /// The expression.
        pattern: String,
        /// Why it is refused.
        reason: String,
    },
    /// Operators and parentheses that do not form an expression.
    #[error("{reason}")]
    Grammar {
        /// The mistake.
        reason: String,
    },
    /// A path after the first predicate.
    #[error("paths must precede expression: `{word}'{}", hint(.after))]
    PathAfterExpression {
        /// The path.
        word: String,
        /// The predicate before it, if the shell may have expanded its pattern.
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
