//! Generated files: one table row each, written or compared byte by byte.
//!
//! Invariant: a generator is a pure function of the code (no clock, no environment), so that a
//! fresh copy equals a committed one exactly.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{api, columns, conformance, fields, predicates, program};

/// The bytes of one file.
pub(crate) type Bytes = Vec<u8>;

/// The files that a generator owns in the repository, and the function that makes them.
pub(crate) enum Generator {
    /// One file.
    File {
        /// Path from the repository's root.
        path: &'static str,
        /// Makes the bytes.
        make: fn() -> Result<Bytes, GenerateError>,
    },
    /// Every file of a folder that ends in `suffix`: files that are no longer made are removed.
    Folder {
        /// Path from the repository's root.
        path: &'static str,
        /// Suffix of the owned files' names.
        suffix: &'static str,
        /// Makes the files' bytes, by file name.
        make: fn() -> Result<BTreeMap<String, Bytes>, GenerateError>,
    },
}

/// Every generated file of the repository. A new one is one row here.
pub(crate) static GENERATORS: &[Generator] = &[
    Generator::File {
        path: "clients/openapi.json",
        make: api::reference,
    },
    Generator::File {
        path: "docs/columns.md",
        make: columns::reference,
    },
    Generator::File {
        path: "docs/conformance.md",
        make: conformance::table,
    },
    Generator::File {
        path: "docs/fields.md",
        make: fields::reference,
    },
    Generator::File {
        path: "docs/find.md",
        make: predicates::reference,
    },
    Generator::Folder {
        path: "docs/man",
        suffix: ".1",
        make: program::man_pages,
    },
    Generator::File {
        path: "completions/bash/trawl",
        make: program::bash_completions,
    },
    Generator::File {
        path: "completions/zsh/_trawl",
        make: program::zsh_completions,
    },
    Generator::File {
        path: "completions/fish/trawl.fish",
        make: program::fish_completions,
    },
];

/// What to do about a stale copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write it.
    Write,
    /// Report it.
    Check,
}

/// How a copy differs from the generator's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The file does not exist.
    Missing,
    /// The bytes differ.
    Stale,
    /// No generator makes the file any more.
    Abandoned,
}

/// A file that was, or has to be, rewritten.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Path from the repository's root.
    pub(crate) path: PathBuf,
    /// How it differed.
    pub(crate) difference: Difference,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.difference {
            Difference::Missing => "missing",
            Difference::Stale => "stale",
            Difference::Abandoned => "no longer generated",
        };
        write!(f, "{}: {word}", self.path.display())
    }
}

/// An error of making, reading or writing generated files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum GenerateError {
    /// A file or folder could not be read or written.
    #[error("cannot {op} {}: {source}", path.display())]
    File {
        /// The attempted operation.
        op: &'static str,
        /// The path it was attempted on.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Returns the repository's root, which is the parent of this package's directory.
pub(crate) fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Runs the generators and returns the files that differed; in [`Mode::Write`] they are fresh
/// afterwards.
pub(crate) fn run(
    root: &Path,
    generators: &[Generator],
    mode: Mode,
) -> Result<Vec<Change>, GenerateError> {
    let mut changes = Vec::new();
    for generator in generators {
        match generator {
            Generator::File { path, make } => {
                settle(root, Path::new(path), Some(make()?), mode, &mut changes)?;
            }
            Generator::Folder { path, suffix, make } => {
                let mut made = make()?;
                for name in owned_names(&root.join(path), suffix)? {
                    let fresh = made.remove(&name);
                    settle(root, &Path::new(path).join(name), fresh, mode, &mut changes)?;
                }
                for (name, fresh) in made {
                    settle(
                        root,
                        &Path::new(path).join(name),
                        Some(fresh),
                        mode,
                        &mut changes,
                    )?;
                }
            }
        }
    }
    Ok(changes)
}

/// Compares one file with its fresh bytes (`None`: it should not exist) and, in [`Mode::Write`],
/// corrects it.
fn settle(
    root: &Path,
    path: &Path,
    fresh: Option<Bytes>,
    mode: Mode,
    changes: &mut Vec<Change>,
) -> Result<(), GenerateError> {
    let full = root.join(path);
    let present = match fs::read(&full) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => {
            return Err(GenerateError::File {
                op: "read",
                path: full,
                source,
            });
        }
    };
    if present == fresh {
        return Ok(());
    }
    let difference = match (&present, &fresh) {
        (None, _) => Difference::Missing,
        (Some(_), Some(_)) => Difference::Stale,
        (Some(_), None) => Difference::Abandoned,
    };
    changes.push(Change {
        path: path.to_path_buf(),
        difference,
    });
    match (mode, fresh) {
        (Mode::Check, _) => Ok(()),
        (Mode::Write, Some(bytes)) => write(&full, &bytes),
        (Mode::Write, None) => fs::remove_file(&full).map_err(|source| GenerateError::File {
            op: "remove",
            path: full,
            source,
        }),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), GenerateError> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, bytes));
    written.map_err(|source| GenerateError::File {
        op: "write",
        path: path.to_path_buf(),
        source,
    })
}

/// Returns the names in `folder` with the suffix, sorted; an empty list if the folder does not
/// exist.
fn owned_names(folder: &Path, suffix: &str) -> Result<Vec<String>, GenerateError> {
    let failed = |source| GenerateError::File {
        op: "list",
        path: folder.to_path_buf(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        if let Some(name) = name.to_str().filter(|name| name.ends_with(suffix)) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Result<BTreeMap<String, Bytes>, GenerateError> {
        Ok(BTreeMap::from([("a.1".to_owned(), b"page".to_vec())]))
    }

    const ROWS: &[Generator] = &[
        Generator::File {
            path: "docs/one.md",
            make: || Ok(b"fresh\n".to_vec()),
        },
        Generator::Folder {
            path: "man",
            suffix: ".1",
            make: pages,
        },
    ];

    fn differences(root: &Path, mode: Mode) -> Vec<(String, Difference)> {
        let changes = run(root, ROWS, mode).expect("files can be compared");
        changes
            .into_iter()
            .map(|change| (change.path.display().to_string(), change.difference))
            .collect()
    }

    #[test]
    fn check_reports_every_kind_of_difference_and_writes_nothing() {
        let root = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(root.path().join("docs")).expect("a folder");
        fs::create_dir_all(root.path().join("man")).expect("a folder");
        fs::write(root.path().join("docs/one.md"), "old").expect("a file");
        fs::write(root.path().join("man/gone.1"), "old").expect("a file");
        fs::write(root.path().join("man/README"), "not ours").expect("a file");
        let expected = vec![
            ("docs/one.md".to_owned(), Difference::Stale),
            ("man/gone.1".to_owned(), Difference::Abandoned),
            ("man/a.1".to_owned(), Difference::Missing),
        ];
        assert_eq!(differences(root.path(), Mode::Check), expected);
        assert_eq!(differences(root.path(), Mode::Write), expected);
        assert_eq!(differences(root.path(), Mode::Check), vec![]);
        assert_eq!(
            fs::read(root.path().join("docs/one.md")).expect("written"),
            b"fresh\n"
        );
        assert!(!root.path().join("man/gone.1").exists());
        assert!(
            root.path().join("man/README").exists(),
            "a file without the suffix belongs to someone else"
        );
    }

    #[test]
    fn committed_copies_are_fresh() {
        let stale = run(&repository(), GENERATORS, Mode::Check).expect("files can be compared");
        assert!(stale.is_empty(), "run `cargo xtask generate`: {stale:?}");
    }
}
