//! What is refused: requests without a session, of other sites, for other hosts, and hostile ones.

use serde_json::json;
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::{Site, StandIn};

use crate::client::{SERVER, Server};

#[test]
fn without_a_session_nothing_is_answered_but_the_page() {
    let stand_in = StandIn::new("http-session", "touch ran");
    let mut server = Server::silent(&mut stand_in.command(SERVER, &[]));
    let guarded = [
        "/api/v1/find?paths=/",
        "/api/v1/me",
        "/api/v1/openapi.json",
        "/api/v1/no",
        "/metrics",
    ];
    for path in guarded {
        let answer = server.curl(path, &[]);
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
        assert_eq!(answer.header("www-authenticate"), ["Bearer"], "{path}");
        assert_eq!(
            answer.header("content-type"),
            ["application/problem+json"],
            "{path}"
        );
    }
    for (scheme, secret) in [
        ("Bearer", "x"),
        ("Basic", server.token.as_str()),
        ("Bearer", server.token.as_str()),
        ("Bearer", ""),
    ] {
        let header = format!("Authorization: {scheme} {secret}");
        assert_eq!(
            server.curl("/api/v1/me", &["--header", &header]).status,
            401,
            "{header}"
        );
    }
    let cookie = format!("Cookie: session={0}; token={0}", server.token);
    assert_eq!(
        server.curl("/api/v1/me", &["--header", &cookie]).status,
        401
    );
    let query = format!("/api/v1/me?token={}", server.token);
    assert_eq!(server.curl(&query, &[]).status, 401);
    assert_eq!(server.curl("/", &[]).status, 200);
    assert_eq!(server.curl("/healthz", &[]).body, b"ok\n");
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
    // The link holds once, and the session until it is ended.
    server.begin();
    assert_eq!(server.curl("/api/v1/me", &[]).status, 200);
    let again = server.post("session", &json!({"token": server.token}));
    assert_eq!(again.status, 403, "{again:?}");
    assert_eq!(
        server
            .curl("/api/v1/session", &["--request", "DELETE"])
            .status,
        204
    );
    assert_eq!(server.curl("/api/v1/me", &[]).status, 401);
}

#[test]
fn a_token_in_a_file_is_for_programs() {
    let stand_in = StandIn::new("http-token", "echo '{\"n\":1}'");
    let file = stand_in.scratch.join("token");
    std::fs::write(&file, "0123456789abcdef\n").expect("our own");
    let option = format!("--token-file={}", file.display());
    let refused = oracle::run(&mut stand_in.command(SERVER, &[&option])).expect_code(2);
    assert!(refused.errors().contains("chmod 600"), "{refused}");
    oracle::run(oracle::command("chmod").arg("600").arg(&file)).expect_code(0);
    let mut server = Server::silent(&mut stand_in.command(SERVER, &[&option]));
    server.session = "0123456789abcdef".into();
    assert_eq!(
        server.post("find", &json!({"paths": ["/"]})).json()["rows"],
        json!([{"n": 1}])
    );
    server.session = "0123456789abcdeF".into();
    assert_eq!(server.post("find", &json!({"paths": ["/"]})).status, 401);
}

