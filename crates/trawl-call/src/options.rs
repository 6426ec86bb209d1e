//! What is asked besides the pattern: as types, and as the bits that the C interface and the wire
//! carry.

use trawl_sys::access::Wish;

use crate::error::CallError;
use crate::pattern::{Language, Mode, Period};

/// How many matches are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Every one.
    #[default]
    All,
    /// The first one: of the earliest root in the list that has one, the first in the order of
    /// the answer. What fails the access test does not count.
    First,
}

/// Whether records say what stat(2) says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metadata {
    /// No.
    #[default]
    Omit,
    /// Of what symbolic links lead to, as stat(2).
    OfTarget,
    /// Of symbolic links themselves, as lstat(2).
    OfLink,
}

/// How paths in records begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RootForm {
    /// Below the searched directory, which is itself called `.`.
    #[default]
    Omitted,
    /// With the searched directory as it was given.
    Included,
}

/// Whether links to directories are gone into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Links {
    /// No.
    #[default]
    Stay,
    /// Yes, but not into a directory that the path already leads through.
    Follow,
}

/// Whether other file systems are gone into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mounts {
    /// Yes.
    #[default]
    Cross,
    /// No: what they are mounted on can match, what is in them is not looked at.
    Stay,
}

/// What the asking user must be allowed to do with a match: any of reading, writing, executing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access(u8);

const WISHES: [(Wish, u8); 3] = [(Wish::Read, 4), (Wish::Write, 2), (Wish::Execute, 1)];

impl Access {
    /// Nothing is asked.
    pub const NONE: Access = Access(0);

    /// The same and this.
    #[must_use]
    pub fn and(self, wish: Wish) -> Access {
        let more = WISHES.iter().filter(|(known, _)| *known == wish);
        Access(more.fold(self.0, |bits, (_, bit)| bits | bit))
    }

    /// Whether nothing is asked.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// What is asked, one by one.
    pub fn wishes(self) -> impl Iterator<Item = Wish> {
        let asked = WISHES.into_iter().filter(move |(_, bit)| self.0 & bit != 0);
        asked.map(|(wish, _)| wish)
    }
}

/// How far below a root a search goes unless it is said: directories further down are an error
/// record each.
pub const DEPTH_DEFAULT: usize = 8192;
/// How far a search goes in the paper's implementation, which ends with an error there
/// ([`crate::Search::ending_where_too_deep`]).
pub const DEPTH_PAPER: usize = 16;
/// The most that may be asked for.
pub const DEPTH_MAX: usize = 32_768;

/// What is asked besides the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// How many.
    pub extent: Extent,
    /// Whether with what stat(2) says.
    pub metadata: Metadata,
    /// How paths begin.
    pub root_form: RootForm,
    /// What must be allowed.
    pub access: Access,
    /// Whether links are followed.
    pub links: Links,
    /// Whether other file systems are gone into.
    pub mounts: Mounts,
    /// Directories may lie so many levels below a root; at most [`DEPTH_MAX`].
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

/// Flags as they are in C. The first eight have the numbers of the paper's implementation.
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
    /// Makes METADATA that of links themselves.
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

    /// All that there are.
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

    /// What the bits mean.
    ///
    /// # Errors
    /// [`CallError::Flags`] for bits that there are not.
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

    /// The bits for this.
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
            // NOFOLLOW is about METADATA alone.
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
