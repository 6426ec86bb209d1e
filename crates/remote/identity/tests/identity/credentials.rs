//! Sessions and tokens: how long they hold, how many there can be, and that no instance misses what
//! another one changed.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use trawl_identity::IdentityError;
use trawl_identity::credentials::{
    Credentials, EXTENDED_EVERY, FILE, FILE_MAX_BYTES, Grant, Kind, MAX_SESSIONS,
    MAX_SESSIONS_OF_TOKEN, MAX_TOKENS, New, Scope, Scopes,
};
use trawl_testkit::Scratch;

use crate::{HOUR, new, now, open};

#[test]
fn a_secret_stands_for_its_user_until_it_expires() {
    let scratch = Scratch::new("credentials");
    let credentials = open(&scratch);
    let request = New {
        scopes: "names,sql".parse().unwrap(),
        note: "nightly report",
        token: None,
        identity: None,
        ..new(Kind::Token, "alice")
    };
    let (secret, grant) = credentials.create(request, now()).unwrap();
    let expected = Grant {
        id: grant.id.clone(),
        kind: Kind::Token,
        user: "alice".to_owned(),
        scopes: [Scope::Names, Scope::Sql].into_iter().collect(),
        created: now(),
        expires: now() + HOUR,
        note: "nightly report".to_owned(),
        identity: None,
    };
    assert_eq!(grant, expected);
    let find = |secret: &str, at| credentials.find(secret, at).unwrap();
    let second = Duration::from_secs(1);
    assert_eq!(find(&secret, now() + HOUR - second), Some(grant));
    assert_eq!(find(&secret, now() + HOUR), None);
    assert_eq!(credentials.list(now()).unwrap(), [expected]);
    assert!(credentials.list(now() + HOUR).unwrap().is_empty());
    let id = &credentials.list(now()).unwrap()[0].id;
    for wrong in [
        "",
        id,
        &secret[1..],
        &format!("{secret} "),
        &"x".repeat(1 << 20),
    ] {
        assert_eq!(find(wrong, now()), None, "{wrong:.100}");
    }
}

#[test]
fn a_session_keeps_the_identity_by_which_it_began() {
    let scratch = Scratch::new("identities");
    let credentials = open(&scratch);
    let identity = "oidc:https://login.example.org#sub=1";
    let begin = |identity| {
        let request = New {
            identity: Some(identity),
            ..new(Kind::Session, "alice")
        };
        credentials.create(request, now())
    };
    let (secret, grant) = begin(identity).unwrap();
    assert_eq!(grant.identity.as_deref(), Some(identity));
    let read = open(&scratch).find(&secret, now()).unwrap();
    assert_eq!(read, Some(grant));
    for wrong in ["a\nb", &"x".repeat(1025)] {
        assert!(begin(wrong).is_err(), "{wrong:.100}");
    }
}

