//! Programs by the package manager's lists: "All related execution files, resource files,
//! configuration files, log files" (the paper's Table 4).
//!
//! A file belongs to the package that lists it; to the first in the order of names if several do. A
//! file that no package lists belongs to the package of the nearest directory above that is listed,
//! if one package alone lists that directory: caches, logs and data are such files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use trawl_model::path::{append, normalize, split};
use trawl_text::glob::Case;

use super::owners::{ByPath, Owner, Owners};
use crate::directory::{Directory, Trail};
use crate::error::GroupsError;
use crate::hints::{Hints, Sought};
use crate::identity::{Extent, Identity};
use crate::rules::{Names, PackagesRule};
use crate::source::{Claim, Claims, Look, Source, Why, claim_each};

/// Claims the files of packages.
#[derive(Debug)]
pub(crate) struct Packages {
    packages: Vec<Package>,
    owners: Owners,
    except: Names,
    /// Whether the directories are left to later rules.
    above: Trail<bool>,
}

#[derive(Debug)]
struct Package {
    group: Arc<Identity>,
    /// Whether files below its directories are not its own.
    is_skeleton: bool,
}

impl Packages {
    /// Reads the lists.
    ///
    /// # Errors
    /// If there are lists that cannot be read.
    pub(crate) fn new(rule: &PackagesRule) -> Result<Packages, GroupsError> {
        let mut all = Packages {
            packages: Vec::new(),
            owners: Owners::default(),
            except: Names::new(&rule.except, Case::Sensitive),
            above: Trail::default(),
        };
        let name: Arc<str> = rule.name.as_str().into();
        let places = Aliases::of(&rule.root);
        let diversions = Diversions::read(&rule.admin.join("diversions"))?;
        for (package, path) in lists(&rule.admin.join("info"))? {
            let bytes = fs::read(&path).map_err(|error| GroupsError::file("read", &path, error))?;
            let plain = plain_name(&package);
            all.packages.push(Package {
                is_skeleton: rule.skeletons.iter().any(|one| one.as_bytes() == plain),
                group: Identity::new(&name, &[&package], package.clone(), Extent::Everywhere),
            });
            all.owners.reserve(bytes.len());
            let package = u32::try_from(all.packages.len() - 1).unwrap_or(u32::MAX);
            for line in bytes.split(|byte| *byte == b'\n') {
                if let Some(path) = normalized(line) {
                    let path = diversions.path(&path, plain).unwrap_or(&path);
                    all.owners.add(&places.resolve(path), package);
                }
            }
        }
        Ok(all)
    }

    fn package(&self, owner: Owner) -> Option<&Package> {
        self.packages.get(owner.first as usize)
    }

    /// Returns the claim for files of this directory that no package lists.
    fn own_directory(&self, dir: &[u8]) -> Option<Claim> {
        let mut path = dir;
        let owner = loop {
            match self.owners.get(path) {
                Some(owner) => break owner,
                None => path = split(path)?.0,
            }
        };
        let package = self.package(owner)?;
        let is_own = !owner.is_shared && !package.is_skeleton;
        is_own.then(|| Claim {
            group: Arc::clone(&package.group),
            why: Why::OwnDirectory(path.into()),
        })
    }
}

impl Source for Packages {
    fn hint(&self, sought: &Sought<'_>, hints: &mut Hints) {
        let is_sought = |package: &Package| sought.admits(&package.group);
        let sought: Vec<bool> = self.packages.iter().map(is_sought).collect();
        if !sought.contains(&true) {
            return;
        }
        let mut is_listed = false;
        for (path, owner) in self.owners.iter() {
            let at = owner.first as usize;
            if !sought.get(at).is_some_and(|is_sought| *is_sought) {
                continue;
            }
            is_listed = true;
            let has_own = !owner.is_shared && !self.packages[at].is_skeleton;
            match has_own {
                true => hints.entry(path),
                false => hints.file(path),
            }
        }
        if is_listed {
            hints.found();
        }
    }

    fn begin(&mut self) {
        self.above.clear();
    }

    fn enter(&mut self, dir: &Directory<'_>, _: &dyn Look) -> Result<(), GroupsError> {
        let is_left = self.above.nearest(dir.path).is_some_and(|is_left| *is_left);
        let mut names = dir.entries.iter().map(|entry| &entry.name);
        let is_left = is_left || names.any(|name| self.except.matches(name));
        self.above.push(dir.path, is_left);
        Ok(())
    }

