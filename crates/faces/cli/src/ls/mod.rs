//! `trawl ls`: lists directories and files as GNU ls does, from the index.
//!
//! `options` and `plan` read the options, [`trawl_answers::listing`] reads and sorts directories and
//! looks up links, `targets` decides which targets are shown, and [`trawl_report::listing`] makes
//! lines.

mod options;
mod plan;
mod targets;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::listing::Hidden;
use trawl_answers::listing::tree::{Directory, Found, Reach, Reader};
use trawl_find::record;
use trawl_model::mapped;
use trawl_model::{FileType, Subtrees};
use trawl_query::Start;
use trawl_report::listing::{BadColours, Item, Layout, Naming, Palette, Renderer};
use trawl_report::{Schema, schema};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::commands::{IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::{Device, Output, say};
use crate::rows::{self, Form, Report};
use crate::scope::{Denials, Depth, Follow, PATHS_AT_ONCE, Part, Session, join_printed, row_of};
use trawl_session::now;

pub(crate) use self::options::LsArgs;
use self::plan::{Links, Plan, Surroundings};
use self::targets::Child;

impl Spec for LsArgs {
    const ABOUT: &'static str = "List directories, as ls does";
    const INDEX: IndexOption = IndexOption::Long;
    const HAS_OWN_HELP: bool = true;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl ls -l /srv/data", "list a directory"),
        (
            "trawl ls -lR --status .",
            "list a tree and report how fresh the list is",
        ),
    ];
    const SEE_ALSO: &'static [&'static str] = &["ls(1)", "trawl-stat(1)", "trawl-find(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "an entry of a directory",
    fields: &record::FIELDS,
    forms: schema::ROWS,
    samples: &["ls -Ra"],
};

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &LsArgs, manner: Manner) -> Result<Exit, Failure> {
    let get = |name: &str| std::env::var_os(name);
    let plan = args
        .plan(&Surroundings {
            device: Device::of_stdout(),
            no_color: get("NO_COLOR"),
            colour: manner.color,
            terminal_width: crate::output::terminal_width(),
            get: &get,
        })
        .map_err(Failure::Usage)?;
    let manner = manner.then(args.flags.manner);
    let mut lister = Lister {
        session: Session::open(index, manner, Exit::Fatal)?,
        plan: &plan,
        renderer: renderer(&plan, &get),
        report: rows::report_to(&SCHEMA, plan.form, Output::stdout().with_own_controls()),
        written: Written::Nothing,
    };
    lister.report.begin()?;
    let here = [OsString::from(".")];
    let paths = if args.flags.paths.is_empty() {
        &here[..]
    } else {
        &args.flags.paths[..]
    };
    lister
        .session
        .tell_denials(Denials::Said("cannot open directory"));
    if plan.directory {
        lister.session.reach_to(Depth::Itself);
    }
    lister.arguments(paths)?;
    lister.report.put(lister.renderer.naming.farewell())?;
    rows::finish(lister.report)?;
    lister.session.finish()
}

fn renderer<'a>(plan: &'a Plan, get: &dyn Fn(&str) -> Option<OsString>) -> Renderer<'a> {
    let palette = plan.colour.then(|| palette(get)).flatten();
    let host = || {
        // Mapped paths are those of the asker's machine, which an empty name stands for.
        let name = match mapped::mapping() {
            Some(_) => Vec::new(),
            None => std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default(),
        };
        name.trim_ascii_end().to_vec()
    };
    let host = plan.hyperlinks.then(host);
    Renderer {
        style: &plan.style,
        naming: Naming::new(&plan.style, Locale::from_env(), palette, host),
        owners: Owners::default(),
        zone: Zone::local(),
        now: now(),
    }
}

/// Returns the colours of the environment. If they are invalid, that is said, and there are none.
fn palette(get: &dyn Fn(&str) -> Option<OsString>) -> Option<Palette> {
    let bad = match Palette::new(get) {
        Ok(palette) => return palette,
        Err(bad) => bad,
    };
    if bad != BadColours::Syntax {
        say(&bad);
    }
    say(BadColours::Syntax);
    None
}

/// Whether anything was printed, which decides about empty lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Nothing,
    Something,
}

/// Whether a directory's name is printed above its listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Header {
    Named,
    Bare,
}

struct Lister<'a> {
    session: Session,
    plan: &'a Plan,
    renderer: Renderer<'a>,
    report: Report,
    written: Written,
}

