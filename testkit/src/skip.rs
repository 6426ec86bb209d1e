//! Reports that a test, or a part of it, could not run, with the reason.

use std::fmt;

/// A test or a part of one that this machine, user or file system does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The skipped test or part.
    pub what: String,
    /// The reason.
    pub because: String,
}

impl Skip {
    /// Makes a report.
    pub fn new(what: impl Into<String>, because: impl fmt::Display) -> Self {
        Self {
            what: what.into(),
            because: because.to_string(),
        }
    }

    /// Prints the line that readers of test logs look for.
    pub fn say(&self) {
        eprintln!("{self}");
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: skipped, because {}", self.what, self.because)
    }
}

/// True if this process runs as the superuser.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the reason why a test that needs the superuser cannot run, if so.
pub fn without_root(what: &str) -> Option<Skip> {
    (!is_root()).then(|| Skip::new(what, "it needs root"))
}

/// Returns the reason why a test that needs a program cannot run, if so.
pub fn without_program(what: &str, program: &str) -> Option<Skip> {
    let places = [
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
    ];
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&on_path).chain(places.iter().map(Into::into));
    let found = folders.any(|folder| folder.join(program).is_file());
    (!found).then(|| Skip::new(what, format_args!("{program} is not installed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_or_named() {
        assert_eq!(without_program("t", "sh"), None);
        let skip = without_program("t", "no-such-program").expect("it is not there");
        assert_eq!(
            skip.to_string(),
            "t: skipped, because no-such-program is not installed"
        );
    }
}