    fn claim(&mut self, dir: &Directory<'_>, claims: &mut Claims) {
        if self.packages.is_empty() {
            return;
        }
        let is_left = self.above.nearest(dir.path).is_some_and(|is_left| *is_left);
        let own = match is_left {
            true => None,
            false => self.own_directory(dir.path),
        };
        let mut path = dir.path.to_vec();
        path.push(b'/');
        claim_each(dir, claims, |at| {
            path.truncate(dir.path.len() + 1);
            path.extend_from_slice(&dir.entries[at].name);
            let listed = self.owners.get(&path[..]);
            match listed.and_then(|owner| self.package(owner)) {
                Some(package) => Some(Claim {
                    group: Arc::clone(&package.group),
                    why: Why::Listed,
                }),
                None => own.clone(),
            }
        });
    }
}

/// Returns the path in a line of a package's list, in the form in which paths are stored; `None` if the
/// line has no path.
fn normalized(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    // Most lines are stored paths already.
    let is_odd = |two: &[u8]| matches!(two, b"//" | b"/.") || two.contains(&0);
    let is_stored = line.len() > 1 && line.starts_with(b"/") && !line.ends_with(b"/");
    match is_stored && !line.windows(2).any(is_odd) {
        true => Some(Cow::Borrowed(line)),
        false => normalize(line).map(Cow::Owned),
    }
}

/// Returns a package's name without its architecture.
fn plain_name(package: &[u8]) -> &[u8] {
    package
        .split(|byte| *byte == b':')
        .next()
        .unwrap_or(package)
}

/// Returns the packages in the order of their names, each with its list; none if there is no such
/// directory, as on systems with another package manager.
fn lists(info: &Path) -> Result<Vec<(Vec<u8>, std::path::PathBuf)>, GroupsError> {
    let failed = |error| GroupsError::file("list", info, error);
    let entries = match fs::read_dir(info) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut lists = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if let Some(package) = name.as_bytes().strip_suffix(b".list") {
            lists.push((package.to_vec(), entry.path()));
        }
    }
    lists.sort();
    Ok(lists)
}

/// Links at the top of the tree that lead to directories: the lists may name `/bin/ls`, while the
/// tree has it as `/usr/bin/ls`.
#[derive(Debug)]
struct Aliases {
    root: Vec<u8>,
    links: HashMap<Vec<u8>, Vec<u8>, ByPath>,
}

impl Aliases {
    fn of(root: &Path) -> Aliases {
        let stored = normalize(root.as_os_str().as_bytes()).unwrap_or_default();
        let mut links = HashMap::default();
        // A tree that the user may not list, or that is elsewhere, has no links for them.
        let entries = fs::read_dir(root).into_iter().flatten();
        for entry in entries.flatten() {
            let target = match fs::read_link(entry.path()) {
                Ok(target) if entry.path().is_dir() => target,
                _ => continue,
            };
            let target = Path::new("/").join(target);
            if let Some(target) = normalize(target.as_os_str().as_bytes()) {
                links.insert(entry.file_name().as_bytes().to_vec(), target);
            }
        }
        Aliases {
            root: stored,
            links,
        }
    }

    /// Returns where the tree has the path of a list.
    fn resolve<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        let below = path.strip_prefix(b"/").unwrap_or(path);
        let end = below.iter().position(|byte| *byte == b'/');
        let (first, rest) = below.split_at(end.unwrap_or(below.len()));
        // The entry of that name is the link itself.
        let target = self.links.get(first).filter(|_| !rest.is_empty());
        if target.is_none() && self.root.is_empty() {
            return Cow::Borrowed(path);
        }
        let resolved = match target {
            Some(target) => [target, rest].concat(),
            None => path.to_vec(),
        };
        Cow::Owned(match resolved.strip_prefix(b"/") {
            Some(below) => append(&self.root, below),
            None => self.root.clone(),
        })
    }
}

/// Files that a package or the administrator has put elsewhere (dpkg-divert(1)).
#[derive(Debug, Default)]
struct Diversions(HashMap<Vec<u8>, (Vec<u8>, Vec<u8>), ByPath>);

impl Diversions {
    fn read(path: &Path) -> Result<Diversions, GroupsError> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Diversions::default());
            }
            other => other.map_err(|error| GroupsError::file("read", path, error))?,
        };
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let mut all = HashMap::default();
        for three in lines.chunks_exact(3) {
            if let (Some(from), Some(to)) = (normalize(three[0]), normalize(three[1])) {
                all.insert(from, (to, three[2].to_vec()));
            }
        }
        Ok(Diversions(all))
    }

    /// Returns where a package's file is, if it was put elsewhere.
    fn path(&self, path: &[u8], package: &[u8]) -> Option<&[u8]> {
        let (to, by) = self.0.get(path)?;
        (by != package).then_some(to)
    }
}
