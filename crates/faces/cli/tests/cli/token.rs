//! `trawl token`, with the library that the service uses as the oracle.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use trawl_identity::credentials::{Credentials, FILE, Grant, Kind};
use trawl_sys::identity::{effective_uid, user_name};
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::{Skip, is_root, without_root};

use crate::site::{Site, objects};

/// A site with tokens, and the name of a user who can have some.
struct Tokens {
    site: Site,
    user: String,
}

impl Tokens {
    /// Returns a command that makes a token.
    fn creating(&self) -> std::process::Command {
        let mut command = self.site.command();
        command.args(["token", "create", "--directory", "../http", "--user"]);
        command.arg(&self.user);
        command
    }

    /// Makes the site; `None`, with the reason printed, if the test cannot run here.
    fn new(label: &str) -> Option<Tokens> {
        let uid = match is_root() {
            true => 65_534,
            false => effective_uid(),
        };
        let Some(name) = user_name(uid).unwrap() else {
            Skip::new(label, format_args!("user {uid} has no name")).say();
            return None;
        };
        Some(Tokens {
            site: Site::empty(label),
            user: String::from_utf8(name).unwrap(),
        })
    }

    fn directory(&self) -> PathBuf {
        self.site.scratch.join("http")
    }

    /// Runs `trawl token` with these words.
    fn run(&self, line: &str) -> Ran {
        let line = line.replace("USER", &self.user);
        self.site.run(&format!("token {line} --directory ../http"))
    }

    /// Makes a token and returns its secret.
    fn create(&self, options: &str) -> String {
        let ran = self.run(&format!("create --user USER {options}"));
        let text = ran.expect_code(0).text();
        let secret = text.strip_suffix('\n').expect("one line").to_owned();
        assert!(!secret.contains(char::is_whitespace), "{text}");
        secret
    }

    /// Returns what the service takes a secret for.
    fn find(&self, secret: &str) -> Option<Grant> {
        let credentials = Credentials::open(&self.directory()).unwrap();
        credentials.find(secret, SystemTime::now()).unwrap()
    }
}

#[test]
fn a_token_is_what_was_asked_for() {
    let Some(tokens) = Tokens::new("token-create") else {
        return;
    };
    let secret = tokens.create("--scope names,sql --expires 2d --note nightly");
    let grant = tokens.find(&secret).expect("a token");
    assert_eq!((grant.kind, &grant.user), (Kind::Token, &tokens.user));
    assert_eq!(grant.scopes.to_string(), "names,sql");
    assert_eq!(grant.note, "nightly");
    let day = Duration::from_secs(86_400);
    assert_eq!(grant.expires, grant.created + 2 * day);
    let usual = tokens.find(&tokens.create("")).expect("a token");
    assert_eq!(usual.scopes.to_string(), "names,contents,sql");
    assert_eq!(usual.expires, usual.created + 90 * day);
}

#[test]
fn the_secret_is_shown_once() {
    let Some(tokens) = Tokens::new("token-secret") else {
        return;
    };
    let ran = tokens.run("create --user USER").expect_code(0);
    let secret = ran.text().trim_end().to_owned();
    let grant = tokens.find(&secret).expect("a token");
    let said = ran.errors();
    assert!(said.contains(&grant.id) && !said.contains(&secret), "{ran}");
    let listed = [tokens.run("list"), tokens.run("list --json")];
    for ran in listed.map(|ran| ran.expect_code(0)) {
        assert!(ran.text().contains(&grant.id), "{ran}");
        assert!(!ran.text().contains(&secret), "{ran}");
    }
    let file = std::fs::read_to_string(tokens.directory().join(FILE)).unwrap();
    let digits = secret.trim_start_matches("trawl_");
    assert!(!file.contains(&digits[..16]), "{file}");
}

