//! Tests against the system's library, with services of the tests' own.

use std::fs;

use super::conversation::{ECHO_OFF, ECHO_ON, ERROR_MESSAGE, INFORMATION, Message, Response};
use super::*;
use trawl_testkit::Scratch;
use trawl_testkit::skip::Skip;

/// Says why a test cannot run, if so.
fn is_missing(test: &str, modules: &[&str]) -> bool {
    let why = match library() {
        Err(error) => Some(error.to_string()),
        Ok(library) if library.start_confdir.is_none() => {
            Some("libpam.so.0 has no pam_start_confdir".to_owned())
        }
        Ok(_) => modules
            .iter()
            .find(|module| !has(module))
            .map(|module| format!("{module} is not installed")),
    };
    why.map(|why| Skip::new(test, why).say()).is_some()
}

fn has(module: &str) -> bool {
    let architecture = std::env::consts::ARCH;
    let places = [
        format!("/lib/{architecture}-linux-gnu/security"),
        format!("/usr/lib/{architecture}-linux-gnu/security"),
        "/lib64/security".to_owned(),
        "/usr/lib64/security".to_owned(),
        "/lib/security".to_owned(),
        "/usr/lib/security".to_owned(),
    ];
    let mut places = places.iter().map(Path::new);
    places.any(|place| place.join(module).exists())
}

/// Tries to log in as alice to a service with these lines.
fn try_service(lines: &str, user: &str, password: &str) -> Result<String, PamError> {
    let scratch = Scratch::new("pam");
    fs::write(scratch.join("trawl"), lines).unwrap();
    authenticate(Login {
        service: "trawl",
        user,
        password,
        remote_host: Some("192.0.2.7"),
        configuration: Some(scratch.path()),
    })
}

/// A service whose script is asked, as real modules are.
fn asks_script(scratch: &Scratch, script: &str) -> String {
    let path = scratch.join("check");
    fs::write(&path, script).unwrap();
    format!(
        "auth [success=1 default=ignore] pam_exec.so quiet expose_authtok /bin/sh {}\n\
         auth requisite pam_deny.so\nauth required pam_permit.so\naccount required pam_permit.so\n",
        path.display()
    )
}

#[test]
fn the_password_and_the_client_reach_the_modules() {
    let modules = ["pam_exec.so", "pam_deny.so", "pam_permit.so"];
    if is_missing("passwords through PAM", &modules) {
        return;
    }
    let scratch = Scratch::new("pam-script");
    let said = scratch.join("said");
    let service = asks_script(
        &scratch,
        &format!(
            "echo \"$PAM_USER $PAM_RHOST $PAM_SERVICE\" > {}\n\
             [ \"$(tr -d '\\000')\" = 'größe \"7\"' ]",
            said.display()
        ),
    );
    let right = "größe \"7\"";
    assert_eq!(
        try_service(&service, "alice", right),
        Ok("alice".to_owned())
    );
    let said = || fs::read_to_string(&said).ok();
    assert_eq!(said().as_deref(), Some("alice 192.0.2.7 trawl\n"));
    for wrong in ["größe", "größe \"7\" ", "x"] {
        assert_eq!(try_service(&service, "alice", wrong), Err(PamError::Wrong));
    }
}

#[test]
fn what_is_no_password_reaches_no_module() {
    if is_missing("no passwords through PAM", &["pam_permit.so"]) {
        return;
    }
    let service = "auth required pam_permit.so\naccount required pam_permit.so\n";
    let long = "x".repeat(MAX_RESPONSE_BYTES);
    assert_eq!(try_service(service, "alice", "x"), Ok("alice".to_owned()));
    for wrong in ["", "x\0y", &long] {
        assert_eq!(try_service(service, "alice", wrong), Err(PamError::Wrong));
        assert_eq!(try_service(service, wrong, "x"), Err(PamError::Wrong));
    }
}

#[test]
fn failures_are_told_apart() {
    if is_missing("results of PAM", &["pam_debug.so"]) {
        return;
    }
    let result = |auth: &str, account: &str| {
        let service = format!(
            "auth required pam_debug.so auth={auth}\naccount required pam_debug.so acct={account}\n"
        );
        match try_service(&service, "alice", "x") {
            Ok(_) => "in",
            Err(PamError::Wrong) => "wrong",
            Err(PamError::Account { .. }) => "account",
            Err(PamError::System { .. }) => "system",
            Err(_) => "other",
        }
    };
    let expected = [
        ("success", "success", "in"),
        ("auth_err", "success", "wrong"),
        ("user_unknown", "success", "wrong"),
        ("perm_denied", "success", "wrong"),
        ("maxtries", "success", "wrong"),
        ("acct_expired", "success", "account"),
        ("authinfo_unavail", "success", "system"),
        ("system_err", "success", "system"),
        ("conv_err", "success", "system"),
        ("success", "acct_expired", "account"),
        ("success", "new_authtok_reqd", "account"),
        ("success", "perm_denied", "account"),
        ("success", "user_unknown", "account"),
        ("success", "system_err", "system"),
    ];
    for (auth, account, expected) in expected {
        assert_eq!(result(auth, account), expected, "{auth}, {account}");
    }
}

