//! Questions about space: `du`, `top`, `stats`, `growth`, `quota`, `duplicates`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::trees::Selection;
use super::{Arguments, Place};
use crate::rows::Form;
use crate::words::{Line, Question, Refused};

/// Rows of a ranking if the client does not say how many.
const RANKS: u32 = 100;

/// Arguments of `du`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Size {
    #[serde(flatten)]
    place: Place,
    /// Levels below the paths that have rows of their own (default: 0, a row for each path).
    #[serde(default)]
    max_depth: u32,
    /// Whether files have rows, too, besides directories.
    #[serde(default)]
    files: bool,
    /// Answer from the newest snapshot begun by this date, a snapshot's id, latest, or -N.
    #[serde(default)]
    at: Option<String>,
}

impl Arguments for Size {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["du", "--json", "--status"]);
        line.value("--max-depth", Some(self.max_depth))
            .option("--all", self.files)
            .value("--at", self.at.as_deref())
            .end_of_options();
        self.place.add(&mut line)?;
        line.finish(Form::Objects)
    }
}

/// The entries to rank, and their order.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Subject {
    /// Files, by size.
    #[default]
    Files,
    /// Directories, with everything below them.
    Directories,
    /// Directories, by the number of their own entries.
    Fullest,
    /// Files that were changed longest ago.
    Oldest,
    /// Files that were changed last.
    Newest,
    /// Files that were not read for longest.
    LeastRecentlyRead,
    /// Owners.
    Owners,
    /// Owning groups.
    Groups,
    /// Extensions of files.
    Extensions,
    /// Projects.
    Projects,
}

impl Subject {
    fn option(self) -> &'static str {
        match self {
            Subject::Files => "--files",
            Subject::Directories => "--dirs",
            Subject::Fullest => "--fullest",
            Subject::Oldest => "--oldest=mtime",
            Subject::Newest => "--newest=mtime",
            Subject::LeastRecentlyRead => "--oldest=atime",
            Subject::Owners => "--owners",
            Subject::Groups => "--groups",
            Subject::Extensions => "--extensions",
            Subject::Projects => "--projects",
        }
    }
}

/// Arguments of `top`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Top {
    #[serde(flatten)]
    place: Place,
    /// The entries to rank, and their order.
    #[serde(default)]
    subject: Subject,
    /// Whether the number of entries counts, instead of space.
    #[serde(default)]
    by_entries: bool,
    /// Whether lengths count, as in ls, instead of allocated space.
    #[serde(default)]
    apparent_size: bool,
    #[serde(flatten)]
    selection: Selection,
    /// Answer from the newest snapshot begun by this date, a snapshot's id, latest, or -N.
    #[serde(default)]
    at: Option<String>,
}

impl Arguments for Top {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["top", "--json", "--status"]);
        let by = if self.by_entries { "entries" } else { "space" };
        line.option(self.subject.option(), true)
            .value("--by", Some(by))
            .option("--apparent-size", self.apparent_size)
            .value("--limit", Some(self.place.limit.unwrap_or(RANKS)))
            .value("--at", self.at.as_deref());
        self.place.add(&mut line)?;
        selected(&mut line, &self.selection)?;
        line.finish(Form::Objects)
    }
}

/// Adds the words of find after `--`, if there are any.
fn selected(line: &mut Line, selection: &Selection) -> Result<(), Refused> {
    let mut words = Line::default();
    selection.add(&mut words)?;
    let words = words.finish(Form::Objects)?.words;
    if !words.is_empty() {
        line.end_of_options().words(words);
    }
    Ok(())
}

/// Kind by which entries are counted.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    Type,
    Extension,
    Size,
    Age,
    Accessed,
    Changed,
    Owner,
    Group,
    Project,
    NameLength,
    Depth,
    Fullness,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Type => "type",
            Kind::Extension => "extension",
            Kind::Size => "size",
            Kind::Age => "age",
            Kind::Accessed => "accessed",
            Kind::Changed => "changed",
            Kind::Owner => "owner",
            Kind::Group => "group",
            Kind::Project => "project",
            Kind::NameLength => "name-length",
            Kind::Depth => "depth",
            Kind::Fullness => "fullness",
        }
    }
}

/// Arguments of `stats`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Stats {
    #[serde(flatten)]
    place: Place,
    /// Kind by which entries are counted.
    #[serde(default)]
    by: Kind,
    #[serde(flatten)]
    selection: Selection,
    /// Answer from the newest snapshot begun by this date, a snapshot's id, latest, or -N.
    #[serde(default)]
    at: Option<String>,
}

impl Arguments for Stats {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["stats", "--json", "--status"]);
        line.value("--by", Some(self.by.word()))
            .value("--limit", Some(self.place.limit.unwrap_or(RANKS)))
            .value("--at", self.at.as_deref());
        self.place.add(&mut line)?;
        selected(&mut line, &self.selection)?;
        line.finish(Form::Objects)
    }
}

/// Kind of key by which growth is measured.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Key {
    /// Everything together.
    #[default]
    Total,
    /// Each directory directly below the path.
    Directory,
    /// Each owner.
    Owner,
    /// Each extension of files.
    Extension,
}

/// Arguments of `growth`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Growth {
    #[serde(flatten)]
    place: Place,
    /// The kinds that have rows of their own.
    #[serde(default)]
    by: Key,
}

impl Arguments for Growth {
    fn question(&self) -> Result<Question, Refused> {
        let by = match self.by {
            Key::Total => "total",
            Key::Directory => "dir",
            Key::Owner => "owner",
            Key::Extension => "ext",
        };
        let mut line = Line::of(&["growth", "--json", "--status"]);
        line.value("--by", Some(by)).end_of_options();
        self.place.add(&mut line)?;
        line.finish(Form::Objects)
    }
}

/// Arguments of `quota`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Quota {
    #[serde(flatten)]
    place: Place,
}

impl Arguments for Quota {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["quota", "--json"]);
        line.end_of_options();
        match self.place.is_empty() {
            // Those of all indexed trees.
            true => line.rows(self.place.limit),
            false => {
                self.place.add(&mut line)?;
                &mut line
            }
        };
        line.finish(Form::Objects)
    }
}

/// Arguments of `duplicates`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Duplicates {
    #[serde(flatten)]
    place: Place,
    /// Whether names must be the same, too.
    #[serde(default)]
    same_name: bool,
    /// Whether files are read, and only those with the same content shown.
    #[serde(default)]
    verify: bool,
    /// Least size in bytes.
    #[serde(default)]
    min_size: Option<u64>,
    /// Answer from the newest snapshot begun by this date, a snapshot's id, latest, or -N.
    #[serde(default)]
    at: Option<String>,
}

impl Arguments for Duplicates {
    fn question(&self) -> Result<Question, Refused> {
        let mut line = Line::of(&["duplicates", "--json", "--status"]);
        line.option("--name", self.same_name)
            .option("--verify", self.verify)
            .value("--min-size", self.min_size)
            .value("--at", self.at.as_deref())
            .end_of_options();
        self.place.add_one(&mut line)?;
        line.finish(Form::Objects)
    }
}
