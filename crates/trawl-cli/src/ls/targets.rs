//! Entries outside a listing that are shown in it: targets of links, `.` and `..`, and directories
//! that `-L` reaches through links.
//!
//! They are looked up in the index, and where it ends in the live file system, unless the listing
//! is of a recording.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_model::FileType;
use trawl_query::{Located, Start};

use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted};
use crate::live;
use crate::ls::item::Item;
use crate::ls::plan::{Indicator, Layout, Links};
use crate::ls::sort::SortKey;
use crate::ls::tree::{Directory, Found, Reach, Reader};
use crate::ls::{Header, Lister, absolute};
use crate::output::say;
use crate::resolve::{Resolved, resolve};
use crate::rows::Form;
use crate::scope::{Follow, PATHS_AT_ONCE, join_printed, row_of};

/// A directory in a listing.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    /// Name in the listing.
    pub(crate) name: Vec<u8>,
    /// Path of the directory, if a link led to it.
    pub(crate) path: Option<Vec<u8>>,
}

/// A step of the traversal: a directory to be listed, or the end of one.
enum Next {
    Enter { name: Vec<u8>, path: Vec<u8> },
    Leave,
}

impl Lister<'_> {
    /// Looks up the targets of links in a listing, where they are shown. Returns the paths of
    /// directories that are shown in place of links to them, by name.
    pub(super) fn look_through(
        &mut self,
        directory: &mut Directory,
    ) -> Result<HashMap<Vec<u8>, Vec<u8>>, Failure> {
        let mut led = HashMap::new();
        let replaces = self.plan().links == Links::Targets && self.needs_attributes();
        if !replaces && !self.shows_targets() && !self.plan().hyperlinks {
            return Ok(led);
        }
        let mut items = std::mem::take(&mut directory.items);
        if replaces || self.shows_targets() {
            self.expect_targets(&items, &directory.path)?;
        }
        for item in items.iter_mut().filter(|item| item.absolute.is_none()) {
            let path = trawl_model::path::join(&directory.path, &item.name);
            if !replaces || item.kind != FileType::Symlink {
                self.look_up_target(item, &path);
                continue;
            }
            match self.behind(&path) {
                Ok((target, path)) => {
                    if target.file_type() == FileType::Directory {
                        led.insert(item.name.clone(), path.clone());
                    }
                    *item = Item {
                        name: std::mem::take(&mut item.name),
                        absolute: self.plan().hyperlinks.then(|| absolute(&path)),
                        ..target
                    };
                }
                Err(why) => {
                    let name = join_printed(&directory.name, &item.name);
                    say(format_args!("cannot access {}: {why}", quoted(&name)));
                    self.session.worsen(Exit::Issues);
                    *item = Item {
                        kind: FileType::Symlink,
                        absolute: self.plan().hyperlinks.then(|| self.end_of(&path)),
                        ..Item::unknown(&item.name)
                    };
                }
            }
        }
        directory.items = items;
        Ok(led)
    }

    /// Prepares lookups of the links in a listing.
    fn expect_targets(&self, items: &[Item], dir: &[u8]) -> Result<(), Failure> {
        let links = items
            .iter()
            .filter(|item| item.absolute.is_none() && item.kind == FileType::Symlink);
        let paths: Vec<Vec<u8>> = links
            .map(|item| trawl_model::path::join(dir, &item.name))
            .collect();
        for some in paths.chunks(PATHS_AT_ONCE) {
            let some: Vec<(&[u8], &[u8])> = some.iter().map(|path| (&b""[..], &path[..])).collect();
            self.session.known().prepare(&some, Follow::Last)?;
        }
        Ok(())
    }

    /// Returns the final target of the links that begin at `path`, and its path.
    fn behind(&self, path: &[u8]) -> Result<(Item, Vec<u8>), String> {
        match resolve(self.session.known(), b"", path, Follow::Last) {
            Ok(Resolved::To(Located::Found(start), end)) => {
                Ok((Item::from_row(&row_of(&start), b""), end))
            }
            Ok(Resolved::To(Located::NotIndexed { .. } | Located::Hidden { .. }, end)) => {
                let live = match self.session.is_live() {
                    true => live::target(path).map_err(|error| cause(&error))?,
                    false => return Err("it lies outside the index".into()),
                };
                Ok((Item::from_live(&live, b""), end))
            }
            Ok(Resolved::To(Located::Denied { .. }, _)) => Err("permission denied".into()),
            Ok(Resolved::To(Located::NotDirectory { .. }, _)) => Err("not a directory".into()),
            Ok(Resolved::Loop) => Err("too many levels of symbolic links".into()),
            Ok(Resolved::Unread(error)) => Err(cause(&error)),
            _ => Err("no such file or directory".into()),
        }
    }

    /// Returns true if the listing shows targets next to the links.
    fn shows_targets(&self) -> bool {
        let plan = self.plan();
        let follows = self.renderer.naming.follows_links(plan);
        let marks = plan.indicator >= Indicator::FileType;
        follows || (plan.layout == Layout::Long && marks)
    }

    /// Looks up the target of a link, if it is shown.
    pub(super) fn look_up_target(&self, item: &mut Item, path: &[u8]) {
        let hyperlinks = self.plan().hyperlinks;
        if item.file_type() != FileType::Symlink {
            item.absolute = hyperlinks.then(|| absolute(path));
            return;
        }
        if self.shows_targets()
            && let Ok((target, _)) = self.behind(path)
        {
            item.target_mode = target.meta.map(|meta| meta.mode);
        }
        item.absolute = hyperlinks.then(|| self.end_of(path));
    }

    /// Returns the path at which the links from `path` on end, whether or not it exists.
    fn end_of(&self, path: &[u8]) -> Vec<u8> {
        match resolve(self.session.known(), b"", path, Follow::Last) {
            Ok(Resolved::To(_, end)) => absolute(&end),
            _ => absolute(path),
        }
    }

    /// Returns true if a listing needs more of an entry than its name: then GNU ls looks at the
    /// targets of links and reports dangling ones.
    fn needs_attributes(&self) -> bool {
        let plan = self.plan();
        let sorts = matches!(plan.order.key, SortKey::Time | SortKey::Size);
        let types = plan.recursive || plan.directories_first || plan.inode;
        let marks = plan.indicator != Indicator::None || self.renderer.naming.is_coloured();
        let is_long = plan.layout == Layout::Long || plan.form != Form::Text;
        is_long || sorts || types || marks || plan.blocks || plan.hyperlinks
    }

    /// Returns `.` and `..`. A directory above a source's root is not in the index, and one inside
    /// a directory that may be traversed but not listed is hidden from this user. For both, the
    /// live file system is asked, unless the source is a recording.
    pub(super) fn dots(&self, path: &[u8]) -> Result<Vec<Item>, Failure> {
        let above = trawl_model::path::split(path).map_or(path, |(above, _)| above);
        let item = |path: &[u8], name: &[u8]| -> Result<Item, Failure> {
            let mut item = match self.session.index().locate(path)? {
                Located::Found(start) => Item::from_row(&row_of(&start), name),
                Located::NotIndexed { .. } | Located::Hidden { .. } => self.live(path, name),
                _ => Item::unknown(name),
            };
            item.kind = FileType::Directory;
            item.absolute = self.plan().hyperlinks.then(|| absolute(path));
            Ok(item)
        };
        Ok(vec![item(path, b".")?, item(above, b"..")?])
    }

    fn live(&self, path: &[u8], name: &[u8]) -> Item {
        let meta = match self.session.is_live() {
            true => live::itself(path).ok(),
            false => None,
        };
        meta.map_or_else(|| Item::unknown(name), |meta| Item::from_live(&meta, name))
    }

    /// `-RL`: lists the directories below `start`, including those behind links, but none inside
    /// itself.
    pub(super) fn through_links(
        &mut self,
        reader: &Reader,
        name: &[u8],
        start: &Start,
    ) -> Result<(), Failure> {
        let mut active: Vec<Vec<u8>> = Vec::new();
        let mut pending = vec![Next::Enter {
            name: name.to_vec(),
            path: start.path.clone(),
        }];
        while let Some(next) = pending.pop() {
            let Next::Enter { name, path } = next else {
                active.pop();
                continue;
            };
            if active.contains(&path) {
                say(format_args!(
                    "{}: not listing already-listed directory",
                    quoted(&name)
                ));
                self.session.worsen(Exit::Fatal);
                continue;
            }
            active.push(path.clone());
            pending.push(Next::Leave);
            let children = self.list_one(reader, &name, &path)?;
            for child in children.into_iter().rev() {
                pending.push(Next::Enter {
                    name: join_printed(&name, &child.name),
                    path: child
                        .path
                        .unwrap_or_else(|| trawl_model::path::join(&path, &child.name)),
                });
            }
        }
        Ok(())
    }

    fn list_one(
        &mut self,
        reader: &Reader,
        name: &[u8],
        path: &[u8],
    ) -> Result<Vec<Child>, Failure> {
        let mut children = Vec::new();
        let shown = OsStr::from_bytes(trawl_model::path::display(path));
        let Some(start) = self.session.locate(shown, Follow::Never)? else {
            return Ok(children);
        };
        let found = reader.listings(&start, name, Reach::Alone, |directory| {
            children = self.print_sorted(directory, Header::Named)?;
            Ok(())
        })?;
        // Directories that may not be opened were already reported at the start.
        let is_below = self.session.denied() > 0;
        if found == Found::Unread && !is_below {
            self.tell_unread(name);
        }
        Ok(children)
    }
}
