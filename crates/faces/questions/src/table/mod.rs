//! The questions: one table, from which faces take their lists, the schemas of arguments, and the
//! command lines that arguments mean.
//!
//! A question that `trawl` answers is a type with [`Arguments`], in one of the modules, and one row of
//! [`QUESTIONS`]. Two others need no command: `more` continues an answer, and `read` reads a file.

mod contents;
mod sizes;
mod sql;
mod times;
mod trees;

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::words::{Line, Question, Refused};

/// An object of JSON.
pub type Object = Map<String, Value>;

/// Arguments that mean a command line.
pub trait Arguments: DeserializeOwned + JsonSchema {
    /// Returns the command line.
    ///
    /// # Errors
    /// Says which argument is refused.
    fn question(&self) -> Result<Question, Refused>;
}

/// How a question is answered.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// By a command line of `trawl`.
    Ask(fn(Value) -> Result<Question, Refused>),
    /// By the rest of an answer.
    More,
    /// By a part of a file.
    Read,
}

/// A question whose arguments have been read.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A command line of `trawl`.
    Ask(Question),
    /// The rest of an answer.
    More(More),
    /// A part of a file.
    Read(Read),
}

/// The schemas, in the order of [`QUESTIONS`]: each question needs its own to read its arguments.
static SCHEMAS: LazyLock<Vec<Object>> =
    LazyLock::new(|| QUESTIONS.iter().map(Named::make_schema).collect());

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Its name in the HTTP API: that of the command, where there is one.
    pub name: &'static str,
    /// Its name as a tool for assistants.
    pub tool: &'static str,
    /// Its title, for people.
    pub title: &'static str,
    /// What it answers.
    pub about: &'static str,
    /// How it is answered.
    pub action: Action,
    schema: fn() -> Value,
}

