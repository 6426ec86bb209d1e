//! The table of built-in hooks. What they do is in the program that runs them; this process only
//! knows their names.

use serde::{Deserialize, Serialize};

use crate::format::FORMATS;

/// A built-in hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// Plain text in any encoding.
    Text,
    /// Source code.
    Source,
    /// Documents.
    Document,
    /// Web pages and Markdown.
    Markup,
    /// Messages.
    Mail,
    /// Photographs and other pictures.
    Picture,
    /// Music and other sound.
    Audio,
    /// Archives and compressed files.
    Archive,
    /// Tables and measurements.
    Data,
}

/// Documentation of a built-in hook.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The hook.
    pub hook: Builtin,
    /// Its name.
    pub name: &'static str,
    /// What it finds.
    pub about: &'static str,
    /// Names of its attributes; a name that ends in `*` stands for names that begin so.
    pub attributes: &'static [&'static str],
}

/// The hooks.
pub static BUILTINS: &[About] = &[
    About {
        hook: Builtin::Text,
        name: "text",
        about: "text in any encoding",
        attributes: &["encoding", "lines"],
    },
    About {
        hook: Builtin::Source,
        name: "source",
        about: "source code: names of functions and types, included files",
        attributes: &["encoding", "lines", "language", "function", "type"],
    },
    About {
        hook: Builtin::Document,
        name: "document",
        about: "documents: text, title and author",
        attributes: &[
            "title", "author", "subject", "keywords", "created", "modified", "pages",
        ],
    },
    About {
        hook: Builtin::Markup,
        name: "markup",
        about: "web pages and Markdown: text, title and links",
        attributes: &["title", "author", "subject", "keywords", "language"],
    },
    About {
        hook: Builtin::Mail,
        name: "mail",
        about: "messages: text, correspondents and names of attachments",
        attributes: &["title", "author", "to", "sent", "attachment"],
    },
    About {
        hook: Builtin::Picture,
        name: "picture",
        about: "pictures: size, and how a photograph was taken",
        attributes: &[
            "width",
            "height",
            "taken",
            "camera",
            "lens",
            "exposure",
            "aperture",
            "iso",
            "focal-length",
            "orientation",
            "latitude",
            "longitude",
            "title",
            "author",
        ],
    },
    About {
        hook: Builtin::Audio,
        name: "audio",
        about: "music and other sound: tags and duration",
        attributes: &[
            "title",
            "artist",
            "album",
            "album-artist",
            "composer",
            "genre",
            "track",
            "disc",
            "year",
            "duration",
            "sample-rate",
            "channels",
            "bit-rate",
        ],
    },
    About {
        hook: Builtin::Archive,
        name: "archive",
        about: "archives: names of members; compressed files: their text",
        attributes: &["members", "uncompressed-size"],
    },
    About {
        hook: Builtin::Data,
        name: "data",
        about: "tables and measurements: columns, variables, attributes of the file",
        attributes: &["rows", "column", "variable", "fits.*", "hdf5.*", "netcdf.*"],
    },
];

impl Builtin {
    /// Returns the hook's documentation.
    #[must_use]
    pub fn about(self) -> &'static About {
        let own = BUILTINS.iter().find(|about| about.hook == self);
        // The table has a row for each, as a test checks.
        own.unwrap_or(&BUILTINS[0])
    }

    /// Returns the hook's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// Returns the MIME types of the formats that the hook accepts, sorted.
    #[must_use]
    pub fn mime_types(self) -> Vec<&'static str> {
        let own = FORMATS.iter().filter(|row| row.hook == self);
        let mut types: Vec<&'static str> = own.map(|row| row.mime).collect();
        types.sort_unstable();
        types.dedup();
        types
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_has_a_row_and_accepts_something() {
        for row in FORMATS {
            assert_eq!(row.hook.about().hook, row.hook);
        }
        for about in BUILTINS {
            assert!(!about.hook.mime_types().is_empty(), "{}", about.name);
        }
    }
}
