//! Kinds by which entries are counted, alone or several together, and their names in options.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use trawl_query::Trait;

/// Kind by which entries are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub(crate) enum By {
    /// File, directory, symbolic link, …
    Type,
    /// The part of a regular file's name after the last dot
    #[value(alias = "ext")]
    Extension,
    /// Size of the content of regular files
    Size,
    /// Time since the content of regular files changed
    #[value(alias = "mtime")]
    Age,
    /// Time since regular files were read
    #[value(alias = "atime")]
    Accessed,
    /// Time since the inode of regular files changed
    #[value(alias = "ctime")]
    Changed,
    /// Owner
    #[value(alias = "user")]
    Owner,
    /// Owning group
    Group,
    /// Project
    Project,
    /// Length of the name in bytes
    NameLength,
    /// Levels below the path
    Depth,
    /// Directories by the number of their entries
    Fullness,
}

impl By {
    /// Kinds that are shown by default.
    pub(crate) const USUAL: [By; 6] = [
        By::Type,
        By::Extension,
        By::Size,
        By::Age,
        By::Owner,
        By::Group,
    ];

    /// Returns the name in options and in output for programs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            By::Type => "type",
            By::Extension => "extension",
            By::Size => "size",
            By::Age => "age",
            By::Accessed => "accessed",
            By::Changed => "changed",
            By::Owner => "owner",
            By::Group => "group",
            By::Project => "project",
            By::NameLength => "name-length",
            By::Depth => "depth",
            By::Fullness => "fullness",
        }
    }

    /// Returns the index's name for this kind.
    pub(crate) const fn of_index(self) -> Trait {
        match self {
            By::Type => Trait::Type,
            By::Extension => Trait::Extension,
            By::Size => Trait::Size,
            By::Age => Trait::Modified,
            By::Accessed => Trait::Accessed,
            By::Changed => Trait::Changed,
            By::Owner => Trait::Owner,
            By::Group => Trait::Group,
            By::Project => Trait::Project,
            By::NameLength => Trait::NameLength,
            By::Depth => Trait::Depth,
            By::Fullness => Trait::Fullness,
        }
    }
}

/// One kind, or several kinds that are counted together; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(pub(crate) Vec<By>);

impl Kinds {
    /// Returns the names, joined by commas.
    pub(crate) fn name(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|by| by.name()).collect();
        names.join(",")
    }
}

/// Parser of kinds that are joined by commas.
#[derive(Clone)]
pub(crate) struct KindsParser;

impl TypedValueParser for KindsParser {
    type Value = Kinds;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Kinds, clap::Error> {
        let one = EnumValueParser::<By>::new();
        let text = value.to_string_lossy();
        let parts = text.split(',');
        let kinds = parts.map(|part| one.parse_ref(command, argument, OsStr::new(part)));
        let kinds = kinds.collect::<Result<Vec<By>, _>>()?;
        if let [_, _, ..] = kinds[..]
            && let Some(by) = kinds.iter().find(|by| !by.of_index().is_of_rows())
        {
            let why = format!(
                "{} cannot be counted together with others: give it a --by of its own\n",
                by.name()
            );
            return Err(clap::Error::raw(clap::error::ErrorKind::InvalidValue, why));
        }
        Ok(Kinds(kinds))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = By::value_variants().iter();
        Some(Box::new(values.filter_map(By::to_possible_value)))
    }
}
