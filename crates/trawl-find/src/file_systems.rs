//! Kinds of file systems by device number, for `%F` and `-fstype`.
//!
//! The index keeps devices, not kinds: the kind is that of what is mounted
//! from that device now. A device that is not mounted is `unknown`.

use std::collections::HashMap;
use std::sync::OnceLock;

use trawl_model::Dev;

/// The mounted file systems, read when first asked for.
#[derive(Debug, Default)]
pub struct FileSystems {
    kinds: OnceLock<HashMap<Dev, String>>,
}

impl FileSystems {
    /// The kind of the file system on `dev`.
    pub fn kind(&self, dev: Dev) -> &str {
        let kinds = self.kinds.get_or_init(|| {
            let text = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
            parse(&String::from_utf8_lossy(&text))
        });
        kinds.get(&dev).map_or("unknown", String::as_str)
    }
}

/// Reads `/proc/self/mountinfo`, proc(5): the third field is the device, the
/// first one behind ` - ` the kind.
fn parse(text: &str) -> HashMap<Dev, String> {
    let line = |line: &str| {
        let (front, back) = line.split_once(" - ")?;
        let (major, minor) = front.split(' ').nth(2)?.split_once(':')?;
        let dev = Dev {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        };
        Some((dev, back.split(' ').next()?.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_device() {
        let kinds = parse(
            "22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\nodd\n23 1 0:5 / /p rw - proc proc rw\n",
        );
        let dev = |major, minor| Dev { major, minor };
        assert_eq!(kinds.get(&dev(254, 0)).map(String::as_str), Some("ext4"));
        assert_eq!(kinds.len(), 2);
        assert_eq!(FileSystems::default().kind(dev(u32::MAX, 7)), "unknown");
    }
}
