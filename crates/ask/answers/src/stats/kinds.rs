//! Kinds by which entries are counted, alone or several together, and their names.

use trawl_query::Trait;

/// Kind by which entries are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// File, directory, symbolic link, …
    Type,
    /// The part of a regular file's name after the last dot.
    Extension,
    /// Size of the content of regular files.
    Size,
    /// Time since the content of regular files changed.
    Age,
    /// Time since regular files were read.
    Accessed,
    /// Time since the inode of regular files changed.
    Changed,
    /// Owner.
    Owner,
    /// Owning group.
    Group,
    /// Project.
    Project,
    /// Length of the name in bytes.
    NameLength,
    /// Levels below the path.
    Depth,
    /// Directories by the number of their entries.
    Fullness,
}

impl By {
    /// All kinds.
    pub const ALL: [By; 12] = [
        By::Type,
        By::Extension,
        By::Size,
        By::Age,
        By::Accessed,
        By::Changed,
        By::Owner,
        By::Group,
        By::Project,
        By::NameLength,
        By::Depth,
        By::Fullness,
    ];

    const USUAL: [By; 6] = [
        By::Type,
        By::Extension,
        By::Size,
        By::Age,
        By::Owner,
        By::Group,
    ];

    /// Returns the name in options and in output for programs.
    pub const fn name(self) -> &'static str {
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

    /// Returns another name of the kind, if it has one.
    pub const fn alias(self) -> Option<&'static str> {
        match self {
            By::Extension => Some("ext"),
            By::Age => Some("mtime"),
            By::Accessed => Some("atime"),
            By::Changed => Some("ctime"),
            By::Owner => Some("user"),
            _ => None,
        }
    }

    /// Describes the kind in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            By::Type => "File, directory, symbolic link, …",
            By::Extension => "The part of a regular file's name after the last dot",
            By::Size => "Size of the content of regular files",
            By::Age => "Time since the content of regular files changed",
            By::Accessed => "Time since regular files were read",
            By::Changed => "Time since the inode of regular files changed",
            By::Owner => "Owner",
            By::Group => "Owning group",
            By::Project => "Project",
            By::NameLength => "Length of the name in bytes",
            By::Depth => "Levels below the path",
            By::Fullness => "Directories by the number of their entries",
        }
    }

    /// Returns the kind with this name or alias.
    pub fn named(name: &str) -> Option<By> {
        let mut all = By::ALL.into_iter();
        all.find(|by| by.name() == name || by.alias() == Some(name))
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
pub struct Kinds(pub(crate) Vec<By>);

impl From<By> for Kinds {
    fn from(by: By) -> Kinds {
        Kinds(vec![by])
    }
}

impl Kinds {
    /// Returns a kind, and others that are counted together with it.
    ///
    /// # Errors
    /// Returns a kind that can only be counted alone: it is one of directories as wholes.
    pub fn new(first: By, others: &[By]) -> Result<Kinds, By> {
        let all = [&[first], others].concat();
        match all.iter().find(|by| !by.of_index().is_of_rows()) {
            Some(by) if !others.is_empty() => Err(*by),
            _ => Ok(Kinds(all)),
        }
    }

    /// Returns the kinds that are counted by default, each alone.
    pub fn usual() -> Vec<Kinds> {
        By::USUAL.map(Kinds::from).into()
    }

    /// Returns the names, joined by commas.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|by| by.name()).collect();
        names.join(",")
    }
}
