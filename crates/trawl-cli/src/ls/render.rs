//! From items to lines: what each field says under a plan.

use trawl_model::{FileType, Meta, Timestamp};
use trawl_text::locale::Locale;
use trawl_text::owners::{OwnerName, Owners};
use trawl_text::quote::{Quoting, Terminal};
use trawl_text::zone::Zone;
use trawl_text::{mode, strftime, time_style};

use crate::ls::colour::Palette;
use crate::ls::columns::{self, Cell, Gap};
use crate::ls::item::{AccessMark, Item};
use crate::ls::long::{self, Field, Line, SizeField, Widths};
use crate::ls::plan::{Indicator, Layout, Plan, TimeLook};
use crate::width::width;

/// Lines of the long format that are held at once.
const LINES_KEPT: usize = 8192;

/// A plan with everything that rendering needs besides.
pub(crate) struct Renderer<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) quoting: Quoting,
    pub(crate) locale: Locale,
    pub(crate) owners: Owners,
    pub(crate) zone: Zone,
    pub(crate) now: Timestamp,
    pub(crate) palette: Option<Palette>,
}

impl Renderer<'_> {
    /// The lines of the first `shown` of `items`, without any header; the
    /// others only widen columns, as directories among the arguments do.
    pub(crate) fn listing(&self, items: &[Item], shown: usize) -> Vec<u8> {
        // With quotes round some names only, the others are set in by one.
        let some_quoted = self.plan.hide_control
            && self.aligns_quotes()
            && items.iter().any(|item| self.is_quoted(&item.name));
        match self.plan.layout {
            Layout::Long => self.long(items, shown, some_quoted),
            Layout::Lines | Layout::Columns => self.short(items, shown, some_quoted),
        }
    }

    /// The long format. The lines of a large listing are made twice rather
    /// than kept, once for their widths.
    fn long(&self, all: &[Item], shown: usize, some_quoted: bool) -> Vec<u8> {
        let lines = |items: &[Item]| -> Vec<Line> {
            let line = |item| self.long_line(item, some_quoted);
            items.iter().map(line).collect()
        };
        let mut widths = Widths::default();
        let mut kept = Vec::new();
        for items in all.chunks(LINES_KEPT) {
            kept = lines(items);
            widths.widen(&kept);
        }
        let items = all.get(..shown).unwrap_or(all);
        let mut out = Vec::with_capacity(items.len() * 80);
        if all.len() <= LINES_KEPT {
            kept.truncate(items.len());
            long::push_lines(&mut out, &kept, &widths, self.plan.ending);
            return out;
        }
        for items in items.chunks(LINES_KEPT) {
            long::push_lines(&mut out, &lines(items), &widths, self.plan.ending);
        }
        out
    }

    /// `total 123`: the allocated space of a listing.
    pub(crate) fn total(&self, items: &[Item]) -> Vec<u8> {
        let bytes: u128 = items.iter().map(Item::disk_bytes).sum();
        let mut line = format!("total {}", self.plan.block_size.show(bytes)).into_bytes();
        line.push(self.plan.ending);
        line
    }

    /// `name:` above a directory's listing.
    pub(crate) fn header(&self, name: &[u8]) -> Vec<u8> {
        let mut line = self.shown(name);
        // A colon would be ambiguous in a name that holds one.
        let plain = line.as_slice() == name && self.aligns_quotes() && name.contains(&b':');
        if plain {
            line = [b"'", name, b"'"].concat();
        }
        line.extend_from_slice(b":");
        line.push(self.plan.ending);
        line
    }

    /// A name as it is shown, without colours.
    fn shown(&self, name: &[u8]) -> Vec<u8> {
        let quoted = self.quoting.quote(name, self.locale);
        let device = if self.plan.hide_control {
            Terminal::Watched(self.locale)
        } else {
            Terminal::Absent
        };
        device.show(&quoted).into_owned()
    }

    fn aligns_quotes(&self) -> bool {
        matches!(self.quoting, Quoting::Shell | Quoting::ShellEscape)
    }

    fn is_quoted(&self, name: &[u8]) -> bool {
        matches!(
            self.quoting.quote(name, self.locale).first(),
            Some(b'\'' | b'"')
        ) && !matches!(name.first(), Some(b'\'' | b'"'))
            || self.quoting.quote(name, self.locale).len() != name.len()
    }

    /// The name with colours and indicator, and the columns it takes.
    fn cell(&self, item: &Item, some_quoted: bool) -> Cell {
        let shown = self.shown(&item.name);
        let set_in = some_quoted && !self.is_quoted(&item.name);
        let indicator = self.indicator(item.meta.map(|meta| meta.mode));
        let width = width(&shown) + usize::from(set_in) + usize::from(indicator.is_some());
        let painted = match &self.palette {
            Some(palette) => palette.paint(item, &shown),
            None => shown,
        };
        let mut bytes = if set_in { b" ".to_vec() } else { Vec::new() };
        bytes.extend(painted);
        bytes.extend(indicator);
        Cell { bytes, width }
    }

    fn indicator(&self, mode: Option<u32>) -> Option<u8> {
        let mode = mode?;
        let kind = FileType::from_mode(mode);
        match (self.plan.indicator, kind) {
            (Indicator::None, _) => None,
            (_, FileType::Directory) => Some(b'/'),
            (Indicator::Slash, _) => None,
            (_, FileType::Symlink) => Some(b'@'),
            (_, FileType::Fifo) => Some(b'|'),
            (_, FileType::Socket) => Some(b'='),
            (Indicator::Classify, FileType::Regular) if mode & 0o111 != 0 => Some(b'*'),
            _ => None,
        }
    }

    fn short(&self, items: &[Item], shown: usize, some_quoted: bool) -> Vec<u8> {
        let (inodes, blocks): (Vec<String>, Vec<String>) = items
            .iter()
            .map(|item| (inode(item), self.blocks(item)))
            .unzip();
        let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
        let (inode_width, block_width) = (widest(&inodes), widest(&blocks));
        let cells: Vec<Cell> = items
            .iter()
            .take(shown)
            .zip(inodes.iter().zip(&blocks))
            .map(|(item, (inode, blocks))| {
                let mut front = String::new();
                if self.plan.inode {
                    front.push_str(&format!("{inode:>inode_width$} "));
                }
                if self.plan.blocks {
                    front.push_str(&format!("{blocks:>block_width$} "));
                }
                let cell = self.cell(item, some_quoted);
                Cell {
                    bytes: [front.as_bytes(), &cell.bytes].concat(),
                    width: front.len() + cell.width,
                }
            })
            .collect();
        if self.plan.layout == Layout::Columns {
            let gap = if self.palette.is_some() {
                Gap::Spaces
            } else {
                Gap::Tabs
            };
            return columns::layout(&cells, self.plan.width, gap);
        }
        let mut out = Vec::new();
        for cell in cells {
            out.extend(cell.bytes);
            out.push(self.plan.ending);
        }
        out
    }

    fn long_line(&self, item: &Item, some_quoted: bool) -> Line {
        let meta = item.meta;
        let unknown = || "?".to_owned();
        Line {
            inode: self.plan.inode.then(|| inode(item)),
            blocks: self.plan.blocks.then(|| self.blocks(item)),
            mode: match meta {
                Some(meta) => mode::render(meta.mode).to_vec(),
                None => b"?????????".iter().fold(b"d".to_vec(), |mut line, mark| {
                    line.push(*mark);
                    line
                }),
            },
            mark: match item.mark {
                AccessMark::Plain => b' ',
                AccessMark::Label => b'.',
                AccessMark::List => b'+',
            },
            nlink: meta.map_or_else(unknown, |meta| meta.nlink.to_string()),
            owners: self.owner_fields(meta),
            size: self.size(meta),
            time: meta
                .and_then(|meta| self.plan.time.of(&meta))
                .map_or_else(unknown, |time| self.time(time)),
            name: self.long_name(item, some_quoted),
        }
    }

    fn long_name(&self, item: &Item, some_quoted: bool) -> Vec<u8> {
        let mut cell = self.cell(item, some_quoted);
        if item.file_type() != FileType::Symlink {
            return cell.bytes;
        }
        // The link's own mark has no place before the arrow.
        if self.indicator(item.meta.map(|meta| meta.mode)).is_some() {
            cell.bytes.pop();
        }
        if !item.target.is_empty() {
            cell.bytes.extend_from_slice(b" -> ");
            cell.bytes.extend(self.shown(&item.target));
            cell.bytes.extend(self.indicator(item.target_mode));
        }
        cell.bytes
    }

    fn owner_fields(&self, meta: Option<Meta>) -> Vec<Field> {
        let wanted = self.plan.owners;
        let field = |name: OwnerName, id: u32| match name.filter(|_| !wanted.numeric) {
            Some(name) => Field::Left(name.to_vec()),
            None => Field::Right(id.to_string().into_bytes()),
        };
        let unknown = || Field::Left(b"?".to_vec());
        let user = || match meta {
            Some(meta) => field(self.owners.user(meta.uid), meta.uid.0),
            None => unknown(),
        };
        let group = || match meta {
            Some(meta) => field(self.owners.group(meta.gid), meta.gid.0),
            None => unknown(),
        };
        let mut fields = Vec::with_capacity(2);
        fields.extend(wanted.user.then(user));
        fields.extend(wanted.group.then(group));
        fields
    }

    fn size(&self, meta: Option<Meta>) -> SizeField {
        match meta {
            None => SizeField::Size("?".into()),
            Some(meta) if matches!(meta.file_type(), FileType::Block | FileType::Char) => {
                SizeField::Device(meta.rdev.major, meta.rdev.minor)
            }
            Some(meta) => SizeField::Size(self.plan.file_size.show(u128::from(meta.size))),
        }
    }

    fn blocks(&self, item: &Item) -> String {
        match item.meta {
            Some(_) => self.plan.block_size.show(item.disk_bytes()),
            None => "?".into(),
        }
    }

    fn time(&self, time: Timestamp) -> String {
        let mut out = String::new();
        match &self.plan.look {
            TimeLook::Locale => time_style::ls(&mut out, time, self.now, &self.zone),
            TimeLook::FullIso => time_style::full_iso(&mut out, time, &self.zone),
            TimeLook::LongIso => time_style::long_iso(&mut out, time, &self.zone),
            TimeLook::Iso => time_style::iso(&mut out, time, self.now, &self.zone),
            TimeLook::Format(old, recent) => {
                let half_year_ago = self.now.minus_secs(31_556_952 / 2);
                let is_recent = half_year_ago < time && time < self.now;
                let format = if is_recent { recent } else { old };
                strftime::format(&mut out, format, &self.zone.civil(time.secs), &self.zone);
            }
        }
        out
    }
}

fn inode(item: &Item) -> String {
    item.meta
        .map_or_else(|| "?".into(), |meta| meta.ino.to_string())
}
