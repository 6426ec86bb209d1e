//! Device numbers: conversion between `st_dev` and major and minor numbers.

pub use trawl_model::Dev as DeviceNumber;

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
