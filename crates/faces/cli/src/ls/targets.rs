//! Entries outside a listing that are shown in it: targets of links, `.` and `..`, and directories
//! that `-L` reaches through links.
//!
//! Decides which of them are shown; [`links`] looks them up.

use std::collections::HashMap;

use trawl_model::{FileType, mapped};
use trawl_query::Start;
use trawl_report::listing::{Indicator, Item, Layout};

use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::ls::plan::Links;
use crate::ls::{Header, Lister, absolute};
use crate::output::say;
use crate::rows::Form;
use crate::scope::{Follow, join_printed};
use trawl_answers::listing::links;
use trawl_answers::listing::sort::SortKey;
use trawl_answers::listing::tree::{Directory, KnownListings, Reader};
use trawl_session::Notice;

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
            let unknown = items.iter().filter(|item| item.absolute.is_none());
            links::expect(&self.session, &directory.path, unknown)?;
        }
        for item in items.iter_mut().filter(|item| item.absolute.is_none()) {
            let path = trawl_model::path::join(&directory.path, &item.name);
            if !replaces || item.kind != FileType::Symlink {
                self.look_up_target(item, &path);
                continue;
            }
            match links::target(&self.session, &path) {
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
                    let given = join_printed(&directory.name, &item.name);
                    say(Notice::Missing { given, why });
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

    /// Returns true if the listing shows targets next to the links.
    fn shows_targets(&self) -> bool {
        let plan = self.plan();
        let is_long = plan.style.layout == Layout::Long;
        let follows = plan.directories_first || self.renderer.naming.follows_links(is_long);
        let marks = plan.style.indicator >= Indicator::FileType;
        follows || (is_long && marks)
    }

    /// Looks up the target of a link, if it is shown.
    pub(super) fn look_up_target(&self, item: &mut Item, path: &[u8]) {
        let hyperlinks = self.plan().hyperlinks;
        if item.file_type() != FileType::Symlink {
            item.absolute = hyperlinks.then(|| absolute(path));
            return;
        }
        if self.shows_targets()
            && let Ok((target, _)) = links::target(&self.session, path)
        {
            item.target_mode = target.meta.map(|meta| meta.mode);
        }
        item.absolute = hyperlinks.then(|| self.end_of(path));
    }

    /// Returns where a link leads, for a hyperlink; the link itself if that has no name for the asker.
    fn end_of(&self, path: &[u8]) -> Vec<u8> {
        let end = links::end_of(&self.session, path);
        match mapped::theirs(&end).starts_with(b"/") {
            true => absolute(&end),
            false => absolute(path),
        }
    }

    /// Returns true if a listing needs more of an entry than its name: then GNU ls looks at the
    /// targets of links and reports dangling ones.
    fn needs_attributes(&self) -> bool {
        let plan = self.plan();
        let sorts = matches!(plan.order.key, SortKey::Time | SortKey::Size);
        let types = plan.recursive || plan.directories_first || plan.style.inode;
        let marks = plan.style.indicator != Indicator::None || self.renderer.naming.is_coloured();
        let is_long = plan.style.layout == Layout::Long || plan.form != Form::Text;
        is_long || sorts || types || marks || plan.style.blocks || plan.hyperlinks
    }

    /// Returns `.` and `..`.
    pub(super) fn dots(&self, path: &[u8]) -> Result<Vec<Item>, Failure> {
        let above = trawl_model::path::split(path).map_or(path, |(above, _)| above);
        let item = |path: &[u8], name: &[u8]| -> Result<Item, Failure> {
            let mut item = links::directory(&self.session, path, name)?;
            item.absolute = self.plan().hyperlinks.then(|| absolute(path));
            Ok(item)
        };
        Ok(vec![item(path, b".")?, item(above, b"..")?])
    }

    /// `-RL`: lists the directories below `start`, including those behind links, but none inside
    /// itself.
    pub(super) fn through_links(
        &mut self,
        reader: &Reader<'_>,
        name: &[u8],
        start: &Start,
    ) -> Result<(), Failure> {
        let mut known = KnownListings::default();
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
            let children = self.list_one(reader, &mut known, &name, &path)?;
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
        reader: &Reader<'_>,
        known: &mut KnownListings,
        name: &[u8],
        path: &[u8],
    ) -> Result<Vec<Child>, Failure> {
        let mut is_there = true;
        let directory = reader.again(known, path, name, || {
            let start = self.session.locate_path(path, Follow::Never)?;
            is_there = start.is_some();
            Ok::<_, Failure>(start)
        })?;
        if let Some(directory) = directory {
            return self.print_sorted(directory, Header::Named);
        }
        // Directories that may not be opened were already reported at the start.
        let is_below = self.session.denied() > 0;
        if is_there && !is_below {
            self.tell_unread(name);
        }
        Ok(Vec::new())
    }
}
