//! The parameters of a search besides the pattern: as types, and as the flag bits of the C
//! interface and the wire.

use trawl_sys::access::Wish;

use crate::error::CallError;
use crate::pattern::{Language, Mode, Period};

/// How many matches are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Every match.
    #[default]
    All,
    /// The first match: the first one in the answer's order, of the earliest root in the list that
    /// has any. Entries that fail the access test do not count.
    First,
}

/// Whether records carry the attributes that stat(2) returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metadata {
    /// No attributes.
    #[default]
    Omit,
    /// Attributes of the targets of symbolic links, as by stat(2).
    OfTarget,
    /// Attributes of the symbolic links themselves, as by lstat(2).
    OfLink,
}

/// How paths in records begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RootForm {
    /// Relative to the searched directory, which is itself called `.`.
    #[default]
    Omitted,
    /// With the searched directory as it was given.
    Included,
}

/// Whether symbolic links to directories are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Links {
    /// No.
    #[default]
    Stay,
    /// Yes, except into a directory that the path already passes through.
    Follow,
}

/// Whether other file systems are entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mounts {
    /// Yes.
    #[default]
    Cross,
    /// No: mount points can match, but the file systems mounted on them are not searched.
    Stay,
}

/// Rights that the asking user must have on a match: all of the chosen ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access(u8);

const WISHES: [(Wish, u8); 3] = [(Wish::Read, 4), (Wish::Write, 2), (Wish::Execute, 1)];

impl Access {
    /// No rights are required.
    pub const NONE: Access = Access(0);

    /// Adds a required right.
    #[must_use]
    pub fn and(self, wish: Wish) -> Access {
        let more = WISHES.iter().filter(|(known, _)| *known == wish);
        Access(more.fold(self.0, |bits, (_, bit)| bits | bit))
    }

    /// Returns whether no rights are required.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns the required rights one by one.
    pub fn wishes(self) -> impl Iterator<Item = Wish> {
        let asked = WISHES.into_iter().filter(move |(_, bit)| self.0 & bit != 0);
        asked.map(|(wish, _)| wish)
    }
}

/// Default maximum depth of a search, in levels below the root. A directory further down becomes an
/// error record.
pub const DEPTH_DEFAULT: usize = 8192;
/// Maximum depth in the paper's implementation, which ends with an error there
/// ([`crate::Search::ending_where_too_deep`]).
pub const DEPTH_PAPER: usize = 16;
/// Greatest depth that a caller may request.
pub const DEPTH_MAX: usize = 32_768;

/// The parameters of a search besides the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// How many matches are wanted.
    pub extent: Extent,
    /// Whether records carry attributes, and whose.
    pub metadata: Metadata,
    /// How paths in records begin.
    pub root_form: RootForm,
    /// Rights that the asking user must have on a match.
    pub access: Access,
    /// Whether symbolic links to directories are followed.
    pub links: Links,
    /// Whether other file systems are entered.
    pub mounts: Mounts,
    /// Maximum depth of searched directories, in levels below a root; at most [`DEPTH_MAX`].
    pub max_depth: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            extent: Extent::default(),
            metadata: Metadata::default(),
            root_form: RootForm::default(),
            access: Access::NONE,
            links: Links::default(),
            mounts: Mounts::default(),
            max_depth: DEPTH_DEFAULT,
        }
    }
}

/// Flag bits as in C. The first eight have the numbers of the paper's implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u32);

impl Flags {
    /// [`Extent::First`].
    pub const STOPATFIRST: u32 = 1 << 0;
    /// [`Metadata::OfTarget`].
    pub const METADATA: u32 = 1 << 2;
    /// [`RootForm::Included`].
    pub const INCLUDEROOT: u32 = 1 << 3;
    /// [`Period::Explicit`].
    pub const PERIOD: u32 = 1 << 4;
    /// Matches must be readable.
    pub const R_OK: u32 = 1 << 5;
    /// Matches must be writable.
    pub const W_OK: u32 = 1 << 6;
    /// Matches must be executable.
    pub const X_OK: u32 = 1 << 7;
    /// Makes [`Flags::METADATA`] that of symbolic links themselves.
    pub const NOFOLLOW: u32 = 1 << 8;
    /// [`Links::Follow`].
    pub const FOLLOW: u32 = 1 << 9;
    /// [`Mounts::Stay`].
    pub const XDEV: u32 = 1 << 10;
    /// [`Mode::Fnmatch`].
    pub const FNMATCH: u32 = 1 << 11;