#[test]
fn secrets_are_long_differ_and_are_not_stored() {
    let scratch = Scratch::new("secrets");
    let credentials = open(&scratch);
    let mut secrets = BTreeSet::new();
    for number in 0..20 {
        let user = format!("user{number}");
        for kind in [Kind::Session, Kind::Token] {
            let (secret, _) = credentials.create(new(kind, &user), now()).unwrap();
            assert_eq!(secret.starts_with("trawl_"), kind == Kind::Token);
            let digits = secret.trim_start_matches("trawl_").to_owned();
            assert!(digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
            assert!(secrets.insert(digits));
        }
    }
    let text = fs::read_to_string(scratch.join("http").join(FILE)).unwrap();
    for secret in &secrets {
        assert!(!text.contains(secret.get(..16).unwrap()), "{text}");
    }
    let debug = format!("{credentials:?}");
    assert!(secrets.iter().all(|secret| !debug.contains(secret)));
}

#[test]
fn the_stored_hash_is_sha256() {
    let scratch = Scratch::new("sha256");
    let credentials = open(&scratch);
    // printf abc | sha256sum
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let line = format!(
        "{{\"trawl_credentials\":1}}\n{{\"id\":\"12345678\",\"kind\":\"token\",\"sha256\":\"{hash}\",\
         \"user\":\"bob\",\"scopes\":\"names\",\"created\":0,\"expires\":2000000000,\"lifetime\":1,\
         \"note\":\"\"}}\n"
    );
    write(&scratch, line.as_bytes());
    let found = credentials.find("abc", now()).unwrap().unwrap();
    assert_eq!((&*found.id, &*found.user), ("12345678", "bob"));
}

/// Replaces the file as another program might.
fn write(scratch: &Scratch, bytes: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    let path = scratch.join("http").join(FILE);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn other_instances_see_a_revocation_at_once() {
    let scratch = Scratch::new("revoked");
    let (server, command) = (open(&scratch), open(&scratch));
    for _ in 0..25 {
        let (secret, grant) = server.create(new(Kind::Session, "alice"), now()).unwrap();
        assert_eq!(server.find(&secret, now()).unwrap(), Some(grant.clone()));
        assert!(command.revoke(&grant.id).unwrap());
        // The file is as long as before, and may have its inode number again.
        command.create(new(Kind::Session, "mirio"), now()).unwrap();
        assert_eq!(server.find(&secret, now()).unwrap(), None);
        assert!(!server.revoke(&grant.id).unwrap());
    }
}

#[test]
fn all_of_a_user_end_together_and_nobody_elses() {
    let scratch = Scratch::new("all-of");
    let (server, command) = (open(&scratch), open(&scratch));
    let create = |kind, user| server.create(new(kind, user), now()).unwrap().0;
    let ended = [create(Kind::Session, "alice"), create(Kind::Token, "alice")];
    let kept = create(Kind::Token, "alice2");
    assert_eq!(command.revoke_all_of("alice").unwrap(), 2);
    assert_eq!(command.revoke_all_of("alice").unwrap(), 0);
    let holds = |secret: &String| server.find(secret, now()).unwrap().is_some();
    assert!(!ended.iter().any(holds) && holds(&kept));
    fs::remove_file(scratch.join("http").join(FILE)).unwrap();
    assert!(!holds(&kept), "without a file there are no tokens");
}

#[test]
fn sessions_survive_a_restart_and_are_extended_by_use() {
    let scratch = Scratch::new("used");
    let (secret, grant) = {
        let credentials = open(&scratch);
        let made = credentials.create(new(Kind::Session, "alice"), now());
        made.unwrap()
    };
    let credentials = open(&scratch);
    let file = scratch.join("http").join(FILE);
    let expires = |at| {
        credentials
            .find(&secret, at)
            .unwrap()
            .map(|grant| grant.expires)
    };
    let read = || fs::read(&file).unwrap();
    let before = read();
    // An hour's session: every tenth of it.
    let early = now() + HOUR / 10 - Duration::from_secs(1);
    credentials.used(&grant.id, early).unwrap();
    assert_eq!(read(), before);
    let late = now() + HOUR - Duration::from_secs(1);
    credentials.used(&grant.id, late).unwrap();
    assert_eq!(expires(late), Some(late + HOUR));
    credentials.used(&grant.id, late + HOUR).unwrap();
    assert_eq!(
        expires(late + HOUR),
        None,
        "what has expired is not extended"
    );
    credentials.used("00000000", now()).unwrap();
}

#[test]
fn long_sessions_are_written_every_ten_minutes_and_tokens_never() {
    let scratch = Scratch::new("used-long");
    let credentials = open(&scratch);
    let make = |kind| {
        let lifetime = 24 * HOUR;
        let request = New {
            lifetime,
            ..new(kind, "alice")
        };
        credentials.create(request, now()).unwrap()
    };
    let (secret, session) = make(Kind::Session);
    let (token, of_token) = make(Kind::Token);
    let expires = |secret: &str| credentials.find(secret, now()).unwrap().unwrap().expires;
    for (seconds, is_extended) in [(599, false), (600, true), (1_199, false), (1_200, true)] {
        let at = now() + Duration::from_secs(seconds);
        let before = expires(&secret);
        credentials.used(&session.id, at).unwrap();
        credentials.used(&of_token.id, at).unwrap();
        let expected = if is_extended { at + 24 * HOUR } else { before };
        assert_eq!(expires(&secret), expected, "after {seconds} s");
        assert_eq!(expires(&token), of_token.expires);
    }
    assert_eq!(EXTENDED_EVERY, Duration::from_secs(600));
}

#[test]
fn a_further_session_ends_the_oldest_and_a_further_token_is_refused() {
    let scratch = Scratch::new("bounds");
    let credentials = open(&scratch);
    let create = |kind, user| credentials.create(new(kind, user), now());
    let other = create(Kind::Session, "bob").unwrap().0;
    let token = create(Kind::Token, "alice").unwrap().0;
    let sessions: Vec<String> = (0..MAX_SESSIONS + 3)
        .map(|_| create(Kind::Session, "alice").unwrap().0)
        .collect();
    let holds = |secret: &String| credentials.find(secret, now()).unwrap().is_some();
    assert_eq!(sessions.iter().position(holds), Some(3));
    assert!(sessions[3..].iter().all(holds) && holds(&other) && holds(&token));
    for _ in 1..MAX_TOKENS {
        create(Kind::Token, "alice").unwrap();
    }
    let refused = create(Kind::Token, "alice").unwrap_err();
    assert!(
        matches!(
            refused,
            IdentityError::TooManyTokens {
                max: MAX_TOKENS,
                ..
            }
        ),
        "{refused}"
    );
    create(Kind::Token, "bob").unwrap();
    // Expired ones do not count, and are removed.
    let later = now() + HOUR;
    credentials
        .create(new(Kind::Token, "alice"), later)
        .unwrap();
    assert_eq!(credentials.list(now()).unwrap().len(), 1);
}

#[test]
fn whoever_has_a_token_ends_only_the_sessions_of_that_token() {
    let scratch = Scratch::new("token-sessions");
    let credentials = open(&scratch);
    let create = |new: New<'_>| credentials.create(new, now()).unwrap();
    let own = create(new(Kind::Session, "alice")).0;
    let begin = |id: &str| {
        let session = New {
            token: Some(id),
            ..new(Kind::Session, "alice")
        };
        create(session).0
    };
    let [one, other] = [(); 2].map(|()| create(new(Kind::Token, "alice")).1.id);
    let of_other = begin(&other);
    let of_one: Vec<String> = (0..MAX_SESSIONS + 3).map(|_| begin(&one)).collect();
    let holds = |secret: &&String| credentials.find(secret, now()).unwrap().is_some();
    assert!(holds(&&own) && holds(&&of_other));
    let kept: Vec<&String> = of_one.iter().filter(holds).collect();
    let newest = of_one.len() - MAX_SESSIONS_OF_TOKEN;
    assert_eq!(kept, of_one[newest..].iter().collect::<Vec<_>>());
}

#[test]
fn nothing_is_lost_if_many_create_at_once() {
    let scratch = Scratch::new("concurrent");
    // Each thread has an instance of its own, as processes have.
    let secrets: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let scratch = &scratch;
                scope.spawn(move || {
                    let credentials = open(scratch);
                    let user = format!("user{thread}");
                    let create = |_| credentials.create(new(Kind::Token, &user), now());
                    (0..15)
                        .map(create)
                        .map(|made| made.unwrap().0)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let done = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        done.collect()
    });
    let credentials = open(&scratch);
    assert_eq!(secrets.len(), 60);
    assert_eq!(credentials.list(now()).unwrap().len(), 60);
    for secret in &secrets {
        assert!(credentials.find(secret, now()).unwrap().is_some());
    }
}

#[test]
fn invalid_requests_are_refused() {
    let scratch = Scratch::new("invalid");
    let credentials = open(&scratch);
    let good = new(Kind::Token, "alice");
    let long = "x".repeat(257);
    let invalid = [
        New { user: "", ..good },
        New {
            user: &long,
            ..good
        },
        New {
            user: "a\nb",
            ..good
        },
        New {
            note: &long,
            ..good
        },
        New {
            note: "\u{1b}[2J",
            ..good
        },
        New {
            scopes: Scopes::default(),
            ..good
        },
        New {
            lifetime: Duration::ZERO,
            ..good
        },
        New {
            lifetime: Duration::MAX,
            ..good
        },
        New {
            lifetime: Duration::from_secs(1 << 40),
            ..good
        },
    ];
    for request in invalid {
        let refused = credentials.create(request, now()).unwrap_err();
        assert!(
            matches!(refused, IdentityError::Invalid { .. }),
            "{request:?}: {refused}"
        );
    }
    assert!(!scratch.join("http").join(FILE).exists());
}

#[test]
fn a_hostile_file_lets_nobody_in_and_is_not_overwritten() {
    let scratch = Scratch::new("hostile");
    let credentials = open(&scratch);
    let (secret, grant) = credentials
        .create(new(Kind::Token, "alice"), now())
        .unwrap();
    let good = fs::read(scratch.join("http").join(FILE)).unwrap();
    let mut bad = good.clone();
    bad.extend_from_slice(b"\xff\x00{\n");
    write(&scratch, &bad);
    let errors = [
        credentials.find(&secret, now()).unwrap_err(),
        credentials.list(now()).unwrap_err(),
        credentials
            .create(new(Kind::Token, "bob"), now())
            .unwrap_err(),
        credentials.revoke(&grant.id).unwrap_err(),
        credentials.used(&grant.id, now()).unwrap_err(),
        Credentials::open(&scratch.join("http")).unwrap_err(),
    ];
    for error in errors {
        assert!(
            matches!(error, IdentityError::Line { line: 3, .. }),
            "{error}"
        );
    }
    assert_eq!(fs::read(scratch.join("http").join(FILE)).unwrap(), bad);
    write(&scratch, &good);
    assert_eq!(credentials.find(&secret, now()).unwrap(), Some(grant));
    let file = fs::File::options()
        .write(true)
        .open(scratch.join("http").join(FILE));
    file.unwrap().set_len(FILE_MAX_BYTES + 1).unwrap();
    let error = credentials.find(&secret, now()).unwrap_err();
    assert!(matches!(error, IdentityError::TooLong { .. }), "{error}");
}
