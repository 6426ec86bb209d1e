//! What the kernel, file systems and administrators say of files: tables of mounts, access control
//! lists, maps of ids, predicates of guards, definitions of named indices, values of attributes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_attributes::{Kind, Value};
use trawl_model::acl::Acl;
use trawl_model::guard::Predicate;
use trawl_model::id::{Gid, Uid};
use trawl_model::id_map::IdMap;
use trawl_sys::mount_table::{self, Mount};

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(rest);
    match first % 6 {
        0 => mounts(rest),
        1 => {
            if let Some(acl) = Acl::parse(rest) {
                assert_eq!(Acl::parse(&acl.to_bytes()), Some(acl));
            }
        }
        2 => ids(rest),
        3 => {
            if let Some(predicate) = Predicate::parse(&text) {
                assert_eq!(predicate.to_string(), text);
                assert!(predicate.implies(&predicate));
            }
        }
        4 => {
            if let Ok(all) = trawl_indices::read_all(rest) {
                let written = trawl_indices::write_all(&all);
                assert_eq!(
                    trawl_indices::read_all(&written).expect("its own text"),
                    all
                );
            }
        }
        _ => values(&text),
    }
});

/// A mount that is written as the kernel writes it is read as the same.
fn mounts(table: &[u8]) {
    for mount in mount_table::parse(table) {
        let read: Vec<Mount> = mount_table::parse(&line(&mount)).collect();
        assert_eq!(read, [mount]);
    }
}

fn line(mount: &Mount) -> Vec<u8> {
    let device = mount.device;
    let head = format!(
        "{} {} {}:{}",
        mount.id, mount.parent, device.major, device.minor
    );
    let mut line = head.into_bytes();
    let mut word = |bytes: &[u8]| {
        line.push(b' ');
        for byte in bytes {
            match byte {
                b' ' | b'\t' | b'\n' | b'\\' => line.extend(format!("\\{byte:03o}").bytes()),
                byte => line.push(*byte),
            }
        }
    };
    for field in [&mount.root, &mount.point, &mount.mount_options] {
        word(field);
    }
    word(b"shared:1");
    word(b"-");
    for field in [&mount.kind, &mount.source, &mount.options] {
        word(field);
    }
    line
}

/// Every id can be mapped.
fn ids(text: &[u8]) {
    let Ok(map) = IdMap::parse(text) else {
        return;
    };
    for id in [0, 1, 999, 1000, 65_533, 65_534, u32::MAX - 1, u32::MAX] {
        let _ = (map.user(Uid(id)), map.group(Gid(id)));
    }
}

fn values(text: &str) {
    for kind in [Kind::Text, Kind::Integer, Kind::Real, Kind::Time] {
        if let Ok(value) = Value::parse("name", kind, text) {
            let again = Value::parse("name", kind, &value.to_string()).expect("its own text");
            assert_eq!(again, value);
        }
    }
    let value = Value::of_text(text);
    assert_eq!(Value::of_text(&value.to_string()), value);
}
