//! The map that a scan applies to user and group ids.

use std::path::{Path, PathBuf};

use trawl_format::{IndexDir, Source};
use trawl_model::IdMap;

use crate::error::{IndexerError, Result};
use crate::scan::ID_MAP;

/// Maximum size of a map file, in bytes: some hundred thousand lines.
const SIZE_MAX_BYTES: u64 = 4 << 20;

/// Choice of the map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IdMapChoice {
    /// Each source keeps its map.
    #[default]
    AsBefore,
    /// Ids are taken as they are, from now on.
    Nothing,
    /// The map in this file, from now on.
    File(PathBuf),
}

/// The chosen map, read once for all sources.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Each source keeps its map.
    AsBefore,
    /// This map, or no map from now on.
    Now(Option<IdMap>),
}

impl Wanted {
    /// Reads the file with the map.
    pub(crate) fn read(choice: &IdMapChoice) -> Result<Wanted> {
        match choice {
            IdMapChoice::AsBefore => Ok(Wanted::AsBefore),
            IdMapChoice::Nothing => Ok(Wanted::Now(None)),
            IdMapChoice::File(path) => {
                let map = IdMap::parse(&read(path)?).map_err(|problem| IndexerError::IdMap {
                    path: path.to_owned(),
                    problem,
                })?;
                Ok(Wanted::Now(Some(map)))
            }
        }
    }

    /// Returns the map for the source with this root.
    pub(crate) fn for_source(&self, index: &IndexDir, root: &[u8]) -> Result<Option<IdMap>> {
        match self {
            Wanted::Now(map) => Ok(map.clone()),
            Wanted::AsBefore => {
                let Some(source) = index.source(root)? else {
                    return Ok(None);
                };
                match source.id_map() {
                    // The lost file held no map, so indexing again repairs it.
                    Err(_) if !has_map(&source)? => Ok(None),
                    map => Ok(map?),
                }
            }
        }
    }
}

/// Returns true if the last scan of a source used a map.
fn has_map(source: &Source) -> Result<bool> {
    let last = source.snapshots()?.pop();
    Ok(last.is_some_and(|info| info.options.contains_key(ID_MAP)))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    use std::io::Read as _;
    let failed = |source| IndexerError::File {
        action: "read",
        path: PathBuf::from(path),
        source,
    };
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(SIZE_MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > SIZE_MAX_BYTES {
        return Err(failed(std::io::ErrorKind::FileTooLarge.into()));
    }
    Ok(text)
}
