//! Device numbers: conversion between `st_dev` and major and minor numbers.

/// A device number, split into major and minor number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// Number of the driver; 0 for file systems without a device.
    pub major: u32,
    /// Number of the instance.
    pub minor: u32,
}

impl DeviceNumber {
    /// Returns the number as `st_dev` holds it.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/makedev.3.html>
    #[must_use]
    pub fn as_u64(self) -> u64 {
        rustix::fs::makedev(self.major, self.minor)
    }

    /// Splits the value of `st_dev`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/major.3.html>
    #[must_use]
    pub fn from_u64(device: u64) -> Self {
        DeviceNumber {
            major: rustix::fs::major(device),
            minor: rustix::fs::minor(device),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn splits_as_the_c_library_does() {
        let null = std::fs::metadata("/dev/null").unwrap().rdev();
        assert_eq!(
            DeviceNumber::from_u64(null),
            DeviceNumber { major: 1, minor: 3 }
        );
        let large = DeviceNumber {
            major: 0xf_ffff,
            minor: 0xff_ffff,
        };
        assert_eq!(DeviceNumber::from_u64(large.as_u64()), large);
    }
}
