//! Turns items into lines: the content of each field in a style.

use trawl_model::{FileType, Meta, Timestamp};
use trawl_text::mode;
use trawl_text::owners::{OwnerName, Owners};
use trawl_text::zone::Zone;

use crate::listing::columns::{Cell, Fill, Page};
use crate::listing::long::{self, Line, LongName, OwnerField, SizeField, Widths};
use crate::listing::name::Naming;
use crate::listing::style::{Indicator, Layout, Style};
use crate::listing::{AccessMark, Item};

/// Maximum number of lines in long format that are held at once.
const LINES_KEPT: usize = 8192;

/// A style and everything else that rendering needs.
pub struct Renderer<'a> {
    /// The look of the listing.
    pub style: &'a Style,
    /// Rendering of names.
    pub naming: Naming,
    /// Names of users and groups.
    pub owners: Owners,
    /// Time zone in which times are shown.
    pub zone: Zone,
    /// Time that decides which times are recent.
    pub now: Timestamp,
}

impl Renderer<'_> {
    /// Passes the lines of the first `shown` of `items` to `put`, piece by piece, without any
    /// header. The other items only widen columns, as directories among the arguments do.
    pub fn listing<E>(
        &self,
        items: &[Item],
        shown: usize,
        mut put: impl FnMut(Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let sets_in = self.naming.sets_in(items);
        match self.style.layout {
            Layout::Long => self.long(items, shown, sets_in, put),
            _ => put(self.short(items, shown, sets_in)),
        }
    }

    /// Renders the long format. The lines of a large listing are not kept: they are made once for
    /// their widths and once for output.
    fn long<E>(
        &self,
        all: &[Item],
        shown: usize,
        sets_in: bool,
        mut put: impl FnMut(Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let lines = |items: &[Item]| -> Vec<Line> {
            let line = |item| self.long_line(item, sets_in);
            items.iter().map(line).collect()
        };
        let mut widths = Widths::default();
        let mut kept = Vec::new();
        for items in all.chunks(LINES_KEPT) {
            kept = lines(items);
            widths.widen(&kept);
        }
        if kept.iter().any(|line| line.time.is_none()) || all.len() > LINES_KEPT {
            widths.expect_time(self.style.look.expected_width(&self.zone));
        }
        let items = all.get(..shown).unwrap_or(all);
        if all.len() <= LINES_KEPT {
            kept.truncate(items.len());
            return put(self.aligned(&kept, &widths));
        }
        let mut pieces = items.chunks(LINES_KEPT);
        pieces.try_for_each(|items| put(self.aligned(&lines(items), &widths)))
    }

    fn aligned(&self, lines: &[Line], widths: &Widths) -> Vec<u8> {
        let mut out = Vec::with_capacity(lines.len() * 80);
        for line in lines {
            self.naming.push_line_start(&mut out);
            let start = long::push_fields(&mut out, line, widths);
            self.push_long_name(&mut out, &line.name, start);
            out.push(self.style.ending);
        }
        out
    }

    fn push_long_name(&self, out: &mut Vec<u8>, name: &LongName, start: usize) {
        let length = self.naming.push(out, &name.own, start);
        if let Some(target) = &name.target {
            out.extend_from_slice(b" -> ");
            self.naming.push(out, target, start + length + 4);
        }
        out.extend(name.mark);
    }

    /// Renders the line `total 123`, the allocated space of a listing.
    pub fn total(&self, items: &[Item]) -> Vec<u8> {
        let bytes: u128 = items.iter().map(Item::disk_bytes).sum();
        let mut line = format!("total {}", self.style.block_size.show(bytes)).into_bytes();
        line.push(self.style.ending);
        line
    }

    fn indicator(&self, mode: Option<u32>, kind: FileType) -> Option<u8> {
        let kind = mode.map_or(kind, FileType::from_mode);
        match (self.style.indicator, kind) {
            (Indicator::None, _) => None,
            (_, FileType::Directory) => Some(b'/'),
            (Indicator::Slash, _) => None,
            (_, FileType::Symlink) => Some(b'@'),
            (_, FileType::Fifo) => Some(b'|'),
            (_, FileType::Socket) => Some(b'='),
            (Indicator::Classify, FileType::Regular) if mode.unwrap_or(0) & 0o111 != 0 => {
                Some(b'*')
            }
            _ => None,
        }
    }

    fn short(&self, items: &[Item], shown: usize, sets_in: bool) -> Vec<u8> {
        let cells = self.cells(items, shown, sets_in);
        let page = Page {
            line_width: self.style.width,
            tab_width: match self.naming.is_coloured() {
                true => 0,
                false => self.style.tab_width,
            },
            ending: self.style.ending,
        };
        let finish = |cell: &Cell, start: usize| {
            let mut out = Vec::with_capacity(cell.width + 1);
            self.naming.push_line_start(&mut out);
            out.extend_from_slice(&cell.front);
            self.naming.push(&mut out, &cell.name, start);
            out.extend(cell.mark);
            out
        };
        match self.style.layout {
            Layout::Columns => page.columns(&cells, Fill::Down, finish),
            Layout::Across => page.columns(&cells, Fill::Across, finish),
            Layout::Commas => page.separated(&cells, b',', finish),
            Layout::Lines | Layout::Long => {
                let line = |cell: &Cell| [finish(cell, 0), vec![self.style.ending]].concat();
                cells.iter().flat_map(line).collect()
            }
        }
    }

    fn cells(&self, items: &[Item], shown: usize, sets_in: bool) -> Vec<Cell> {
        let fields = |item: &Item| {
            let inode = self.style.inode.then(|| inode(item));
            [inode, self.style.blocks.then(|| self.blocks(item))]
        };
        // Names separated by commas are not aligned.
        let lines_up = self.style.layout != Layout::Commas;
        let mut widths = [0, 0];
        for item in items.iter().filter(|_| lines_up) {
            for (width, field) in widths.iter_mut().zip(fields(item)) {
                *width = (*width).max(field.map_or(0, |field| field.len()));
            }
        }
        let cell = |item: &Item| {
            let mut front = String::new();
            for (width, field) in widths.iter().zip(fields(item)) {
                if let Some(field) = field {
                    front.push_str(&format!("{field:>width$} "));
                }
            }
            let name = self.naming.name(item, sets_in);
            let mark = self.indicator(item.meta.map(|meta| meta.mode), item.kind);
            Cell {
                width: front.len() + name.width + usize::from(mark.is_some()),
                front: front.into_bytes(),
                name,
                mark,
            }
        };
        items.iter().take(shown).map(cell).collect()
    }

    /// Returns the width of an item's name in terminal columns.
    pub fn name_width(&self, item: &Item, sets_in: bool) -> usize {
        self.naming.name(item, sets_in).width
    }

    fn long_line(&self, item: &Item, sets_in: bool) -> Line {
        let meta = item.meta;
        Line {
            inode: self.style.inode.then(|| inode(item)),
            blocks: self.style.blocks.then(|| self.blocks(item)),
            mode: match meta {
                Some(meta) => mode::render(meta.mode),
                None => {
                    let mut mode = [b'?'; 10];
                    mode[0] = long_letter(item.kind);
                    mode
                }
            },
            mark: match item.mark {
                _ if meta.is_none() => b'?',
                AccessMark::Plain => b' ',
                AccessMark::Label => b'.',
                AccessMark::List => b'+',
            },
            is_known: meta.is_some(),
            nlink: meta.map(|meta| meta.nlink),
            owners: self.owner_fields(meta),
            size: self.size(meta),
            time: meta
                .and_then(|meta| self.style.time.of(&meta))
                .map(|time| self.style.look.show(time, self.now, &self.zone)),
            name: self.long_name(item, sets_in),
        }
    }

    fn long_name(&self, item: &Item, sets_in: bool) -> LongName {
        let own = self.naming.name(item, sets_in);
        let mode = item.meta.map(|meta| meta.mode);
        match item.file_type() {
            // The link's own indicator is not shown before the arrow.
            FileType::Symlink if !item.target.is_empty() => LongName {
                own,
                target: Some(self.naming.target(item, sets_in)),
                mark: item
                    .target_mode
                    .and_then(|mode| self.indicator(Some(mode), FileType::Unknown)),
            },
            FileType::Symlink => LongName {
                own,
                target: None,
                mark: None,
            },
            kind => LongName {
                own,
                target: None,
                mark: self.indicator(mode, kind),
            },
        }
    }

    /// Returns the user, group and author, as far as they are shown.
    fn owner_fields(&self, meta: Option<Meta>) -> [Option<OwnerField>; 3] {
        let wanted = self.style.owners;
        let field = |name: &dyn Fn(Meta) -> (OwnerName, u32)| match meta.map(name) {
            Some((Some(name), _)) if !wanted.numeric => OwnerField::Name(name),
            Some((_, id)) => OwnerField::Id(id),
            None => OwnerField::Unknown,
        };
        let user = || field(&|meta| (self.owners.user(meta.uid), meta.uid.0));
        let group = || field(&|meta| (self.owners.group(meta.gid), meta.gid.0));
        [
            wanted.user.then(user),
            wanted.group.then(group),
            wanted.author.then(user),
        ]
    }

    fn size(&self, meta: Option<Meta>) -> SizeField {
        match meta {
            None => SizeField::Size("?".into()),
            Some(meta) if matches!(meta.file_type(), FileType::Block | FileType::Char) => {
                SizeField::Device(meta.rdev.major, meta.rdev.minor)
            }
            Some(meta) => SizeField::Size(self.style.file_size.show(u128::from(meta.size))),
        }
    }

    fn blocks(&self, item: &Item) -> String {
        match item.meta {
            Some(_) => self.style.block_size.show(item.disk_bytes()),
            None => "?".into(),
        }
    }
}

/// Returns the first letter of a mode of which only the type is known.
fn long_letter(kind: FileType) -> u8 {
    match kind {
        FileType::Regular => b'-',
        FileType::Unknown => b'?',
        other => other.letter(),
    }
}

fn inode(item: &Item) -> String {
    item.meta
        .map_or_else(|| "?".into(), |meta| meta.ino.to_string())
}