impl Lister<'_> {
    /// Lists the arguments: first files, then directories, each sorted, as ls does.
    fn arguments(&mut self, paths: &[OsString]) -> Result<(), Failure> {
        let follow = match self.plan().links {
            Links::Themselves => Follow::Never,
            Links::ArgumentsToDirectories => Follow::ToDirectory,
            Links::Arguments | Links::Targets => Follow::Last,
        };
        let (mut files, mut directories) = (Vec::new(), Vec::new());
        for (at, given) in paths.iter().enumerate() {
            if at % PATHS_AT_ONCE == 0 {
                let end = paths.len().min(at + PATHS_AT_ONCE);
                self.session.expect(&paths[at..end], follow)?;
            }
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
        for (name, start) in self.sorted_starts(directories) {
            self.directory(&name, &start, header)?;
        }
        Ok(())
    }

    /// Returns the directories among the arguments, sorted like a listing.
    fn sorted_starts(&self, directories: Vec<(Item, Start)>) -> Vec<(Vec<u8>, Start)> {
        let (mut items, mut starts): (Vec<Item>, Vec<Option<Start>>) = (Vec::new(), Vec::new());
        for (at, (item, start)) in directories.into_iter().enumerate() {
            // The position in `starts` survives sorting in `target`, which directories do not have.
            items.push(Item {
                target: at.to_le_bytes().to_vec(),
                ..item
            });
            starts.push(Some(start));
        }
        self.sort(&mut items);
        let start = |item: Item| {
            let at = item.target.try_into().map_or(0, usize::from_le_bytes);
            let start = starts.get_mut(at)?.take()?;
            Some((item.name, start))
        };
        items.into_iter().filter_map(start).collect()
    }

    fn plan(&self) -> &Plan {
        self.plan
    }

    /// Sorts a listing, with directories first if that was asked for.
    fn sort(&self, items: &mut [Item]) {
        let sets_in = self.renderer.naming.sets_in(items);
        let width = |item: &Item| self.renderer.name_width(item, sets_in);
        let groups = self.plan().directories_first;
        let first = |item: &Item| groups && item.leads_to_directory();
        self.plan().order.sort(items, &first, &width);
    }

    /// Lists a directory and, with `-R`, those below it.
    fn directory(&mut self, name: &[u8], start: &Start, header: Header) -> Result<(), Failure> {
        let reader = Reader::new(&self.session, self.plan().ignored.clone());
        let told = self.note_listing(start, name)?;
        let follows = self.plan().links == Links::Targets;
        let found = match (self.plan().recursive, self.is_in_stored_order()) {
            (false, _) => reader.listings(start, name, Reach::Alone, |directory| {
                self.print_sorted(directory, header).map(drop)
            })?,
            (true, _) if follows => return self.through_links(&reader, name, start),
            (true, true) => reader.listings(start, name, Reach::Below, |directory| {
                self.print_sorted(directory, header).map(drop)
            })?,
            (true, false) => reader.in_order(start, name, |directory| {
                let children = self.print_sorted(directory, header)?;
                Ok::<_, Failure>(children.into_iter().map(|child| child.name).collect())
            })?,
        };
        if found == Found::Unread && told == 0 {
            self.tell_unread(name);
        }
        Ok(())
    }

    fn tell_unread(&mut self, name: &[u8]) {
        let name = quoted(name);
        say(format_args!(
            "cannot open directory {name}: it was not read"
        ));
        self.session.worsen(Exit::Issues);
    }

    /// Records which part of `start`, printed as `name`, is listed. Returns how many directories of
    /// it may not be listed.
    fn note_listing(&mut self, start: &Start, name: &[u8]) -> Result<u64, Failure> {
        let ignored = self.plan().ignored.clone();
        let hides = |path: &[u8]| ignored.has_between(&start.path, path);
        let part = Part {
            depth: match self.plan().recursive {
                true => Depth::All,
                false => Depth::Children,
            },
            skip: Subtrees::new(),
            hides: &hides,
        };
        let before = self.session.denied();
        self.session.note_part(start, name, &part)?;
        Ok(self.session.denied() - before)
    }

    /// Returns true if the index has directories in the order in which they are printed.
    fn is_in_stored_order(&self) -> bool {
        self.plan().order.is_stored_order() && !self.plan().directories_first
    }

    /// Prints a listing. Returns the directories in it, in the order in which they were printed.
    fn print_sorted(
        &mut self,
        mut directory: Directory,
        header: Header,
    ) -> Result<Vec<Child>, Failure> {
        if self.plan().ignored.hidden() == Hidden::All {
            let dots = self.dots(&directory.path)?.into_iter();
            let ignored = &self.plan.ignored;
            let shown = dots.filter(|item| !ignored.has(&item.name));
            directory.items.extend(shown);
        }
        let children = self.look_through(&mut directory)?;
        self.sort(&mut directory.items);
        if self.plan().form == Form::Text {
            self.print_head(&directory, header)?;
        }
        self.print(&directory.name, &directory.items, directory.items.len())?;
        self.written = Written::Something;
        let folders = directory.items.into_iter().filter(|item| {
            item.file_type() == FileType::Directory && !matches!(&item.name[..], b"." | b"..")
        });
        let child = |item: Item| match children.get(&item.name) {
            Some(path) => Child {
                name: item.name,
                path: Some(path.clone()),
            },
            None => Child {
                name: item.name,
                path: None,
            },
        };
        Ok(folders.map(child).collect())
    }

    fn print_head(&mut self, directory: &Directory, header: Header) -> Result<(), Failure> {
        if header == Header::Named {
            if self.written == Written::Something {
                self.report.put("\n")?;
            }
            let absolute = self.plan().hyperlinks.then(|| absolute(&directory.path));
            let line = self.renderer.naming.header(&directory.name, absolute);
            self.report.put(line)?;
        }
        if self.plan().style.layout == Layout::Long || self.plan().style.blocks {
            self.report.put(self.renderer.total(&directory.items))?;
        }
        Ok(())
    }

    /// Prints the first `shown` items. `dir` is the directory as it is printed, or empty if the
    /// items are arguments.
    fn print(&mut self, dir: &[u8], items: &[Item], shown: usize) -> Result<(), Failure> {
        let renderer = &self.renderer;
        if self.plan.form == Form::Text {
            return match shown {
                0 => Ok(()),
                _ => renderer.listing(items, shown, |bytes| Ok(self.report.put(bytes)?)),
            };
        }
        for item in items.iter().take(shown) {
            let path = match dir {
                b"" => item.name.clone(),
                dir => join_printed(dir, &item.name),
            };
            self.report
                .row(|row| rows::fill(row, &path, item, &renderer.owners))?;
        }
        Ok(())
    }
}

/// Returns a path of the index as the asker writes it, for a hyperlink. One that the asker has no name
/// for leads nowhere.
fn absolute(path: &[u8]) -> Vec<u8> {
    match mapped::theirs(path) {
        named if named.starts_with(b"/") => named.into_owned(),
        elsewhere => [b"/", &elsewhere[..]].concat(),
    }
}
