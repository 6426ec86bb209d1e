//! Quotas from a stand-in for the kernel.

use std::collections::BTreeMap;

use trawl_sys::Op;

use super::*;

/// A file system of the stand-in.
#[derive(Clone, Debug, Default)]
struct Mounted {
    kind: &'static str,
    device: u32,
    /// The quotas of each kind that is kept.
    kept: BTreeMap<Kind, Vec<Quota>>,
    /// The error of listing all quotas.
    listing: Option<Errno>,
    /// The error of any question.
    refusal: Option<Errno>,
    /// Ids that may not be asked about.
    foreign: Vec<u32>,
}

#[derive(Default)]
struct StandIn {
    systems: BTreeMap<&'static str, Mounted>,
    is_old: bool,
}

fn failed(errno: Errno) -> SysError {
    SysError::new(Op::QuotactlFd, errno)
}

impl Source for StandIn {
    type Place = Mounted;

    fn is_supported(&self) -> bool {
        !self.is_old
    }

    fn open(&self, path: &OsStr) -> Result<(FileSystem, Mounted), SysError> {
        let known = path.to_str().and_then(|path| self.systems.get(path));
        let mounted = known.ok_or(SysError::new(Op::Openat, Errno::NOENT))?;
        let system = FileSystem {
            mount: path.as_bytes().to_vec(),
            kind: mounted.kind.as_bytes().to_vec(),
            device: DeviceNumber {
                major: 0,
                minor: mounted.device,
            },
        };
        Ok((system, mounted.clone()))
    }

    fn is_kept(&self, place: &Mounted, kind: Kind) -> Result<bool, SysError> {
        match place.refusal {
            Some(errno) => Err(failed(errno)),
            None => Ok(place.kept.contains_key(&kind)),
        }
    }

    fn of_id(&self, place: &Mounted, kind: Kind, id: u32) -> Result<Option<Quota>, SysError> {
        if place.foreign.contains(&id) {
            return Err(failed(Errno::PERM));
        }
        let all = &place.kept[&kind];
        Ok(all.iter().find(|quota| quota.id == id).copied())
    }

    fn next_id(&self, place: &Mounted, kind: Kind, id: u32) -> Result<Option<Quota>, SysError> {
        match place.listing {
            Some(errno) => Err(failed(errno)),
            None if id == u32::MAX => Err(failed(Errno::INVAL)),
            None => Ok(place.kept[&kind]
                .iter()
                .find(|quota| quota.id >= id)
                .copied()),
        }
    }

    fn own(&self, kind: Kind) -> Result<Vec<u32>, SysError> {
        Ok(match kind {
            Kind::User => vec![7],
            Kind::Group => vec![7, 50],
            Kind::Project => Vec::new(),
        })
    }
}

fn of(id: u32, used: u64) -> Quota {
    Quota {
        id,
        space: Amount {
            used,
            hard: Some(100),
            ..Amount::default()
        },
        ..Quota::default()
    }
}

fn ext4(device: u32) -> Mounted {
    let users = vec![of(0, 1), of(7, 20), of(u32::MAX - 1, 3)];
    let nothing = Quota {
        id: 3,
        ..Quota::default()
    };
    let groups = vec![nothing, of(50, 30), of(60, 40)];
    Mounted {
        kind: "ext4",
        device,
        kept: BTreeMap::from([
            (Kind::User, users),
            (Kind::Group, groups),
            (Kind::Project, vec![of(9, 9)]),
        ]),
        ..Mounted::default()
    }
}

