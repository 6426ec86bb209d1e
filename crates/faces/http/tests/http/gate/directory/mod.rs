//! Users who exist in a directory service (LDAP) only: their passwords, their groups, and their ends.
//!
//! The service finds them as all programs do, through the C library and PAM. The oracle is find, run as
//! the user in the same namespace by programs that we did not write.

mod slapd;

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use serde_json::{Value, json};
use trawl_testkit::oracle;
use trawl_testkit::site::Site;

use self::slapd::Directory;
use super::{Gate, Settings, cannot};
use crate::client::{Answer, SERVER, wait_until};

const ANN: u32 = 61_001;
const LAB: u32 = 61_011;
const ART: u32 = 61_012;

/// Returns the entry of an account.
fn account(name: &str, uid: u32, more: &str) -> String {
    format!(
        "\ndn: uid={name},dc=example\nobjectClass: account\nobjectClass: posixAccount\n\
         objectClass: shadowAccount\nuid: {name}\ncn: {name}\nuidNumber: {uid}\ngidNumber: {uid}\n\
         homeDirectory: /\nuserPassword: R1ght-{name}\n{more}"
    )
}

/// Returns the entry of a group.
fn group(name: &str, gid: u32, members: &[&str]) -> String {
    let members = members.iter().map(|name| format!("memberUid: {name}\n"));
    format!(
        "\ndn: cn={name},dc=example\nobjectClass: posixGroup\ncn: {name}\ngidNumber: {gid}\n{}",
        members.collect::<String>()
    )
}

/// Returns all entries. `old` has expired, and `chief` is the superuser by another name.
fn entries() -> String {
    [
        "dn: dc=example\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n"
            .to_owned(),
        account("ann", ANN, ""),
        account("bob", 61_002, ""),
        account("old", 61_003, "shadowExpire: 1\n"),
        account("chief", 0, ""),
        group("ann", ANN, &[]),
        group("lab", LAB, &["ann", "bob"]),
        group("art", ART, &["bob"]),
    ]
    .concat()
}

/// A service whose users are in a directory, and a tree in which groups have directories.
struct Place {
    // The service ends before the directory.
    gate: Gate,
    site: Site,
    directory: Directory,
}

impl Place {
    /// Starts everything; says that the test is skipped if something is missing.
    fn start(test: &str) -> Option<Place> {
        if cannot(test) {
            return None;
        }
        let directory = match Directory::start(test, &entries()) {
            Ok(directory) => directory,
            Err(skip) => {
                skip.say();
                return None;
            }
        };
        let mut site = Site::empty("http-gate-ldap", SERVER)?;
        for (name, uid, gid, mode) in [
            ("open", 0, 0, 0o755),
            ("lab", 0, LAB, 0o750),
            ("art", 0, ART, 0o750),
            ("art/shared", 0, LAB, 0o770),
            ("own", ANN, ANN, 0o700),
            ("closed", 0, 0, 0o700),
        ] {
            site.write(format!("{name}/{}", name.replace('/', "-")), "content\n");
            let path = site.path(name);
            chown(&path, Some(uid), Some(gid)).expect("we are root");
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("our own");
        }
        site.index();
        site.trawl = site.scratch.install(&site.trawl);
        let gate = directory.serve(Settings::of(&site)).start();
        Some(Place {
            gate,
            site,
            directory,
        })
    }

    /// Tries to log in.
    fn log_in(&self, user: &str, password: &str) -> Answer {
        self.gate
            .log_in(&json!({"user": user, "password": password}))
    }

    /// Logs in with the right password.
    #[track_caller]
    fn session(&self, user: &str) -> String {
        let answer = self.log_in(user, &format!("R1ght-{user}"));
        assert_eq!(answer.status, 200, "{answer:?} {}", self.gate.said());
        let session = answer.json()["session"].as_str().map(str::to_owned);
        session.expect("a session")
    }

    /// Asks for everything in the tree.
    fn find(&self, session: &str) -> Answer {
        let arguments = json!({"paths": [self.site.text("")], "limit": 10_000});
        self.gate.ask(session, "find", &arguments)
    }

    /// Returns what a user sees, which is what the kernel lets find see.
    #[track_caller]
    fn seen(&self, session: &str, user: &str, uid: u32) -> BTreeSet<String> {
        let answer = self.find(session);
        assert_eq!(answer.status, 200, "{answer:?} {}", self.gate.said());
        let page = answer.json();
        let found: BTreeSet<String> = paths(&page).collect();
        let mut find = self.gate.as_user(user, uid, "find");
        let shown = oracle::run(find.arg(self.site.tree()));
        let expected: BTreeSet<String> = shown.text().lines().map(str::to_owned).collect();
        assert!(expected.len() > 1, "{shown}");
        assert_eq!(found, expected, "{user}: {page}");
        assert_eq!(page["complete"], shown.code == Some(0), "{user}: {page}");
        let start = self.site.text("");
        let below = found.iter().filter_map(|path| path.strip_prefix(&start));
        let below = below.map(|path| path.trim_start_matches('/').to_owned());
        below.filter(|path| path.contains('/')).collect()
    }
}

