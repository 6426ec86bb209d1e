//! Newtypes for ids and device numbers, which must not be confused.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id!(
    /// A numeric user id (`uid_t`).
    Uid(u32)
);
id!(
    /// A numeric group id (`gid_t`).
    Gid(u32)
);
id!(
    /// Id of a directory within one scan: assigned by the source, unique there,
    /// never stored.
    DirId(u64)
);

impl Uid {
    /// The superuser, who bypasses permission bits (`CAP_DAC_READ_SEARCH`,
    /// capabilities(7)).
    pub const ROOT: Uid = Uid(0);

    /// The owner that is no user: -1, which no process can have (setuid(2)). It
    /// represents an owner that an id map does not map.
    pub const NOBODY: Uid = Uid(u32::MAX);
}

impl Gid {
    /// The group without members: -1, which no process can have.
    pub const NOBODY: Gid = Gid(u32::MAX);
}

/// A device number, split into major and minor as Linux does it, makedev(3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dev {
    /// Number of the driver; 0 for a file system without a device.
    pub major: u32,
    /// Number of the instance.
    pub minor: u32,
}

impl Dev {
    /// Returns the number in glibc's encoding of `st_dev` and `st_rdev`: the
    /// low 12 bits of the major and the low 8 bits of the minor in the classic
    /// places (bits 8 to 19 and 0 to 7), the remaining bits above them.
    pub const fn as_u64(self) -> u64 {
        let (major, minor) = (self.major as u64, self.minor as u64);
        ((major & 0xffff_f000) << 32)
            | ((major & 0x0000_0fff) << 8)
            | ((minor & 0xffff_ff00) << 12)
            | (minor & 0x0000_00ff)
    }

    /// Decodes a number; the inverse of [`Dev::as_u64`].
    pub const fn from_u64(dev: u64) -> Dev {
        Dev {
            major: (((dev >> 32) & 0xffff_f000) | ((dev >> 8) & 0x0000_0fff)) as u32,
            minor: (((dev >> 12) & 0xffff_ff00) | (dev & 0x0000_00ff)) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn device_numbers_survive_the_encoding(major: u32, minor: u32) {
            let dev = Dev { major, minor };
            prop_assert_eq!(Dev::from_u64(dev.as_u64()), dev);
        }
    }

    #[test]
    fn a_well_known_device_has_its_well_known_number() {
        // /dev/sda1 is 8:1, which stat(1) prints as 801h.
        assert_eq!(Dev { major: 8, minor: 1 }.as_u64(), 0x801);
    }
}
