//! Questions about entries: `find`, `locate`, `stat`, `ls`, `sources`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Arguments, Place};
use crate::expression;
use crate::rows::Form;
use crate::words::{Line, Question, Refused};

/// Best matches of a fuzzy search if the client does not say how many.
const FUZZY: u32 = 100;

/// Which entries are selected: the arguments of `find`, and of other tools that select files.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Selection {
    /// Pattern that the name matches, with * ? and [...], such as *.c.
    #[serde(default)]
    name: Option<String>,
    /// Whether the pattern ignores the case of letters.
    #[serde(default)]
    ignore_case: bool,
    /// Types, joined by commas: f (file), d (directory), l (link), p, s, b, c.
    #[serde(default)]
    types: Option<String>,
    /// Least size in bytes.
    #[serde(default)]
    min_size: Option<u64>,
    /// Greatest size in bytes.
    #[serde(default)]
    max_size: Option<u64>,
    /// Last modified after this date, as date(1) reads it, such as "2026-03-01" or "2 weeks ago".
    #[serde(default)]
    modified_after: Option<String>,
    /// Last modified at this date or before.
    #[serde(default)]
    modified_before: Option<String>,
    /// Name or number of the owner.
    #[serde(default)]
    owner: Option<String>,
    /// Words of the content, such as "ssd (flash OR nvme) NOT tape".
    #[serde(default)]
    keyword: Option<String>,
    /// Most levels below the paths.
    #[serde(default)]
    max_depth: Option<u32>,
    /// Further tests and operators of find, one word each, such as ["-empty", "-o", "-perm", "-4000"].
    /// Actions are refused.
    #[serde(default)]
    expression: Vec<String>,
}

impl Selection {
    /// Adds the words of find.
    pub(super) fn add(&self, line: &mut Line) -> Result<(), Refused> {
        expression::check(&self.expression)?;
        let named = if self.ignore_case { "-iname" } else { "-name" };
        let bytes = |number: u64| format!("{number}c");
        let above = self.min_size.filter(|least| *least > 0);
        let above = above.map(|least| format!("+{}", bytes(least - 1)));
        let below = self
            .max_size
            .map(|most| format!("-{}", bytes(most.saturating_add(1))));
        line.test("-maxdepth", self.max_depth)
            .test("-type", self.types.as_deref())
            .test(named, self.name.as_deref())
            .test("-size", above)
            .test("-size", below)
            .test("-user", self.owner.as_deref())
            .test("-newermt", self.modified_after.as_deref());
        if let Some(date) = &self.modified_before {
            line.words(["!".into()]).test("-newermt", Some(date));
        }
        line.test("-keyword", self.keyword.as_deref());
        if !self.expression.is_empty() {
            let words = self.expression.iter().map(Into::into);
            line.words(["(".into()]).words(words).words([")".into()]);
        }
        Ok(())
    }
}

/// Arguments of `find`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Search {
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    selection: Selection,
    /// Answer from the newest snapshot begun by this date, a snapshot's id, latest, or -N.
    #[serde(default)]
    at: Option<String>,
}

impl Arguments for Search {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["find", "--json", "--status"]);
        line.value("--at", self.at.as_deref());
        self.place.add(&mut line)?;
        self.selection.add(&mut line)?;
        line.finish(Form::Objects)
    }
}

/// Arguments of `locate`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Locate {
    /// Texts or patterns that all match: a text without * ? and [...] matches anywhere.
    patterns: Vec<String>,
    /// Whether the patterns ignore the case of letters.
    #[serde(default)]
    ignore_case: bool,
    /// Whether the patterns match names only, not whole paths.
    #[serde(default)]
    names_only: bool,
    /// Whether the letters of the one pattern may have anything between them; the best path comes
    /// first.
    #[serde(default)]
    fuzzy: bool,
    /// Absolute paths of directories: only what is below them.
    #[serde(default)]
    below: Vec<String>,
    /// Most rows of one answer (default: 100); a cursor continues it.
    #[serde(default)]
    limit: Option<u32>,
}

impl Arguments for Locate {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["locate", "--json", "--status"]);
        line.option("--ignore-case", self.ignore_case)
            .option("--basename", self.names_only)
            .option("--fuzzy", self.fuzzy)
            .rows(self.limit);
        if self.fuzzy {
            line.value("--limit", Some(self.limit.unwrap_or(FUZZY)));
        }
        if !self.below.is_empty() {
            for path in crate::words::paths(&self.below, &[])? {
                // It is absolute, and so the value of the option before it.
                line.option("--below", true).words([path]);
            }
        }
        let patterns = self.patterns.iter().map(Into::into);
        line.end_of_options().words(patterns);
        line.finish(Form::Matches)
    }
}

/// Arguments of `stat`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Details {
    #[serde(flatten)]
    place: Place,
    /// Whether the targets of symbolic links are shown instead of the links.
    #[serde(default)]
    follow: bool,
    /// Answer from the newest snapshot begun by this date, a snapshot's id, latest, or -N.
    #[serde(default)]
    at: Option<String>,
}

impl Arguments for Details {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["stat", "--json", "--status"]);
        line.option("--dereference", self.follow)
            .value("--at", self.at.as_deref())
            .end_of_options();
        self.place.add(&mut line)?;
        line.finish(Form::Objects)
    }
}

/// Arguments of `ls`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct List {
    #[serde(flatten)]
    place: Place,
    /// Answer from the newest snapshot begun by this date, a snapshot's id, latest, or -N.
    #[serde(default)]
    at: Option<String>,
}

impl Arguments for List {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["ls", "--json", "--status", "-A"]);
        line.value("--at", self.at.as_deref()).end_of_options();
        self.place.add(&mut line)?;
        line.finish(Form::Objects)
    }
}

/// Arguments of `sources`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Sources {
    /// Whether every snapshot of each tree is listed.
    #[serde(default)]
    snapshots: bool,
    /// Most rows of one answer (default: 100); a cursor continues it.
    #[serde(default)]
    limit: Option<u32>,
}

impl Arguments for Sources {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["sources", "--json"]);
        line.option("--snapshots", self.snapshots).rows(self.limit);
        line.finish(Form::Objects)
    }
}