fn asked(systems: &[(&'static str, Mounted)], paths: &[&str]) -> Quotas {
    let source = StandIn {
        systems: systems.iter().cloned().collect(),
        is_old: false,
    };
    let paths: Vec<OsString> = paths.iter().map(OsString::from).collect();
    quotas(&source, &paths)
}

fn rows(found: &Quotas) -> Vec<(Kind, u32, u64)> {
    let entries = found.entries.iter();
    let rows = entries.map(|entry| (entry.kind, entry.quota.id, entry.quota.space.used));
    rows.collect()
}

fn said(found: &Quotas) -> Vec<String> {
    found.remarks.iter().map(ToString::to_string).collect()
}

#[test]
fn the_superuser_gets_all_that_use_something_or_have_a_limit() {
    let found = asked(&[("/srv", ext4(1))], &["/srv"]);
    let expected = [
        (Kind::User, 0, 1),
        (Kind::User, 7, 20),
        (Kind::User, u32::MAX - 1, 3),
        (Kind::Group, 50, 30),
        (Kind::Group, 60, 40),
        (Kind::Project, 9, 9),
    ];
    assert_eq!(rows(&found), expected);
    assert_eq!(found.remarks, []);
}

#[test]
fn others_get_their_own() {
    let shut = Mounted {
        listing: Some(Errno::PERM),
        ..ext4(1)
    };
    let found = asked(&[("/srv", shut)], &["/srv"]);
    let expected = [(Kind::User, 7, 20), (Kind::Group, 50, 30)];
    assert_eq!(rows(&found), expected);
    assert!(!found.is_incomplete(), "{found:?}");
}

#[test]
fn an_id_that_may_not_be_asked_about_hides_no_other() {
    let shut = Mounted {
        listing: Some(Errno::PERM),
        foreign: vec![7],
        ..ext4(1)
    };
    let found = asked(&[("/srv", shut)], &["/srv"]);
    assert_eq!(rows(&found), [(Kind::Group, 50, 30)]);
    assert!(!found.is_incomplete(), "{found:?}");
}

#[test]
fn a_file_system_that_cannot_list_says_so() {
    let first = Mounted {
        listing: Some(Errno::NOSYS),
        ..ext4(1)
    };
    let found = asked(&[("/srv", first)], &["/srv"]);
    assert_eq!(rows(&found).len(), 2);
    assert!(found.is_incomplete());
    assert!(said(&found)[0].contains("repquota"), "{found:?}");
}

#[test]
fn each_file_system_counts_once() {
    let mounts = [("/srv", ext4(1)), ("/also", ext4(1)), ("/home", ext4(2))];
    let found = asked(&mounts, &["/srv", "/also", "/home", "/srv"]);
    let mut of: Vec<&[u8]> = found.entries.iter().map(|entry| &entry.mount[..]).collect();
    of.dedup();
    assert_eq!(of, [&b"/srv"[..], b"/home"]);
}

#[test]
fn without_quotas_the_reason_and_the_remedy_are_said() {
    let none = |kind, device| Mounted {
        kind,
        device,
        ..Mounted::default()
    };
    let refused = Mounted {
        refusal: Some(Errno::PERM),
        ..ext4(4)
    };
    for (mounted, is_gap, part) in [
        (
            none("ext4", 1),
            false,
            "/x keeps no quotas (ext4): to have them, mount it with",
        ),
        (
            none("overlay", 5),
            true,
            "the file system of its upper directory",
        ),
        (
            none("nfs4", 2),
            true,
            "the NFS server is not asked: use quota(1)",
        ),
        (none("fuse.sshfs", 3), true, "ask the program"),
        (none("btrfs", 3), true, "btrfs qgroup show"),
        (
            refused,
            true,
            "cannot read the user quotas of /x: operation not permitted",
        ),
    ] {
        let found = asked(&[("/x", mounted)], &["/x"]);
        assert!(said(&found)[0].contains(part), "{:?}", said(&found));
        assert_eq!(found.is_incomplete(), is_gap, "{part}");
        assert!(found.entries.is_empty());
    }
    let found = asked(&[("/srv", ext4(1))], &["/nowhere", "/srv"]);
    assert_eq!(
        said(&found),
        ["cannot reach /nowhere: no such file or directory"]
    );
    assert!(found.is_incomplete() && !found.entries.is_empty());
}

#[test]
fn an_old_kernel_is_asked_nothing() {
    let source = StandIn {
        is_old: true,
        ..StandIn::default()
    };
    let found = quotas(&source, &["/srv".into()]);
    assert_eq!(found.remarks, [Remark::NoCall]);
}

#[test]
fn states_are_those_of_the_kernel() {
    let now = Timestamp {
        secs: 100,
        nanos: 0,
    };
    let state = |used, soft, hard, grace: Option<i64>| {
        let amount = Amount {
            used,
            soft,
            hard,
            grace_ends: grace.map(|secs| Timestamp { secs, nanos: 0 }),
        };
        State::of(&amount, now).name()
    };
    assert_eq!(state(5, None, None, None), "unlimited");
    assert_eq!(state(10, Some(10), Some(20), None), "within");
    assert_eq!(state(11, Some(10), Some(20), Some(101)), "over");
    assert_eq!(state(11, Some(10), None, Some(100)), "expired");
    assert_eq!(state(20, Some(10), Some(20), Some(101)), "full");
    assert_eq!(state(20, Some(10), Some(20), Some(99)), "expired");
    assert_eq!(state(20, None, Some(20), None), "full");
    // A grace period that was left behind when files were removed.
    assert_eq!(state(9, Some(10), None, Some(1)), "within");
}
