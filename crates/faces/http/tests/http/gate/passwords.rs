//! Passwords, checked by PAM with a configuration of the test's own.

use serde_json::json;
use trawl_testkit::Skip;
use trawl_testkit::site::StandIn;

use super::{Settings, cannot};

/// Lets users with these passwords log in, and u60006 with the right one not.
pub(crate) fn with_passwords(settings: Settings) -> Settings {
    let directory = settings.join("pam");
    std::fs::create_dir(&directory).expect("our own");
    let script = settings.join("check");
    // The module gives the script the password, and the name of the user.
    let text = "#!/bin/sh\nread -r password\n\
                case \"$PAM_USER:$password\" in\n\
                u60001:R1ght|root:R1ght|u60005:R1ght|u60006:R1ght) exit 0 ;;\nesac\nexit 1\n";
    std::fs::write(&script, text).expect("our own");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("our own");
    let service = format!(
        "auth sufficient pam_exec.so quiet expose_authtok {}\n\
         auth required pam_deny.so\n\
         account required pam_succeed_if.so quiet user != u60006\n",
        script.display()
    );
    std::fs::write(directory.join("trawl"), service).expect("our own");
    settings
        .word("--pam=trawl")
        .word(format!("--pam-directory={}", directory.display()))
}

#[test]
fn a_password_begins_a_session() {
    let test = "passwords of the service";
    if cannot(test) {
        return;
    }
    let stand_in = StandIn::new("http-gate-passwords", "echo '{}'");
    let settings = Settings::with(&stand_in);
    let settings = with_passwords(settings);
    let gate = settings.start();
    let none: [&str; 0] = [];
    let ways = gate.curl("/api/v1/login", &none).json();
    assert_eq!(ways["ways"][0], "password");
    let log_in =
        |user: &str, password: &str| gate.log_in(&json!({"user": user, "password": password}));
    let answer = log_in("u60001", "R1ght");
    if answer.status == 503 {
        let said = gate.said();
        let reason = said.lines().last().unwrap_or_default();
        return Skip::new(test, reason).say();
    }
    assert_eq!(answer.status, 200, "{answer:?} {}", gate.said());
    let session = answer.json()["session"]
        .as_str()
        .expect("a session")
        .to_owned();
    assert_eq!(gate.get(&session, "/api/v1/me").json()["user"], "u60001");
    // Right for the superuser, and for an account that is closed.
    for user in ["root", "u60006"] {
        let answer = log_in(user, "R1ght");
        assert_eq!(answer.status, 403, "{user}: {answer:?} {}", gate.said());
    }
    let wrong = [
        ("u60001", "Wr0ng"),
        ("nobody-of-this-name", "R1ght"),
        ("u60001", ""),
    ];
    let answers = wrong.map(|(user, password)| log_in(user, password));
    for answer in &answers {
        assert_eq!(answer.status, 403, "{answer:?}");
        // Nobody learns which users there are.
        assert_eq!(answer.body, answers[0].body);
    }
    let record = gate.record(6);
    let granted: Vec<bool> = record.iter().map(|line| line["granted"] == true).collect();
    assert_eq!(granted, [true, false, false, false, false, false]);
    let text = std::fs::read_to_string(settings.join("record")).expect("our own");
    assert!(!text.contains("R1ght") && !text.contains("Wr0ng"), "{text}");
}