    const ACCESS: [(u32, Wish); 3] = [
        (Flags::R_OK, Wish::Read),
        (Flags::W_OK, Wish::Write),
        (Flags::X_OK, Wish::Execute),
    ];

    /// All known flags.
    pub const ALL: u32 = Flags::STOPATFIRST
        | Flags::METADATA
        | Flags::INCLUDEROOT
        | Flags::PERIOD
        | Flags::R_OK
        | Flags::W_OK
        | Flags::X_OK
        | Flags::NOFOLLOW
        | Flags::FOLLOW
        | Flags::XDEV
        | Flags::FNMATCH;

    fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// Decodes the bits.
    ///
    /// # Errors
    /// [`CallError::Flags`] for unknown bits.
    pub fn read(self) -> Result<(Language, Options), CallError> {
        let unknown = self.0 & !Flags::ALL;
        if unknown != 0 {
            return Err(CallError::Flags {
                bits: unknown,
                known: Flags::ALL,
            });
        }
        let pick = |bit| usize::from(self.has(bit));
        let language = Language {
            mode: [Mode::Paper, Mode::Fnmatch][pick(Flags::FNMATCH)],
            period: [Period::Ordinary, Period::Explicit][pick(Flags::PERIOD)],
        };
        let asked = Flags::ACCESS.iter().filter(|(bit, _)| self.has(*bit));
        let of = [Metadata::OfTarget, Metadata::OfLink][pick(Flags::NOFOLLOW)];
        let options = Options {
            extent: [Extent::All, Extent::First][pick(Flags::STOPATFIRST)],
            metadata: [Metadata::Omit, of][pick(Flags::METADATA)],
            root_form: [RootForm::Omitted, RootForm::Included][pick(Flags::INCLUDEROOT)],
            access: asked.fold(Access::NONE, |access, (_, wish)| access.and(*wish)),
            links: [Links::Stay, Links::Follow][pick(Flags::FOLLOW)],
            mounts: [Mounts::Cross, Mounts::Stay][pick(Flags::XDEV)],
            ..Options::default()
        };
        Ok((language, options))
    }

    /// Returns the bits for a language and options.
    pub fn of(language: Language, options: &Options) -> Flags {
        let bits = [
            (Flags::STOPATFIRST, options.extent == Extent::First),
            (Flags::METADATA, options.metadata != Metadata::Omit),
            (Flags::NOFOLLOW, options.metadata == Metadata::OfLink),
            (Flags::INCLUDEROOT, options.root_form == RootForm::Included),
            (Flags::PERIOD, language.period == Period::Explicit),
            (Flags::FOLLOW, options.links == Links::Follow),
            (Flags::XDEV, options.mounts == Mounts::Stay),
            (Flags::FNMATCH, language.mode == Mode::Fnmatch),
        ];
        let bits = bits.iter().filter(|(_, is_set)| *is_set);
        let bits = bits.fold(0, |all, (bit, _)| all | bit);
        let asked = |wish| options.access.wishes().any(|asked| asked == wish);
        let access = Flags::ACCESS.iter().filter(|(_, wish)| asked(*wish));
        Flags(access.fold(bits, |all, (bit, _)| all | bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_and_written() {
        for bits in 0..=Flags::ALL {
            let Ok((language, options)) = Flags(bits).read() else {
                assert_eq!(bits & (1 << 1), 1 << 1, "{bits:#x}");
                continue;
            };
            let mut expected = bits;
            // NOFOLLOW only changes METADATA.
            if bits & Flags::METADATA == 0 {
                expected &= !Flags::NOFOLLOW;
            }
            assert_eq!(Flags::of(language, &options), Flags(expected));
        }
        assert!(matches!(
            Flags(1 << 31 | Flags::XDEV).read(),
            Err(CallError::Flags { bits, .. }) if bits == 1 << 31
        ));
    }
}
