//! Rules, as their file says them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::Places;
use crate::error::GroupsError;
pub(crate) use crate::patterns::Names;

/// The rules that are shipped.
const DEFAULT: &str = include_str!("default.toml");
/// Name of the rule about files that the user moved; no rule of a file has it.
pub(crate) const MOVED: &str = "moved";
/// Name of the rule about files that no rule of the file claims.
pub(crate) const REST: &str = "rest";
/// Longest pause within an event that can be asked for, in hours: a year.
const GAP_HOURS_MAX: u32 = 24 * 366;

/// Rules in the order in which they are tried.
#[derive(Debug)]
pub struct Rules {
    pub(crate) rules: Vec<Rule>,
    text: String,
    path: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Rule>,
}

/// A rule.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Rule {
    /// The files of packages.
    Packages(PackagesRule),
    /// The files of projects.
    Projects(ProjectsRule),
    /// Tracks, by directory.
    Albums(AlbumsRule),
    /// Photos and videos, by directory and time.
    Events(EventsRule),
    /// Files by directory.
    Directories(DirectoriesRule),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PackagesRule {
    pub(crate) name: String,
    pub(crate) admin: PathBuf,
    #[serde(default = "root")]
    pub(crate) root: PathBuf,
    #[serde(default)]
    pub(crate) skeletons: Vec<String>,
    #[serde(default)]
    pub(crate) except: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectsRule {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) repositories: Vec<String>,
    #[serde(default)]
    pub(crate) markers: Vec<String>,
    #[serde(default)]
    pub(crate) never: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AlbumsRule {
    pub(crate) name: String,
    pub(crate) files: Vec<String>,
    #[serde(default)]
    pub(crate) beside: Vec<String>,
    #[serde(default)]
    pub(crate) discs: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsRule {
    pub(crate) name: String,
    pub(crate) files: Vec<String>,
    #[serde(default)]
    pub(crate) beside: Vec<String>,
    pub(crate) gap_hours: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DirectoriesRule {
    pub(crate) name: String,
    /// Patterns of the files' names; all files without any.
    #[serde(default)]
    pub(crate) files: Vec<String>,
}

fn root() -> PathBuf {
    "/".into()
}

impl Rule {
    fn name(&self) -> &str {
        match self {
            Rule::Packages(rule) => &rule.name,
            Rule::Projects(rule) => &rule.name,
            Rule::Albums(rule) => &rule.name,
            Rule::Events(rule) => &rule.name,
            Rule::Directories(rule) => &rule.name,
        }
    }

    /// Returns whether the rule claims every file, so that no later one is reached.
    pub(crate) fn is_of_all_files(&self) -> bool {
        matches!(self, Rule::Directories(rule) if rule.files.is_empty())
    }

    /// Returns what is wrong with the rule, if anything is.
    fn mistake(&self) -> Option<&'static str> {
        let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_.".contains(&c);
        let name = self.name();
        if name.is_empty() || !name.bytes().all(is_plain) {
            return Some("the name must consist of lower-case letters, digits, -, _ and .");
        }
        if name == MOVED {
            return Some("this name is for files that users move");
        }
        if name == REST {
            return Some("this name is for files that no rule claims");
        }
        match self {
            Rule::Packages(rule) if !rule.admin.is_absolute() || !rule.root.is_absolute() => {
                Some("admin and root must be absolute paths")
            }
            Rule::Projects(rule) if rule.never.iter().any(|path| !path.starts_with('/')) => {
                Some("paths in never must begin with a slash")
            }
            Rule::Events(rule) if rule.gap_hours == 0 || rule.gap_hours > GAP_HOURS_MAX => {
                Some("gap_hours must be from 1 to 8784")
            }
            _ => None,
        }
    }
}

impl Rules {
    /// Returns the rules in effect.
    ///
    /// # Errors
    /// If the file that counts cannot be read, or is not a file of rules.
    pub fn load(places: &Places) -> Result<Rules, GroupsError> {
        match places.rules()? {
            Some((path, text)) => Rules::parse(text, Some(path)),
            None => Rules::shipped(),
        }
    }

    /// Returns the rules that are shipped.
    ///
    /// # Errors
    /// Never, as a test checks.
    pub fn shipped() -> Result<Rules, GroupsError> {
        Rules::parse(DEFAULT.to_owned(), None)
    }

    /// Returns the rules of a text.
    ///
    /// # Errors
    /// If it is not a file of rules.
    pub fn parse(text: String, path: Option<PathBuf>) -> Result<Rules, GroupsError> {
        let invalid = |why: String| GroupsError::Invalid {
            path: path.clone().unwrap_or_else(|| "default.toml".into()),
            why,
        };
        let file: File = toml::from_str(&text)
            .map_err(|error| invalid(error.to_string().trim_end().to_owned()))?;
        if let Some(why) = mistake_in(&file.rule) {
            return Err(invalid(why));
        }
        Ok(Rules {
            rules: file.rule,
            text,
            path,
        })
    }

    /// Returns the names of all rules, those that are always in effect included.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.rules.iter().map(Rule::name);
        std::iter::once(MOVED).chain(names).chain([REST])
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the file; `None` for the rules that are shipped.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// Returns what is wrong with rules, if anything is.
fn mistake_in(rules: &[Rule]) -> Option<String> {
    let mut names = HashSet::new();
    let mut is_reached = true;
    for rule in rules {
        let name = rule.name();
        if !is_reached {
            let why = "an earlier rule claims every file, so that this one is never reached";
            return Some(format!("rule {name:?}: {why}"));
        }
        is_reached = !rule.is_of_all_files();
        if let Some(why) = rule.mistake() {
            return Some(format!("rule {name:?}: {why}"));
        }
        if !names.insert(name) {
            return Some(format!("two rules have the name {name:?}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_rules_are_those_of_the_paper() {
        let rules = Rules::shipped().unwrap();
        let names: Vec<&str> = rules.rules.iter().map(Rule::name).collect();
        // Table 4: Programs, Source codes, Music/Videos, Photos, Documents.
        let expected = ["packages", "projects", "albums", "events", "directories"];
        assert_eq!(names, expected);
    }

    #[test]
    fn mistakes_are_named() {
        let rule = "[[rule]]\nname = \"a\"\nkind = \"directories\"\n";
        for (text, why) in [
            (
                "[[rule]]\nname = \"a\"\nkind = \"planets\"\n".into(),
                "planets",
            ),
            (rule.replace("\"a\"", "\"A b\""), "lower-case"),
            (rule.replace("\"a\"", "\"moved\""), "users move"),
            (rule.replace("\"a\"", "\"rest\""), "no rule claims"),
            (rule.repeat(2), "never reached"),
            (format!("{rule}files = [\"*.md\"]\n{rule}"), "two rules"),
            (format!("{rule}colour = 1\n"), "colour"),
            (
                "[[rule]]\nname = \"e\"\nkind = \"events\"\nfiles = []\ngap_hours = 0\n".into(),
                "gap_hours",
            ),
            (
                "[[rule]]\nname = \"p\"\nkind = \"packages\"\nadmin = \"dpkg\"\n".into(),
                "absolute",
            ),
            (
                "[[rule]]\nname = \"p\"\nkind = \"projects\"\nnever = [\"home\"]\n".into(),
                "slash",
            ),
            (String::new(), ""),
        ] {
            match Rules::parse(text.clone(), Some("/rules".into())) {
                Ok(_) => assert_eq!(why, "", "{text}"),
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.starts_with("/rules: ") && said.contains(why), "{said}");
                    assert!(!why.is_empty(), "{said}");
                }
            }
        }
    }
}
