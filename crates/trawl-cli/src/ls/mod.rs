//! `trawl ls`: directories and files as GNU ls shows them, from the index.
//!
//! `plan` reads the options, `item` holds what is listed of an entry, `sort`
//! orders, `tree` reads directories, `render` makes lines of them with
//! `long`, `columns` and `colour`.

mod colour;
mod columns;
pub(crate) mod item;
mod long;
mod plan;
mod render;
mod sort;
mod tree;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_model::FileType;
use trawl_query::{Located, Start};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Quoting;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::index::scan::now;
use crate::output::{Device, Output, say};
use crate::resolve::{Resolved, resolve};
use crate::rows::{self, Form};
use crate::scope::{Denials, Depth, Follow, Part, Session, join_printed, row_of};

use self::colour::Palette;
use self::item::Item;
pub(crate) use self::plan::LsArgs;
use self::plan::{Hidden, Indicator, Layout, Plan, Surroundings};
use self::render::Renderer;
use self::tree::{Directory, Found, Reach, Reader};

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &LsArgs, manner: Manner) -> Result<Exit, Failure> {
    let manner = manner.then(args.manner);
    let get = |name: &str| std::env::var_os(name);
    let plan = args
        .plan(&Surroundings {
            device: Device::of_stdout(),
            colour: manner.color.unwrap_or_default().for_stdout(),
            terminal_width: crate::output::terminal_width(),
            get: &get,
        })
        .map_err(Failure::Usage)?;
    let follow = if args.follows_arguments(&plan) {
        Follow::ToDirectory
    } else {
        Follow::Never
    };
    let mut lister = Lister {
        session: Session::open(index, manner, Exit::Fatal)?,
        renderer: renderer(&plan, &get)?,
        output: Output::stdout(),
        written: Written::Nothing,
    };
    if plan.form == Form::Csv {
        lister.output.put(rows::CSV_HEADER)?;
    }
    let here = [OsString::from(".")];
    let paths = if args.paths.is_empty() {
        &here[..]
    } else {
        &args.paths[..]
    };
    lister
        .session
        .tell_denials(Denials::Said("cannot open directory"));
    if plan.directory {
        lister.session.reach_to(Depth::Itself);
    }
    lister.arguments(paths, follow)?;
    lister.output.finish()?;
    lister.session.finish()
}

fn renderer<'a>(
    plan: &'a Plan,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Renderer<'a>, Failure> {
    let quoting = Quoting::parse(&plan.quoting).ok_or_else(|| {
        let text = format!(
            "{:?} is no quoting style: trawl ls --help names them",
            plan.quoting
        );
        Failure::Usage(text)
    })?;
    let colours = || {
        let rules = get("LS_COLORS").and_then(|rules| rules.into_string().ok());
        Palette::new(rules.as_deref())
    };
    Ok(Renderer {
        plan,
        quoting,
        locale: Locale::from_env(),
        owners: Owners::default(),
        zone: Zone::local(),
        now: now(),
        palette: plan.colour.then(colours),
    })
}

/// What was printed so far, which decides on empty lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Nothing,
    Something,
}

/// Whether a directory's name stands above its listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    Named,
    Bare,
}

struct Lister<'a> {
    session: Session,
    renderer: Renderer<'a>,
    output: Output,
    written: Written,
}