#[test]
fn lists_show_sessions_too_and_what_has_been_revoked_is_gone() {
    let Some(tokens) = Tokens::new("token-list") else {
        return;
    };
    let token = tokens.create("--note backup");
    let credentials = Credentials::open(&tokens.directory()).unwrap();
    let session = trawl_identity::credentials::New {
        kind: Kind::Session,
        user: &tokens.user,
        scopes: "names".parse().unwrap(),
        lifetime: Duration::from_secs(3_600),
        note: "",
        token: None,
        identity: None,
    };
    let (session, of_session) = credentials.create(session, SystemTime::now()).unwrap();
    let rows = objects(&tokens.run("list --json").expect_code(0));
    let shown = |at: usize| {
        let text = |name: &str| rows[at][name].as_str().unwrap().to_owned();
        (
            text("kind"),
            text("user"),
            text("note"),
            rows[at]["scopes"].clone(),
        )
    };
    let user = || tokens.user.clone();
    let expected = [
        (
            "token",
            "backup",
            serde_json::json!(["names", "contents", "sql"]),
        ),
        ("session", "", serde_json::json!(["names"])),
    ];
    assert_eq!(rows.len(), 2);
    for (at, (kind, note, scopes)) in expected.into_iter().enumerate() {
        assert_eq!(
            shown(at),
            (kind.to_owned(), user(), note.to_owned(), scopes)
        );
    }
    let text = tokens.run("list").expect_code(0).text();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        text.contains("session") && text.contains("backup"),
        "{text}"
    );

    // The server has the file open and sees the change.
    tokens
        .run(&format!("revoke {}", of_session.id))
        .expect_code(0);
    let holds = |secret: &str| {
        credentials
            .find(secret, SystemTime::now())
            .unwrap()
            .is_some()
    };
    assert!(!holds(&session) && holds(&token));
    let ran = tokens
        .run(&format!("revoke {}", of_session.id))
        .expect_code(2);
    assert!(ran.errors().contains("trawl token list"), "{ran}");
    let ran = tokens.run("revoke --all-of USER").expect_code(0);
    assert!(ran.errors().contains("1 token or session of "), "{ran}");
    assert!(!holds(&token));
    let ran = tokens.run("revoke --all-of USER").expect_code(2);
    assert!(ran.errors().contains("has no tokens"), "{ran}");
    assert_eq!(tokens.run("list").expect_code(0).text(), "");
}

#[test]
fn wrong_requests_make_nothing() {
    let Some(tokens) = Tokens::new("token-wrong") else {
        return;
    };
    for (line, why) in [
        ("create", "--user"),
        (
            "create --user no-such-user-here",
            "no user no-such-user-here",
        ),
        ("create --user USER --scope all", "names, contents or sql"),
        ("create --user USER --expires soon", "30s"),
        ("create --user USER --expires 9000y", "9999"),
        ("revoke", "ID"),
        ("revoke 12345678 --all-of USER", "cannot be used"),
    ] {
        let ran = tokens.run(line).expect_code(2);
        assert!(ran.errors().contains(why), "{line}: {ran}");
        assert!(ran.stdout.is_empty(), "{line}: {ran}");
        assert!(!tokens.directory().join(FILE).exists(), "{line}");
    }
    if is_root() {
        let ran = tokens.run("create --user root").expect_code(2);
        assert!(ran.errors().contains("superuser"), "{ran}");
    }
    std::fs::remove_dir(tokens.directory()).unwrap();
    for line in ["list", "revoke 12345678", "revoke --all-of USER"] {
        let ran = tokens.run(line).expect_code(2);
        assert!(ran.errors().contains("../http does not exist"), "{ran}");
        assert!(!tokens.directory().exists(), "{line}");
    }
}

#[test]
fn a_token_that_could_not_be_printed_is_none() {
    let Some(tokens) = Tokens::new("token-full") else {
        return;
    };
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut command = tokens.creating();
    let ended = command.stdout(full.unwrap()).stderr(Stdio::null()).status();
    assert_eq!(ended.unwrap().code(), Some(2));
    assert_eq!(tokens.run("list").expect_code(0).text(), "");
}

#[test]
fn processes_that_create_at_once_lose_nothing() {
    let Some(tokens) = Tokens::new("token-many") else {
        return;
    };
    let start = |_| {
        let mut command = tokens.creating();
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let running: Vec<_> = (0..6).map(start).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        let secret = String::from_utf8(output.stdout).unwrap();
        assert!(tokens.find(secret.trim_end()).is_some(), "{secret}");
    }
    assert_eq!(objects(&tokens.run("list --json")).len(), 6);
}

#[test]
fn only_the_owner_manages_tokens() {
    let Some(tokens) = Tokens::new("token-owner") else {
        return;
    };
    tokens.create("");
    std::fs::set_permissions(tokens.directory(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = tokens.run("list").expect_code(2);
    assert!(ran.errors().contains("run chmod 700 ../http"), "{ran}");
    std::fs::set_permissions(tokens.directory(), std::fs::Permissions::from_mode(0o700)).unwrap();
    if let Some(skip) = without_root("tokens of other users") {
        return skip.say();
    }
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(tokens.site.scratch.path(), open).unwrap();
    let program = tokens
        .site
        .scratch
        .install(env!("CARGO_BIN_EXE_trawl").as_ref());
    for words in [
        &["list"][..],
        &["revoke", "12345678"],
        &["create", "--user", &tokens.user],
    ] {
        let mut command = Identity::user(4711).command(&program);
        let command = command.arg("token").args(words);
        let ran = oracle::run(command.arg("--directory").arg(tokens.directory()));
        let ran = ran.expect_code(2);
        assert!(ran.errors().contains("sudo"), "{ran}");
    }
    assert_eq!(objects(&tokens.run("list --json")).len(), 1);
}
