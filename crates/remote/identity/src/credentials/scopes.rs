//! What a session or token may be used for.

use std::fmt;
use std::str::FromStr;

/// A class of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Questions about names and attributes of files.
    Names,
    /// Questions that read contents: `grep`, downloads.
    Contents,
    /// SQL.
    Sql,
}

impl Scope {
    /// All scopes, in the order in which they are printed.
    pub const ALL: [Scope; 3] = [Scope::Names, Scope::Contents, Scope::Sql];

    /// Returns the name, such as `names`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Names => "names",
            Scope::Contents => "contents",
            Scope::Sql => "sql",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of scopes, written as `names,contents,sql`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scopes(u8);

impl Scopes {
    /// Returns the set of all scopes.
    #[must_use]
    pub fn all() -> Scopes {
        Scope::ALL.into_iter().collect()
    }

    /// Returns whether the set has this scope.
    #[must_use]
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Returns whether the set has no scope.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Scopes {
        Scopes(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for scope in Scope::ALL {
            if self.contains(scope) {
                write!(f, "{separator}{}", scope.name())?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl FromStr for Scopes {
    type Err = String;

    /// Parses names that are separated by commas; at least one.
    fn from_str(text: &str) -> Result<Scopes, String> {
        text.split(',')
            .map(|name| {
                let named = Scope::ALL.into_iter().find(|scope| scope.name() == name);
                named.ok_or_else(|| {
                    format!(
                        "there is no scope \"{}\": give names, contents or sql, separated by commas",
                        name.escape_default()
                    )
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_reads_back() {
        for bits in 1..8 {
            let scopes = Scopes(bits);
            assert_eq!(scopes.to_string().parse(), Ok(scopes));
        }
        assert_eq!(Scopes::all().to_string(), "names,contents,sql");
        assert_eq!(
            "sql,names".parse::<Scopes>().unwrap().to_string(),
            "names,sql"
        );
    }

    #[test]
    fn a_set_has_what_was_named() {
        let scopes: Scopes = "names,sql".parse().unwrap();
        assert!(scopes.contains(Scope::Names) && scopes.contains(Scope::Sql));
        assert!(!scopes.contains(Scope::Contents));
    }

    #[test]
    fn other_words_are_refused() {
        for bad in ["", ",", "names,", "Names", " names", "all", "names sql"] {
            assert!(bad.parse::<Scopes>().is_err(), "{bad}");
        }
    }
}