fn paths(page: &Value) -> impl Iterator<Item = String> {
    let rows = page["rows"].as_array().unwrap_or_else(|| panic!("{page}"));
    rows.iter()
        .map(|row| row["path"].as_str().expect("a path").to_owned())
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn users_of_a_directory_log_in_and_see_what_the_kernel_shows() {
    let Some(place) = Place::start("passwords and groups of a directory") else {
        return;
    };
    let ours = std::fs::read_to_string(Path::new("/etc/passwd")).expect("users");
    assert!(!ours.contains(&format!(":{ANN}:")), "only the directory");
    let ann = place.session("ann");
    let me = place.gate.get(&ann, "/api/v1/me").json();
    assert_eq!((&me["user"], &me["uid"]), (&json!("ann"), &json!(ANN)));
    let seen = place.seen(&ann, "ann", ANN);
    assert_eq!(seen, names(&["open/open", "lab/lab", "own/own"]));
    let bob = place.session("bob");
    let seen = place.seen(&bob, "bob", 61_002);
    let expected = [
        "open/open",
        "lab/lab",
        "art/art",
        "art/shared",
        "art/shared/art-shared",
    ];
    assert_eq!(seen, names(&expected));
    // Questions know the directory's names, too.
    let owned = json!({"paths": [place.site.text("")], "owner": "ann"});
    let owned = place.gate.ask(&ann, "find", &owned).json();
    let owned: Vec<String> = paths(&owned).collect();
    assert_eq!(owned, [place.site.text("own")]);
}

/// Many directories find an account by several spellings of its name.
#[test]
fn an_account_is_one_user_however_its_name_is_spelled() {
    let Some(place) = Place::start("spellings of names in a directory") else {
        return;
    };
    let me = |header: &str| {
        let name = format!("X-Remote-User: {header}");
        place
            .gate
            .proxied("/api/v1/me", &["--header", &name])
            .json()["user"]
            .clone()
    };
    assert_eq!((me("ann"), me("ANN")), (json!("ann"), json!("ann")));
    let answer = place.log_in("aNN", "R1ght-ann");
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["user"], "ann", "{answer}");
    // Whoever ends all sessions of the account ends this one.
    let session = answer["session"].as_str().expect("a session");
    assert_eq!(place.find(session).status, 200);
    let credentials = place.gate.settings.credentials();
    assert_eq!(credentials.revoke_all_of("ann").expect("our own"), 1);
    assert_eq!(place.find(session).status, 401);
}

#[test]
fn a_directory_refuses_passwords_and_accounts() {
    let Some(place) = Place::start("refusals of a directory") else {
        return;
    };
    let wrong = place.log_in("ann", "Wr0ng");
    assert_eq!(wrong.status, 403, "{wrong:?} {}", place.gate.said());
    let unknown = place.log_in("nobody-of-this-name", "R1ght-ann");
    // The superuser cannot log in, by whatever name.
    let chief = place.log_in("chief", "R1ght-chief");
    for answer in [&unknown, &chief] {
        let same = (answer.status, &answer.body);
        assert_eq!(same, (403, &wrong.body), "{answer:?}");
    }
    // The password is right, and the account has expired.
    let expired = place.log_in("old", "R1ght-old");
    assert_eq!(expired.status, 403, "{expired:?}");
    let why = expired.json()["detail"].to_string();
    assert!(why.contains("this account may not log in now"), "{why}");
    place.session("ann");
}

#[test]
fn groups_of_a_directory_are_those_at_the_time_of_the_question() {
    let Some(place) = Place::start("groups of a directory") else {
        return;
    };
    let ann = place.session("ann");
    let before = place.seen(&ann, "ann", ANN);
    assert!(before.contains("lab/lab"), "{before:?}");
    let page = json!({"paths": [place.site.text("")], "limit": 1});
    let page = place.gate.ask(&ann, "find", &page).json();
    let cursor = page["cursor"].as_str().expect("more");
    let leave = "dn: cn=lab,dc=example\nchangetype: modify\ndelete: memberUid\nmemberUid: ann\n";
    place.directory.change(leave);
    let seen = place.seen(&ann, "ann", ANN);
    assert_eq!(seen, names(&["open/open", "own/own"]));
    // An answer that was begun with the group is not continued.
    let more = place.gate.ask(&ann, "more", &json!({"cursor": cursor}));
    assert_eq!(more.status, 409, "{more:?}");
    let join = "dn: cn=art,dc=example\nchangetype: modify\nadd: memberUid\nmemberUid: ann\n";
    place.directory.change(join);
    let seen = place.seen(&ann, "ann", ANN);
    assert_eq!(
        seen,
        names(&["open/open", "own/own", "art/art", "art/shared"])
    );
}

#[test]
fn nothing_is_answered_once_the_account_is_gone() {
    let Some(place) = Place::start("deleted accounts of a directory") else {
        return;
    };
    let (ann, bob) = (place.session("ann"), place.session("bob"));
    assert_eq!(place.find(&ann).status, 200);
    place.directory.delete("uid=ann,dc=example");
    for answer in [place.find(&ann), place.gate.get(&ann, "/api/v1/me")] {
        assert_eq!(answer.status, 403, "{answer:?}");
        assert!(answer.json().get("rows").is_none(), "{answer:?}");
    }
    assert_eq!(place.log_in("ann", "R1ght-ann").status, 403);
    assert_eq!(place.find(&bob).status, 200, "{}", place.gate.said());
}

#[test]
fn nothing_is_answered_while_the_directory_is_away() {
    let Some(mut place) = Place::start("a directory that is away") else {
        return;
    };
    let ann = place.session("ann");
    let before = place.seen(&ann, "ann", ANN);
    place.directory.end_slapd();
    let answer = place.find(&ann);
    // Of a user that cannot be looked up, the C library says that there is no such user (nslcd: ENOENT).
    assert_eq!(answer.status, 403, "no user, no answer: {answer:?}");
    assert_eq!(place.log_in("ann", "R1ght-ann").status, 503);
    place.directory.start_slapd();
    wait_until("the users do not come back", || {
        place.find(&ann).status == 200
    });
    assert_eq!(place.seen(&ann, "ann", ANN), before);
}
