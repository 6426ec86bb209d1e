//! Questions about several snapshots: `diff`, `history`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Arguments, Place};
use crate::rows::Form;
use crate::words::{Line, Question, Refused};

/// Kind of key by which differences are counted.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Summary {
    /// The directory, a number of levels below the path.
    Directory,
    /// The owner.
    Owner,
    /// The extension of the file.
    Extension,
}

/// Arguments of `diff`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Diff {
    #[serde(flatten)]
    place: Place,
    /// The earlier time: a date as date(1) reads it, a snapshot's id, or -N for the snapshot N before
    /// the latest (default: -1).
    #[serde(default)]
    from: Option<String>,
    /// The later time (default: latest).
    #[serde(default)]
    to: Option<String>,
    /// Kinds of differences, joined by commas: created, deleted, changed, moved (default: all).
    #[serde(default)]
    only: Option<String>,
    /// Count the differences by this key instead of listing them.
    #[serde(default)]
    summary: Option<Summary>,
    /// Levels of the directories by which differences are counted (default: 1).
    #[serde(default)]
    depth: Option<u32>,
}

impl Arguments for Diff {
    fn question(&self) -> Result<Question, Refused> {
        let summary = self.summary.map(|summary| match summary {
            Summary::Directory => "dir",
            Summary::Owner => "owner",
            Summary::Extension => "ext",
        });
        let mut line = Line::of(&["diff", "--json", "--status"]);
        line.value("--only", self.only.as_deref())
            .value("--summary", summary)
            .value("--depth", self.depth)
            .end_of_options()
            .words([
                self.from.as_deref().unwrap_or("-1").into(),
                self.to.as_deref().unwrap_or("latest").into(),
            ]);
        self.place.add_one(&mut line)?;
        line.finish(Form::Objects)
    }
}

/// Arguments of `history`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct History {
    #[serde(flatten)]
    place: Place,
    /// Whether there is a row for every snapshot, even if nothing changed.
    #[serde(default)]
    all: bool,
}

impl Arguments for History {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["history", "--json", "--status"]);
        line.option("--all", self.all).end_of_options();
        self.place.add(&mut line)?;
        line.finish(Form::Objects)
    }
}