/// A page of another site can send requests here, and its name may lead here (DNS rebinding).
#[test]
fn other_sites_and_other_hosts_are_refused() {
    let stand_in = StandIn::new("http-sites", "touch ran");
    let server = Server::with(&stand_in, &[]);
    for header in [
        "Origin: https://evil.example",
        "Origin: null",
        "Origin: http://127.0.0.1:1",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ] {
        let answer = server.curl("/api/v1/find?paths=/", &["--header", header]);
        assert_eq!(answer.status, 403, "{header}: {answer:?}");
        assert!(
            answer.header("access-control-allow-origin").is_empty(),
            "{answer:?}"
        );
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "0.0.0.0",
        "",
    ] {
        let header = format!("Host: {host}");
        for path in ["/api/v1/find?paths=/", "/", "/healthz"] {
            let request = format!(
                "GET {path} HTTP/1.1\r\n{header}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
                server.session
            );
            let answer = server.raw(request.as_bytes());
            assert!(
                answer.starts_with("HTTP/1.1 421 "),
                "{header} {path}: {answer}"
            );
        }
    }
    let twice = format!(
        "GET /healthz HTTP/1.1\r\nHost: {}\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        server.address
    );
    let answer = server.raw(twice.as_bytes());
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    let own = format!("Origin: http://{}", server.address);
    let answer = server.curl(
        "/api/v1/me",
        &["--header", &own, "--header", "Sec-Fetch-Site: same-origin"],
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
}

#[test]
fn every_response_tells_browsers_what_to_refuse() {
    let stand_in = StandIn::new("http-headers", "exit 0");
    let server = Server::with(&stand_in, &[]);
    for path in [
        "/",
        "/assets/app.js",
        "/assets/none",
        "/api/v1/me",
        "/api/v1/none",
        "/healthz",
    ] {
        let answer = server.curl(path, &[]);
        let policy = answer.header("content-security-policy");
        let policy = policy.first().copied().unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'") && policy.contains("script-src 'self';"),
            "{policy}"
        );
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
        for (header, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(header), [value], "{path}");
        }
        assert!(
            answer.header("set-cookie").is_empty(),
            "{path}: cookies are sent to every port"
        );
    }
    assert_eq!(
        server.curl("/api/v1/me", &[]).header("cache-control"),
        ["no-store"]
    );
}

#[test]
fn hostile_requests_are_refused_with_the_reason_and_nothing_runs() {
    let stand_in = StandIn::new("http-hostile", "touch ran");
    let server = Server::with(&stand_in, &[]);
    for (name, arguments, status, reason) in [
        (
            "find",
            json!({"paths": ["/"], "expression": ["-delete"]}),
            400,
            "-delete",
        ),
        (
            "find",
            json!({"paths": ["/"], "expression": ["-exec", "id", ";"]}),
            400,
            "-exec",
        ),
        (
            "find",
            json!({"paths": ["--index=/x"]}),
            400,
            "absolute path",
        ),
        (
            "find",
            json!({"paths": ["/"], "index": "/x"}),
            400,
            "no argument",
        ),
        (
            "find",
            json!({"paths": ["/"], "format": "parquet"}),
            400,
            "format",
        ),
        ("find", json!({"paths": ["/"], "format": 7}), 400, "format"),
        ("find", json!({"paths": []}), 400, "no path"),
        ("find", json!([]), 400, "invalid"),
        ("find", json!({"paths": vec!["/"; 65]}), 400, "too many"),
        (
            "grep",
            json!({"pattern": "x", "paths": ["/"], "format": "csv"}),
            400,
            "format",
        ),
        ("more", json!({"cursor": "x"}), 409, "cursor"),
        ("index", json!({"paths": ["/"]}), 404, "no question"),
        ("../find", json!({"paths": ["/"]}), 404, ""),
    ] {
        let answer = server.post(name, &arguments);
        assert_eq!(answer.status, status, "{name} {arguments}: {answer:?}");
        let detail = String::from_utf8_lossy(&answer.body);
        assert!(detail.contains(reason), "{name} {arguments}: {detail}");
    }
    let large = format!("{{\"paths\": [\"/{}\"]}}", "x".repeat(200_000));
    let file = stand_in.scratch.join("body");
    std::fs::write(&file, large).expect("our own");
    let body = format!("@{}", file.display());
    assert_eq!(server.curl("/api/v1/find", &["--json", &body]).status, 413);
    let form = server.curl("/api/v1/find", &["--data", "paths=/"]);
    assert_eq!(
        form.status, 415,
        "forms of other sites need no permission to send this: {form:?}"
    );
    for query in [
        "paths=/%ff",
        "paths=/&limit=-1",
        "paths=/&ignore_case=yes",
        "paths=/&at=a&at=b",
    ] {
        let answer = server.curl(&format!("/api/v1/find?{query}"), &[]);
        assert_eq!(answer.status, 400, "{query}: {answer:?}");
    }
    for method in ["PUT", "PATCH", "DELETE", "TRACE"] {
        for path in ["/api/v1/find?paths=/", "/", "/api/v1/me"] {
            let answer = server.curl(path, &["--request", method]);
            assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
        }
    }
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
}