impl Named {
    const fn ask<A: Arguments>(
        [name, tool]: [&'static str; 2],
        title: &'static str,
        about: &'static str,
    ) -> Named {
        Named {
            name,
            tool,
            title,
            about,
            action: Action::Ask(asked::<A>),
            schema: schema_of::<A>,
        }
    }

    const fn other<A: JsonSchema>(
        [name, tool]: [&'static str; 2],
        title: &'static str,
        about: &'static str,
        action: Action,
    ) -> Named {
        Named {
            name,
            tool,
            title,
            about,
            action,
            schema: schema_of::<A>,
        }
    }

    /// Returns its place in [`QUESTIONS`].
    pub fn place(&self) -> usize {
        let place = QUESTIONS.iter().position(|known| known.name == self.name);
        // Every value is a row of the table.
        place.unwrap_or_default()
    }

    /// Returns the JSON schema of its arguments. Arguments that it does not name are refused.
    pub fn schema(&self) -> &'static Object {
        &SCHEMAS[self.place()]
    }

    fn make_schema(&self) -> Object {
        let mut schema = match (self.schema)() {
            Value::Object(schema) => schema,
            _ => Object::new(),
        };
        schema.remove("title");
        schema.insert("type".into(), "object".into());
        schema.insert("additionalProperties".into(), false.into());
        schema
    }

    /// Reads the arguments of the question.
    ///
    /// # Errors
    /// Names the first argument that the question does not have, or says what is wrong with one.
    pub fn ready(&self, arguments: Object) -> Result<Ready, Refused> {
        self.check(&arguments)?;
        let arguments = Value::Object(arguments);
        Ok(match self.action {
            Action::Ask(ask) => Ready::Ask(ask(arguments)?),
            Action::More => Ready::More(parsed(arguments)?),
            Action::Read => Ready::Read(parsed(arguments)?),
        })
    }

    fn check(&self, arguments: &Object) -> Result<(), Refused> {
        let known = self.schema().get("properties").and_then(Value::as_object);
        let names = || known.into_iter().flat_map(|known| known.keys());
        match arguments
            .keys()
            .find(|given| !names().any(|name| name == *given))
        {
            None => Ok(()),
            Some(name) => Err(Refused::Unknown {
                name: name.clone(),
                known: names().cloned().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

/// Returns the JSON schema of a type, as it is read.
fn schema_of<A: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<A>()
        .to_value()
}

/// The questions, in the order of the lists.
pub static QUESTIONS: &[Named] = &[
    Named::ask::<trees::Search>(
        ["find", "search"],
        "Search for files",
        "Finds files, directories and links by name, type, size, time, owner, words of their content or any test of find, in milliseconds from an index. Rows have the attributes of the entries. Same as `trawl find --json`.",
    ),
    Named::ask::<trees::Locate>(
        ["locate", "locate"],
        "Find entries by parts of their paths",
        "Finds entries whose paths contain all of some texts, or match patterns; with fuzzy, the paths that fit the letters of one text best. Only the indexed trees are searched. Same as `trawl locate --json`.",
    ),
    Named::ask::<trees::Details>(
        ["stat", "details"],
        "Show attributes of files",
        "Shows the attributes of some files: type, size, times, owner, permissions, link target, access control list. Same as `trawl stat --json`.",
    ),
    Named::ask::<trees::List>(
        ["ls", "list"],
        "List directories",
        "Lists the entries of directories with their attributes. Same as `trawl ls --json -A`.",
    ),
    Named::ask::<sizes::Size>(
        ["du", "size"],
        "Sum up sizes",
        "Sums up the space that directories take, with everything below them. Rows come after those of their sub-directories. Same as `trawl du --json`.",
    ),
    Named::ask::<sizes::Top>(
        ["top", "top"],
        "Rank by size, time or number",
        "Ranks what takes most space or has most entries: files, directories, owners, groups, extensions or projects; or the oldest and newest files. Same as `trawl top --json`.",
    ),
    Named::ask::<sizes::Stats>(
        ["stats", "stats"],
        "Count by kind",
        "Counts entries and bytes by type, extension, size, age, owner and other kinds. Same as `trawl stats --json`.",
    ),
    Named::ask::<sizes::Growth>(
        ["growth", "growth"],
        "Show growth over time",
        "Shows the size of trees in each snapshot that the index keeps, in total or by directory, owner or extension. Same as `trawl growth --json`.",
    ),
    Named::ask::<sizes::Quota>(
        ["quota", "quotas"],
        "Show quotas",
        "Shows what users, groups and projects use of file systems, and their limits, as the kernel has them now: the asker's own and those of their groups, or all for the superuser. A file system without quotas has no rows. Same as `trawl quota --json`.",
    ),
    Named::ask::<times::Diff>(
        ["diff", "changes"],
        "Show what changed",
        "Lists the entries below a path that were created, deleted, changed or moved between two snapshots of the index, or counts them. Same as `trawl diff --json`.",
    ),
    Named::ask::<times::History>(
        ["history", "history"],
        "Show a path in every snapshot",
        "Shows the attributes of paths in the snapshots that the index keeps, with what changed in each. Same as `trawl history --json`.",
    ),
    Named::ask::<sizes::Duplicates>(
        ["duplicates", "duplicates"],
        "Find duplicates",
        "Finds groups of files that may be duplicates, the largest first: of the same size, of the same size and name, or, with verify, of the same content. Same as `trawl duplicates --json`.",
    ),
    Named::ask::<contents::Grep>(
        ["grep", "content"],
        "Search contents",
        "Finds lines that match a regular expression in the files that the other arguments select. Lines are cut at 500 bytes; binary files are left out. Same as `trawl grep -nI --sort path`.",
    ),
    Named::other::<contents::Read>(
        ["read", "read"],
        "Read a part of a file",
        "Reads at most 64 KiB of one regular file. Bytes that are not text are escaped, and content_raw has all bytes in hexadecimal.",
        Action::Read,
    ),
    Named::ask::<sql::Query>(
        ["sql", "sql"],
        "Query the index with SQL",
        "Runs read-only SQL over the tables entries, dirs, xattrs, attributes, file_groups, group_members, relations, issues, sources, snapshots and their histories. The tool sql_schema lists their columns; the resource trawl:///docs/sql.md explains them. Same as `trawl sql --json`.",
    ),
    Named::ask::<sql::Schema>(
        ["schema", "sql_schema"],
        "List tables and columns",
        "Lists the tables of sql with their columns and types.",
    ),
    Named::ask::<trees::Sources>(
        ["sources", "sources"],
        "List indexed trees",
        "Lists the trees that are indexed, with the time of their newest snapshot. Other paths are read from the file system, which takes longer. Same as `trawl sources --json`.",
    ),
    Named::other::<More>(
        ["more", "more"],
        "Continue an answer",
        "Gives the next rows of an answer that had a cursor. Each cursor can be used once.",
        Action::More,
    ),
];

/// Returns the question of this name in the HTTP API.
pub fn named(name: &str) -> Option<&'static Named> {
    QUESTIONS.iter().find(|question| question.name == name)
}

/// Returns the question of this name as a tool.
pub fn tool(name: &str) -> Option<&'static Named> {
    QUESTIONS.iter().find(|question| question.tool == name)
}

/// Arguments of `more`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct More {
    /// The cursor of the last answer.
    pub cursor: String,
    /// Most rows of this answer (default: 100).
    #[serde(default)]
    pub limit: Option<u32>,
}

pub use contents::Read;
pub use sql::{Column, REFERENCE as SQL_REFERENCE};

fn asked<A: Arguments>(arguments: Value) -> Result<Question, Refused> {
    parsed::<A>(arguments)?.question()
}

fn parsed<A: DeserializeOwned>(arguments: Value) -> Result<A, Refused> {
    serde_json::from_value(arguments).map_err(|error| Refused::Invalid {
        why: error.to_string(),
    })
}

/// The paths to search and the number of rows: arguments of many questions.
#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    /// Absolute paths.
    #[serde(default)]
    paths: Vec<String>,
    /// Further absolute paths, as bytes in hexadecimal: the path_raw of rows whose names are not UTF-8.
    #[serde(default)]
    paths_raw: Vec<String>,
    /// Most rows of one answer (default: 100); a cursor continues it.
    #[serde(default)]
    limit: Option<u32>,
}

impl Place {
    /// Returns whether no path is given.
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.paths_raw.is_empty()
    }

    /// Adds the paths, of which there must be at least one.
    fn add(&self, line: &mut Line) -> Result<(), Refused> {
        line.rows(self.limit)
            .words(crate::words::paths(&self.paths, &self.paths_raw)?);
        Ok(())
    }

    /// Adds the path, which must be the only one.
    fn add_one(&self, line: &mut Line) -> Result<(), Refused> {
        match self.paths.len() + self.paths_raw.len() > 1 {
            true => Err(Refused::SeveralPaths),
            false => self.add(line),
        }
    }
}

#[cfg(test)]
mod tests;
