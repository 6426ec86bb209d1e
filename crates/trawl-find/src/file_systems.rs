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
    mounted: OnceLock<HashMap<Dev, Mounted>>,
}

/// What is known of a device, over all its mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mounted {
    kind: String,
    /// True if nobody may write anywhere it is mounted.
    read_only: bool,
    /// True if no program may be run anywhere it is mounted.
    without_programs: bool,
}

impl FileSystems {
    fn mounted(&self, dev: Dev) -> Option<&Mounted> {
        let mounted = self.mounted.get_or_init(|| {
            let text = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
            parse(&String::from_utf8_lossy(&text))
        });
        mounted.get(&dev)
    }

    /// The kind of the file system on `dev`.
    pub fn kind(&self, dev: Dev) -> &str {
        self.mounted(dev).map_or("unknown", |mounted| &mounted.kind)
    }

    /// True if nothing can be written to the file system on `dev`.
    pub fn is_read_only(&self, dev: Dev) -> bool {
        self.mounted(dev).is_some_and(|mounted| mounted.read_only)
    }

    /// True if no program of the file system on `dev` can be run.
    pub fn is_without_programs(&self, dev: Dev) -> bool {
        self.mounted(dev)
            .is_some_and(|mounted| mounted.without_programs)
    }
}

/// Reads `/proc/self/mountinfo`, proc(5): the third field is the device, the
/// sixth the mount's options; behind ` - ` come the kind, the source and the
/// file system's own options.
fn parse(text: &str) -> HashMap<Dev, Mounted> {
    let mut all: HashMap<Dev, Mounted> = HashMap::new();
    for (dev, one) in text.lines().filter_map(parse_line) {
        let known = all.entry(dev).or_insert_with(|| one.clone());
        known.kind = one.kind;
        known.read_only &= one.read_only;
        known.without_programs &= one.without_programs;
    }
    all
}

fn parse_line(line: &str) -> Option<(Dev, Mounted)> {
    let (front, back) = line.split_once(" - ")?;
    let front: Vec<&str> = front.split(' ').collect();
    let (major, minor) = front.get(2)?.split_once(':')?;
    let dev = Dev {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    };
    let mut back = back.split(' ');
    let kind = back.next()?.to_owned();
    let has = |options: &str, word: &str| options.split(',').any(|option| option == word);
    let of_mount = front.get(5).copied().unwrap_or_default();
    let own = back.nth(1).unwrap_or_default();
    let mounted = Mounted {
        kind,
        read_only: has(of_mount, "ro") || has(own, "ro"),
        without_programs: has(of_mount, "noexec"),
    };
    Some((dev, mounted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_device() {
        let mounted = parse(
            "22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\nodd\n23 1 0:5 / /p rw - proc proc rw\n",
        );
        let dev = |major, minor| Dev { major, minor };
        let kind = |dev| mounted.get(&dev).map(|mounted| mounted.kind.as_str());
        assert_eq!(kind(dev(254, 0)), Some("ext4"));
        assert_eq!(mounted.len(), 2);
        assert_eq!(FileSystems::default().kind(dev(u32::MAX, 7)), "unknown");
    }

    #[test]
    fn what_every_mount_forbids_is_forbidden() {
        let mounted = parse(
            "1 1 8:1 / /a ro,noexec - ext4 /dev/a rw\n2 1 8:1 / /b rw,noexec - ext4 /dev/a rw\n\
             3 1 8:2 / /c rw shared:1 - ext4 /dev/b ro,x\n",
        );
        let of = |minor| &mounted[&Dev { major: 8, minor }];
        assert!(!of(1).read_only && of(1).without_programs);
        assert!(of(2).read_only && !of(2).without_programs);
    }
}