#[test]
fn bytes_that_are_no_requests_are_survived() {
    let stand_in = StandIn::new("http-bytes", "touch ran");
    let server = Server::with(&stand_in, &[]);
    let long = format!(
        "GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n",
        server.address,
        "x".repeat(1 << 20)
    );
    let many = format!(
        "GET / HTTP/1.1\r\nHost: {}\r\n{}\r\n",
        server.address,
        "X: x\r\n".repeat(10_000)
    );
    let smuggled = format!(
        "POST /api/v1/find HTTP/1.1\r\nHost: {}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n",
        server.address
    );
    for bytes in [
        &b"\0\0\0\0"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"GET / HTTP/1.1\nHost: x\n\n\n",
        long.as_bytes(),
        many.as_bytes(),
        smuggled.as_bytes(),
    ] {
        let answer = server.raw(bytes);
        assert!(
            !answer.starts_with("HTTP/1.1 200"),
            "{}: {answer}",
            bytes[..bytes.len().min(40)].escape_ascii()
        );
        assert_eq!(server.curl("/healthz", &[]).status, 200, "it lives on");
    }
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
}

/// A request that never ends is given up, and others are answered meanwhile.
#[test]
fn slow_requests_are_given_up_and_hold_nobody_up() {
    let stand_in = StandIn::new("http-slow", "exit 0");
    let server = Server::with(&stand_in, &[]);
    let head = format!("POST /api/v1/find HTTP/1.1\r\nHost: {}\r\n", server.address);
    let body = format!(
        "{head}Authorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        server.session
    );
    let begun: [&[u8]; 4] = [head.as_bytes(), body.as_bytes(), b"", b"PRI * HTTP/2.0\r\n"];
    std::thread::scope(|scope| {
        let server = &server;
        let slow = begun.map(|bytes| scope.spawn(move || server.raw(bytes)));
        assert_eq!(server.curl("/healthz", &[]).status, 200);
        for slow in slow {
            let answer = slow.join().expect("it ends");
            assert!(
                answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
                "{answer}"
            );
        }
    });
}

#[test]
fn only_addresses_of_this_machine_are_listened_on() {
    let stand_in = StandIn::new("http-listen", "exit 0");
    for (word, reason) in [
        ("--listen=0.0.0.0:0", "ssh -L"),
        ("--listen=[::]:0", "ssh -L"),
        ("--exec=id", "start it with trawl web"),
    ] {
        let ran = oracle::run(&mut stand_in.command(SERVER, &[word])).expect_code(2);
        assert!(ran.errors().contains(reason), "{ran}");
    }
    let server = Server::silent(&mut stand_in.command(SERVER, &["--listen=[::1]:0"]));
    assert!(server.address.starts_with("[::1]:"), "{}", server.address);
    assert_eq!(server.curl("/healthz", &["--globoff"]).status, 200);
}

#[test]
fn trawl_web_refuses_what_it_cannot_do() {
    let Some(site) = Site::empty("http-options", SERVER) else {
        return;
    };
    for (words, reason) in [
        (&["web", "--profile", "x"][..], "leave out --profile"),
        (&["--at", "latest", "web"], "--at is only for questions"),
        (&["web", "--listen", "192.0.2.1:80"], "ssh -L"),
        (&["web", "--listen", "port"], "--listen"),
        (&["web", "--token-file", "/nonexistent"], "/nonexistent"),
    ] {
        let ran = oracle::run(site.command(&Identity::Ourselves).args(words)).expect_code(2);
        assert!(ran.errors().contains(reason), "{ran}");
    }
}