impl Lister<'_> {
    /// Files first, then directories, each sorted, as ls does.
    fn arguments(&mut self, paths: &[OsString], follow: Follow) -> Result<(), Failure> {
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        for given in paths {
            let Some(start) = self.session.locate(given, follow)? else {
                continue;
            };
            let mut item = Item::from_row(&row_of(&start), given.as_bytes());
            if start.is_dir && !self.plan().directory {
                directories.push((item, start));
            } else {
                self.session.note(&start, Depth::Itself)?;
                self.look_up_target(&mut item, &start.path);
                files.push(item);
            }
        }
        self.sort(&mut files);
        if !files.is_empty() {
            let shown = files.len();
            files.extend(directories.iter().map(|(item, _)| item.clone()));
            self.print(b"", &files, shown)?;
            self.written = Written::Something;
        }
        let alone = paths.len() <= 1 && directories.len() == 1;
        let header = if alone && !self.plan().recursive {
            Header::Bare
        } else {
            Header::Named
        };
        let (mut items, mut starts): (Vec<Item>, Vec<Start>) = (Vec::new(), Vec::new());
        for (at, (item, start)) in directories.into_iter().enumerate() {
            // The place in `starts` survives sorting in the target, which directories have none of.
            items.push(Item {
                target: at.to_le_bytes().to_vec(),
                ..item
            });
            starts.push(start);
        }
        self.sort(&mut items);
        for item in items {
            let at = item.target.try_into().map_or(0, usize::from_le_bytes);
            if let Some(start) = starts.get(at) {
                self.directory(&item.name, start, header)?;
            }
        }
        Ok(())
    }

    fn plan(&self) -> &Plan {
        self.renderer.plan
    }

    /// Sorts a listing, directories first if that was asked for.
    fn sort(&self, items: &mut [Item]) {
        self.plan().order.sort(items);
        if self.plan().directories_first {
            items.sort_by_key(|item| item.file_type() != FileType::Directory);
        }
    }

    /// Lists a directory, and those below it with `-R`.
    fn directory(&mut self, name: &[u8], start: &Start, header: Header) -> Result<(), Failure> {
        let reader = Reader {
            index: self.session.share_index(),
            hidden: self.plan().hidden,
        };
        let told = self.note_listing(start, name)?;
        let found = match (self.plan().recursive, self.is_in_stored_order()) {
            (false, _) => reader.listings(start, name, Reach::Alone, |directory| {
                self.print_sorted(directory, header).map(drop)
            })?,
            (true, true) => reader.listings(start, name, Reach::Below, |directory| {
                self.print_sorted(directory, header).map(drop)
            })?,
            (true, false) => reader.in_order(start, name, |directory| {
                self.print_sorted(directory, header)
            })?,
        };
        if found == Found::Unread && told == 0 {
            let name = quoted(name);
            say(format_args!(
                "cannot open directory {name}: it was not read"
            ));
            self.session.worsen(Exit::Issues);
        }
        Ok(())
    }

    /// Notes what is listed of `start`, printed as `name`, and how many
    /// directories of it may not be.
    fn note_listing(&mut self, start: &Start, name: &[u8]) -> Result<u64, Failure> {
        let skips = self.plan().hidden == Hidden::Skip;
        let hides = |path: &[u8]| skips && tree::is_below_hidden(&start.path, path);
        let part = Part {
            depth: match self.plan().recursive {
                true => Depth::All,
                false => Depth::Children,
            },
            skip: Vec::new(),
            hides: &hides,
        };
        let before = self.session.denied();
        self.session.note_part(start, name, &part)?;
        Ok(self.session.denied() - before)
    }

    /// True if the index has directories in the order in which they are to
    /// be printed.
    fn is_in_stored_order(&self) -> bool {
        self.plan().order.is_stored_order() && !self.plan().directories_first
    }

    /// Prints a listing and returns the names of the directories in it, in
    /// the order in which they were printed.
    fn print_sorted(
        &mut self,
        mut directory: Directory,
        header: Header,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        if self.plan().hidden == Hidden::All {
            directory.items.extend(self.dots(&directory.path)?);
        }
        self.sort(&mut directory.items);
        if self.plan().form == Form::Text {
            self.print_head(&directory, header)?;
        }
        if self.plan().layout == Layout::Long && self.plan().indicator != Indicator::None {
            let mut items = std::mem::take(&mut directory.items);
            for item in &mut items {
                let path = trawl_model::path::join(&directory.path, &item.name);
                self.look_up_target(item, &path);
            }
            directory.items = items;
        }
        self.print(&directory.name, &directory.items, directory.items.len())?;
        self.written = Written::Something;
        let folders = directory.items.into_iter().filter(|item| {
            item.file_type() == FileType::Directory && !matches!(&item.name[..], b"." | b"..")
        });
        Ok(folders.map(|item| item.name).collect())
    }

    fn print_head(&mut self, directory: &Directory, header: Header) -> Result<(), Failure> {
        if header == Header::Named {
            if self.written == Written::Something {
                self.output.put([self.plan().ending])?;
            }
            self.output.put(self.renderer.header(&directory.name))?;
        }
        if self.plan().layout == Layout::Long || self.plan().blocks {
            self.output.put(self.renderer.total(&directory.items))?;
        }
        Ok(())
    }

    /// Prints the first `shown` items, which lie in `dir` as it is printed
    /// (empty: they are arguments).
    fn print(&mut self, dir: &[u8], items: &[Item], shown: usize) -> Result<(), Failure> {
        let owners = &self.renderer.owners;
        let path = |item: &Item| match dir {
            b"" => item.name.clone(),
            dir => join_printed(dir, &item.name),
        };
        match self.renderer.plan.form {
            Form::Text => self.output.put(self.renderer.listing(items, shown)),
            Form::Json => items.iter().take(shown).try_for_each(|item| {
                self.output
                    .put(rows::json(&path(item), item, owners).close() + "\n")
            }),
            Form::Csv => items
                .iter()
                .take(shown)
                .try_for_each(|item| self.output.put(rows::csv(&path(item), item, owners))),
        }
    }

    /// `.` and `..`. What lies above a source's root is not in the index and
    /// is asked of the live system, unless the source is a recording.
    fn dots(&self, path: &[u8]) -> Result<Vec<Item>, Failure> {
        let above = trawl_model::path::split(path).map_or(path, |(above, _)| above);
        let item = |path: &[u8], name: &[u8]| -> Result<Item, Failure> {
            Ok(match self.session.index().locate(path)? {
                Located::Found(start) => Item::from_row(&row_of(&start), name),
                Located::NotIndexed { .. } => self.live(path, name),
                _ => Item::unknown(name),
            })
        };
        Ok(vec![item(path, b".")?, item(above, b"..")?])
    }

    fn live(&self, path: &[u8], name: &[u8]) -> Item {
        let shown = std::ffi::OsStr::from_bytes(trawl_model::path::display(path));
        let meta = match self.session.is_live() {
            true => std::fs::symlink_metadata(shown).ok(),
            false => None,
        };
        meta.map_or_else(|| Item::unknown(name), |meta| Item::from_live(&meta, name))
    }

    /// Looks up what a link leads to, where its mark is to be shown.
    fn look_up_target(&self, item: &mut Item, path: &[u8]) {
        let shown = self.plan().layout == Layout::Long && self.plan().indicator != Indicator::None;
        if item.file_type() != FileType::Symlink || !shown {
            return;
        }
        let found = resolve(self.session.index(), b"", path, Follow::Last);
        if let Ok(Resolved::To(Located::Found(start), _)) = found {
            item.target_mode = start.row.mode.first().copied();
        }
    }
}