#[test]
fn unknown_services_let_nobody_in() {
    if is_missing("unknown services of PAM", &["pam_permit.so"]) {
        return;
    }
    let scratch = Scratch::new("pam-none");
    let login = Login {
        service: "trawl",
        user: "alice",
        password: "x",
        remote_host: None,
        configuration: Some(scratch.path()),
    };
    let refused = authenticate(login).unwrap_err();
    assert!(matches!(refused, PamError::System { .. }), "{refused}");
    assert!(
        refused.to_string().contains("/etc/pam.d/trawl"),
        "{refused}"
    );
    for broken in ["", "auth required pam_no_such_module.so\n", "nonsense\n"] {
        let refused = try_service(broken, "alice", "x");
        assert!(refused.is_err(), "{broken}: {refused:?}");
    }
}

#[test]
fn a_module_may_change_the_user() {
    if is_missing("users changed by PAM", &["pam_ftp.so", "pam_permit.so"]) {
        return;
    }
    let service = "auth required pam_ftp.so\naccount required pam_permit.so\n";
    let user = try_service(service, "anonymous", "someone@example.org");
    assert_eq!(user, Ok("ftp".to_owned()));
}

#[test]
fn a_missing_library_is_named_with_the_remedy() {
    let error = library::load(c"libtrawl-no-such-library.so").unwrap_err();
    assert!(matches!(error, PamError::Missing { .. }));
    assert!(error.to_string().contains("install the package libpam0g"));
    // Any library without PAM's functions.
    let error = library::load(c"libc.so.6").unwrap_err();
    assert_eq!(
        error,
        PamError::TooOld {
            function: "pam_start"
        }
    );
}

#[test]
fn passwords_are_not_shown() {
    let login = Login {
        service: "trawl",
        user: "alice",
        password: "correct horse",
        remote_host: None,
        configuration: None,
    };
    let text = format!("{login:?}");
    assert!(text.contains("alice") && !text.contains("horse"), "{text}");
}

/// Holds a conversation of these messages.
fn converse(parties: &mut Parties, styles: &[c_int]) -> Result<Vec<Option<String>>, c_int> {
    let messages: Vec<Message> = styles
        .iter()
        .map(|style| Message {
            style: *style,
            text: c"?".as_ptr(),
        })
        .collect();
    let mut pointers: Vec<*const Message> = messages.iter().map(ptr::from_ref).collect();
    let mut responses: *mut Response = ptr::null_mut();
    let count = c_int::try_from(styles.len()).unwrap();
    let parties = (&raw mut *parties).cast();
    // SAFETY: the arrays and the parties are valid.
    let status = unsafe {
        conversation::converse(count, pointers.as_mut_ptr(), &raw mut responses, parties)
    };
    if status != SUCCESS {
        assert!(responses.is_null());
        return Err(status);
    }
    let texts = (0..styles.len()).map(|at| {
        // SAFETY: there is a response for each message.
        let text = unsafe { (*responses.add(at)).text };
        // SAFETY: a text is NUL-terminated.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned())
    });
    let texts = texts.collect();
    // SAFETY: the responses are not used any more.
    unsafe { conversation::release(responses, styles.len()) };
    Ok(texts)
}

fn parties() -> Parties {
    Parties::new(c"alice".to_owned(), Secret::of("secret").unwrap())
}

#[test]
fn the_password_is_given_once() {
    let mut parties = parties();
    let given = converse(
        &mut parties,
        &[INFORMATION, ECHO_OFF, ERROR_MESSAGE, ECHO_ON],
    );
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(given, Ok(vec![None, some("secret"), None, some("alice")]));
    assert_eq!(converse(&mut parties, &[ECHO_ON]), Ok(vec![some("alice")]));
    assert_eq!(converse(&mut parties, &[ECHO_OFF]), Err(CONV_ERR));
}

#[test]
fn odd_conversations_end() {
    assert_eq!(converse(&mut parties(), &[]), Err(CONV_ERR));
    assert_eq!(converse(&mut parties(), &[ECHO_OFF, 7]), Err(CONV_ERR));
    assert_eq!(
        converse(&mut parties(), &[ECHO_OFF, ECHO_OFF]),
        Err(CONV_ERR)
    );
    assert_eq!(converse(&mut parties(), &[INFORMATION; 33]), Err(CONV_ERR));
    assert!(converse(&mut parties(), &[INFORMATION; 32]).is_ok());
}
