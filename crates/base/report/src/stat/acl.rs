//! Access control lists as getfacl(1) prints them.

use trawl_model::rows::Row;
use trawl_model::{Acl, FileType, Gid, Uid};
use trawl_text::owners::Owners;

/// Format of users and groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// By name where there is one.
    Names,
    /// As numbers.
    Numbers,
}

/// The access control lists of an entry.
pub struct Lists {
    access: Acl,
    default: Option<Acl>,
    is_extended: bool,
}

/// Formatter of users and groups.
pub struct Naming<'a> {
    /// Names of users and groups.
    pub owners: &'a Owners,
    /// Whether names are used.
    pub ids: Ids,
}

impl Lists {
    /// Returns the lists of a row; without a stored list, the access list follows from the mode.
    pub fn of(row: &Row<'_>) -> Lists {
        let bits = |shift: u32| (row.mode() >> shift & 7) as u8;
        let by_mode = Acl {
            owner: bits(6),
            group: bits(3),
            other: bits(0),
            ..Acl::default()
        };
        let stored = Acl::parse(row.acl());
        let default = Acl::parse(row.acl_default());
        Lists {
            is_extended: stored.is_some() || default.is_some(),
            access: stored.unwrap_or(by_mode),
            default: default.filter(|_| row.file_type() == FileType::Directory),
        }
    }

    /// Returns true if the lists say more than the mode.
    pub fn is_extended(&self) -> bool {
        self.is_extended
    }

    /// Returns every list entry as a line, without effective rights.
    pub fn entries(&self, naming: &Naming<'_>) -> Vec<String> {
        let lines = self.lines(naming).into_iter();
        let bare = lines.map(|line| line.split('\t').next().unwrap_or_default().to_owned());
        bare.collect()
    }

    fn lines(&self, naming: &Naming<'_>) -> Vec<String> {
        let mut lines = entries(&self.access, "", naming);
        if let Some(default) = &self.default {
            lines.extend(entries(default, "default:", naming));
        }
        lines
    }
}

/// Returns the text that getfacl prints for an entry; `path` is the path as getfacl shows it.
pub fn text(path: &[u8], row: &Row<'_>, naming: &Naming<'_>) -> Vec<u8> {
    let (owner, group) = (naming.user(row.uid()), naming.group(row.gid()));
    let mut out = [b"# file: ", path].concat();
    out.extend(format!("\n# owner: {owner}\n# group: {group}\n").bytes());
    let special = row.mode() & 0o7000;
    if special != 0 {
        let flag = |bit: u32, letter: char| if special & bit != 0 { letter } else { '-' };
        let flags = [flag(0o4000, 's'), flag(0o2000, 's'), flag(0o1000, 't')];
        out.extend(format!("# flags: {}\n", String::from_iter(flags)).bytes());
    }
    for line in Lists::of(row).lines(naming) {
        out.extend(line.bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
    out
}

/// Formats the entries of one list, in the order in which the kernel keeps them.
fn entries(acl: &Acl, before: &str, naming: &Naming<'_>) -> Vec<String> {
    let plain = |tag: &str, bits: u8| format!("{before}{tag}:{}", letters(bits));
    let masked = |tag: &str, bits: u8| {
        let line = plain(tag, bits);
        match acl.mask {
            Some(mask) if bits & !mask != 0 => {
                format!("{line}\t#effective:{}", letters(bits & mask))
            }
            _ => line,
        }
    };
    let users = acl.users.iter();
    let groups = acl.groups.iter();
    [plain("user:", acl.owner)]
        .into_iter()
        .chain(users.map(|(uid, bits)| masked(&format!("user:{}", naming.user(*uid)), *bits)))
        .chain([masked("group:", acl.group)])
        .chain(groups.map(|(gid, bits)| masked(&format!("group:{}", naming.group(*gid)), *bits)))
        .chain(acl.mask.map(|mask| plain("mask:", mask)))
        .chain([plain("other:", acl.other)])
        .collect()
}

fn letters(bits: u8) -> String {
    let letter = |bit: u8, letter: char| if bits & bit != 0 { letter } else { '-' };
    String::from_iter([letter(4, 'r'), letter(2, 'w'), letter(1, 'x')])
}

impl Naming<'_> {
    fn user(&self, uid: Uid) -> String {
        let name = match self.ids {
            Ids::Names => self.owners.user(uid),
            Ids::Numbers => None,
        };
        name.map_or_else(|| uid.to_string(), |name| shown(&name))
    }

    fn group(&self, gid: Gid) -> String {
        let name = match self.ids {
            Ids::Names => self.owners.group(gid),
            Ids::Numbers => None,
        };
        name.map_or_else(|| gid.to_string(), |name| shown(&name))
    }
}

/// Returns the name of a user or group as text; invalid bytes, which no system creates, are lost.
fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
