//! Sources whose user and group ids are not this host's.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::{without_program, without_root};

use crate::site::{Site, objects};

/// An owner on the other host, and the user on this host.
const THERE: u32 = 4711;
const HERE: u32 = 574_711;
const GROUP_THERE: u32 = 4720;
const GROUP_HERE: u32 = 574_720;
/// An owner on the other host without a line in the map.
const UNKNOWN: u32 = 4799;

fn site(label: &str) -> Site {
    let site = Site::empty(label);
    let tree = site.tree();
    for (name, uid, gid, mode) in [
        ("own", THERE, 0, 0o700),
        ("group", 0, GROUP_THERE, 0o750),
        ("list", 0, 0, 0o700),
        ("unknown", UNKNOWN, UNKNOWN, 0o700),
    ] {
        let dir = tree.join(name);
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("file"), name).unwrap();
        chown(&dir, Some(uid), Some(gid)).unwrap();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let text = format!("uid {THERE} {HERE}\ngid {GROUP_THERE} {GROUP_HERE}\nuid 0 0\ngid 0 0\n");
    std::fs::write(site.scratch.join("ids"), text).unwrap();
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    site
}

fn seen(site: &Site, who: &Identity) -> String {
    let mut command = who.command(site.scratch.join("trawl"));
    command
        .args(["find", ".", "-name", "file"])
        .env("TRAWL_INDEX", site.index_dir())
        .current_dir(site.tree());
    oracle::run(&mut command).text()
}

fn member(uid: u32, group: u32) -> Identity {
    Identity::Other {
        uid,
        gid: uid,
        groups: vec![group],
    }
}

#[test]
fn guards_and_rows_have_the_ids_of_this_host() {
    if let Some(skip) = without_root("ids that are mapped") {
        return skip.say();
    }
    if let Some(skip) = without_program("ids in access control lists", "setfacl") {
        return skip.say();
    }
    let site = site("id-map");
    let acl = format!("u:{THERE}:rx,u:{UNKNOWN}:rx,g:{GROUP_THERE}:rx");
    let ran = oracle::run(
        oracle::command("setfacl")
            .args(["-m", &acl])
            .arg(site.tree().join("list")),
    );
    ran.expect_code(0);
    site.run("index --quiet --id-map ../ids .").expect_code(0);

    // Twice, because the map stays with the source.
    for _ in 0..2 {
        let own = "./list/file\n./own/file\n";
        assert_eq!(seen(&site, &Identity::user(HERE)), own);
        let group = "./group/file\n./list/file\n";
        assert_eq!(seen(&site, &member(4712, GROUP_HERE)), group);
        for stranger in [
            Identity::user(THERE),
            Identity::user(UNKNOWN),
            member(4712, GROUP_THERE),
            Identity::user(u32::MAX - 1),
        ] {
            assert_eq!(seen(&site, &stranger), "", "{stranger:?}");
        }
        let ids = |ran: Ran| ran.expect_code(0).text();
        let format = "%U:%G:%f\\n";
        let rows = ids(site.run(&format!("find own group unknown -type d -printf {format}")));
        let rows: Vec<&str> = rows.lines().collect();
        let wanted = [
            format!("{HERE}:0:own"),
            format!("0:{GROUP_HERE}:group"),
            format!("{0}:{0}:unknown", u32::MAX),
        ];
        assert_eq!(rows, wanted);
        let acl = site.run("stat --acl list").text();
        assert!(acl.contains(&format!("user:{HERE}:r-x")), "{acl}");
        assert!(!acl.contains(&UNKNOWN.to_string()), "{acl}");
        assert!(site.run("sources").text().contains("ids mapped"));
        let options = &objects(&site.run("sources --json"))[0]["options"];
        assert_eq!(options["id-map"], "yes");
        site.run("verify").expect_code(0);
        site.run("index --quiet .").expect_code(0);
    }

    site.run("index --quiet --id-map none .").expect_code(0);
    assert_eq!(seen(&site, &Identity::user(HERE)), "");
    assert!(seen(&site, &Identity::user(THERE)).contains("own/file"));
    assert!(!site.run("sources").text().contains("mapped"));
}

#[test]
fn a_map_that_makes_no_sense_is_named_with_its_line() {
    let site = Site::empty("id-map-bad");
    std::fs::write(site.scratch.join("ids"), "uid 1 2\nuid 3 2\n").unwrap();
    let ran = site.run("index --id-map ../ids .").expect_code(2);
    assert!(ran.errors().contains("../ids, line 2: "), "{ran}");
    let ran = site.run("index --id-map ../no-such .").expect_code(2);
    assert!(ran.errors().contains("cannot read ../no-such"), "{ran}");
    assert!(!site.index_dir().join("FORMAT").exists() || site.run("sources").text().is_empty());
}
