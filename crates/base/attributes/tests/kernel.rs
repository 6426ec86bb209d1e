//! Attributes of real files. The oracle is the kernel: what write(2) of no bytes answers for the
//! same descriptor, and the extended attributes that it stores.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use trawl_attributes::{AttributeError, Value, get, list, remove, set};
use trawl_sys::become_user::{User, as_user};
use trawl_sys::{Errno, xattr};
use trawl_testkit::folder::set_attribute;
use trawl_testkit::skip::without_root;
use trawl_testkit::{Scratch, Skip};

const USER: u32 = 4821;

/// Makes a directory with a file, in a file system that has attributes.
fn site(test: &str) -> Option<(Scratch, PathBuf)> {
    let scratch = Scratch::new("attributes");
    let path = scratch.join("file");
    std::fs::write(&path, "content").unwrap();
    let file = File::open(&path).unwrap();
    match set_attribute(&file, c"user.other", b"x") {
        Ok(()) => Some((scratch, path)),
        Err(error) => {
            Skip::new(test, format!("attributes cannot be set here: {error}")).say();
            None
        }
    }
}

fn writable(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn as_stranger<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let user = User {
        uid: USER,
        gid: USER,
        groups: Vec::new(),
    };
    as_user(&user, work).unwrap()
}

#[test]
fn attributes_are_extended_attributes_of_the_file() {
    let Some((_scratch, path)) = site("stored attributes") else {
        return;
    };
    let file = writable(&path);
    let before = std::fs::metadata(&path).unwrap();
    set(&file, "artist", &text("Bach")).unwrap();
    set(&file, "rating", &Value::Integer(5)).unwrap();
    set(&file, "rating", &Value::Integer(6)).unwrap();
    assert_eq!(
        xattr::get_object(&file, c"user.trawl.artist").unwrap(),
        b"tBach"
    );
    let expected = vec![
        ("artist".to_owned(), text("Bach")),
        ("rating".to_owned(), Value::Integer(6)),
    ];
    // The descriptor for writing suffices the kernel if its user may read the file.
    assert_eq!(list(&file).unwrap(), expected);
    assert_eq!(get(&file, "rating").unwrap(), Value::Integer(6));
    remove(&file, "rating").unwrap();
    assert!(remove(&file, "rating").unwrap_err().is_absent());
    assert!(get(&file, "rating").unwrap_err().is_absent());
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), b"content");
}

/// "Applications can push attributes of a file they hold open for writing" (issue of this feature).
#[test]
fn only_files_that_are_open_for_writing_have_attributes_set() {
    let Some((_scratch, path)) = site("descriptors for reading") else {
        return;
    };
    let open = |options: &mut OpenOptions| options.open(&path).unwrap();
    let o_path = 0o10_000_000;
    for (mut file, what) in [
        (open(OpenOptions::new().read(true)), "read"),
        (open(OpenOptions::new().write(true)), "write"),
        (open(OpenOptions::new().read(true).write(true)), "both"),
        (open(OpenOptions::new().append(true)), "append"),
        (
            open(OpenOptions::new().read(true).custom_flags(o_path)),
            "place",
        ),
    ] {
        let kernel = file
            .write(b"")
            .err()
            .map(|error| error.raw_os_error().unwrap());
        let ours = set(&file, "a", &Value::Integer(1)).err();
        assert_eq!(ours.as_ref().map(|error| error.errno().0), kernel, "{what}");
        let is_ours = matches!(ours, None | Some(AttributeError::NotOpenForWriting { .. }));
        assert!(is_ours, "{what}");
        let removed = remove(&file, "a").err();
        assert_eq!(removed.map(|error| error.errno().0), kernel, "{what}");
    }
}

#[test]
fn users_set_attributes_of_files_that_they_may_write() {
    let Some((scratch, path)) = site("other users") else {
        return;
    };
    if let Some(skip) = without_root("other users") {
        return skip.say();
    }
    std::fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
    // A descriptor for writing that was handed over is not enough: the kernel checks the user.
    let ours = writable(&path);
    let stranger = as_stranger(|| set(&ours, "a", &Value::Integer(1)));
    assert_eq!(stranger.unwrap_err().errno(), Errno::ACCES);
    assert_eq!(list(&ours).unwrap(), []);
    chown(&path, Some(USER), Some(USER)).unwrap();
    as_stranger(|| set(writable(&path), "a", &Value::Integer(1))).unwrap();
    assert_eq!(list(&ours).unwrap(), [("a".to_owned(), Value::Integer(1))]);
    // Values are as secret as the content.
    std::fs::set_permissions(&path, Permissions::from_mode(0o200)).unwrap();
    let read = as_stranger(|| get(writable(&path), "a"));
    assert_eq!(read.unwrap_err().errno(), Errno::ACCES);
}

#[test]
fn what_other_programs_stored_does_no_harm() {
    let Some((_scratch, path)) = site("hostile attributes") else {
        return;
    };
    let file = writable(&path);
    for (name, value) in [
        (c"user.trawl.", &b"i1"[..]),
        (c"user.trawl.UPPER", b"i1"),
        (c"user.trawl.a=b", b"i1"),
        (c"user.trawl.\xff", b"i1"),
        (c"user.trawlx", b"i1"),
        (c"user.trawl.none", b""),
        (c"user.trawl.kind", b"?"),
        (c"user.trawl.bytes", b"t\xff\xfe"),
        (c"user.trawl.escape", b"t\x1b[2J"),
    ] {
        set_attribute(&file, name, value).unwrap();
    }
    assert_eq!(
        list(&file).unwrap(),
        [("escape".to_owned(), text("\u{1b}[2J"))]
    );
    let error = get(&file, "kind").unwrap_err();
    assert!(matches!(error, AttributeError::Form { .. }), "{error}");
    for name in ["", "UPPER", "a=b", "a b", "1", &"a".repeat(65), "a\0"] {
        let error = set(&file, name, &Value::Integer(1)).unwrap_err();
        assert!(matches!(error, AttributeError::Name { .. }), "{error}");
        assert!(!error.to_string().contains('\0'));
    }
}

#[test]
fn a_full_file_system_names_its_limit() {
    let Some((_scratch, path)) = site("room for attributes") else {
        return;
    };
    let file = writable(&path);
    let value = Value::List(vec![text(&"x".repeat(1000)); 3]);
    let mut names = (0..64).map(|number| format!("name-{number}"));
    let refused = names.find_map(|name| set(&file, &name, &value).err());
    let Some(error) = refused else {
        return Skip::new("room for attributes", "this file system has much").say();
    };
    let expected = [Errno::NOSPC, Errno::TOOBIG, Errno::RANGE];
    assert!(expected.contains(&error.errno()), "{error}");
    assert!(error.to_string().contains("keeps") || error.to_string().contains("no more room"));
}

#[test]
fn pipes_and_devices_have_none() {
    let null = OpenOptions::new().write(true).open("/dev/null").unwrap();
    let error = set(&null, "a", &Value::Integer(1)).unwrap_err();
    assert_eq!(error.errno(), Errno::PERM, "{error}");
    assert!(error.to_string().contains("only regular files"), "{error}");
}
