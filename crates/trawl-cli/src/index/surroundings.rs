//! Directories around an index for all users: whether users can reach it, and whether someone else
//! could replace it.
//!
//! This only warns; an administrator may have reasons.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::quoted;
use std::os::unix::ffi::OsStrExt;

/// `S_ISVTX`: in such a directory only the owner of an entry can rename or remove it.
const STICKY: u32 = 0o1000;

/// Returns warnings about `index` and the directories above it.
pub(crate) fn warnings(index: &Path) -> Vec<String> {
    let Ok(index) = index.canonicalize() else {
        return Vec::new();
    };
    let above: Vec<PathBuf> = index.ancestors().skip(1).map(Path::to_owned).collect();
    let mut said = Vec::new();
    if let Ok(meta) = index.metadata()
        && !is_open(&meta)
    {
        said.push(format!(
            "other users cannot read this index, because {} is closed to some of them and keeps \
             its permissions: open it (chmod go+rx), or make the index with --private",
            quoted(index.as_os_str().as_bytes())
        ));
    }
    for dir in above.iter().rev() {
        let Ok(meta) = dir.metadata() else {
            continue;
        };
        let name = quoted(dir.as_os_str().as_bytes());
        if !is_open(&meta) {
            said.push(format!(
                "other users cannot reach this index, because {name} is closed to some of them: \
                 open it (chmod o+x), put the index elsewhere with -i, or make it with --private"
            ));
        }
        if let Some(who) = who_may_replace(&meta) {
            said.push(format!(
                "{who} can put another index in the place of this one, because {name} is theirs to \
                 write: put it elsewhere with -i"
            ));
        }
    }
    said
}

fn is_open(meta: &Metadata) -> bool {
    meta.mode() & 0o001 != 0
}

/// Returns who, besides the superuser, may rename entries of a directory.
fn who_may_replace(meta: &Metadata) -> Option<String> {
    if meta.uid() != 0 {
        return Some(format!("user {}", meta.uid()));
    }
    match meta.mode() {
        mode if mode & STICKY != 0 => None,
        mode if mode & 0o002 != 0 => Some("anyone".into()),
        mode if mode & 0o020 != 0 && meta.gid() != 0 => Some(format!("group {}", meta.gid())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn closed_and_writable_directories_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("a/index");
        std::fs::create_dir_all(&index).unwrap();
        let with = |mode| {
            let parent = index.parent().unwrap();
            std::fs::set_permissions(parent, std::fs::Permissions::from_mode(mode)).unwrap();
            let said = warnings(&index).join("\n");
            let about = quoted(parent.as_os_str().as_bytes());
            let lines = said.lines().filter(|line| line.contains(&about));
            lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
        };
        assert!(with(0o750).contains("cannot reach"));
        assert!(!with(0o755).contains("cannot reach"));
        if std::fs::metadata(&index).unwrap().uid() == 0 {
            assert_eq!(with(0o755), "");
            assert_eq!(with(0o1777), "");
            assert!(with(0o777).contains("anyone can put"));
        } else {
            assert!(with(0o755).contains("can put another index"));
        }
    }
}
