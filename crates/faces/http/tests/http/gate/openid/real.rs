//! A real provider, `oidc-provider`, in Chromium: two users log in there, and see their own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::site::Site;

use super::provider::CLIENT;
use super::with_provider;
use crate::browser;
use crate::client::SERVER;
use crate::gate::{Settings, cannot};

#[test]
fn users_of_a_real_provider_log_in_in_a_browser() {
    let test = "a real provider in a browser";
    if cannot(test) || browser::cannot(test) {
        return;
    }
    let Some(site) = Site::guarded("http-oidc-browser", SERVER) else {
        return;
    };
    // One of the two may enter what is closed to the other.
    std::os::unix::fs::chown(site.path("closed"), Some(60_005), None).expect("our own");
    site.index();
    let hits = |uid: u32| {
        let who = Identity::Other {
            uid,
            gid: uid,
            groups: Vec::new(),
        };
        let words = [site.text(""), "-iname".into(), "*e*".into()];
        let words = words.each_ref().map(String::as_str);
        gnu("find", words, &site.tree(), &who)
            .text()
            .lines()
            .count()
    };
    assert_ne!(hits(60_001), hits(60_005), "they see different things");
    // The provider has to know the port of the service, and the service that of the provider.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = port.expect("a port").port();
    let redirect = format!("https://localhost:{port}/login/oidc");
    let users = [("ann", 60_001), ("bob", 60_005)];
    let lines = users.map(|(name, uid)| format!("{name}=u{uid}={}", hits(uid)));
    let mut checks = browser::checks("oidc")
        .env("TRAWL_WEB_REDIRECT", &redirect)
        .env("TRAWL_WEB_CLIENT", format!("{}:{}", CLIENT.0, CLIENT.1))
        .env("TRAWL_WEB_TREE", site.text(""))
        .env("TRAWL_WEB_USERS", lines.join("\n"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut printed = BufReader::new(checks.stdout.take().expect("a pipe"));
    let mut first = String::new();
    printed.read_line(&mut first).expect("text");
    let Some(issuer) = first.trim_end().strip_prefix("issuer ") else {
        let output = checks.wait_with_output().expect("it ends");
        assert!(browser::passed(test, output).is_none(), "{first}");
        return;
    };
    // One is known by a claim that a rule names, the other by the number at the provider.
    let rules = format!(
        "oidc:{issuer}#preferred_username=ann@company = u60001\noidc:{issuer}#bob = u60005\n"
    );
    let settings = with_provider(Settings::of(&site), issuer, &redirect, &rules);
    let gate = settings.at_port(port).start();
    let mut input = checks.stdin.take().expect("a pipe");
    writeln!(input, "https://localhost:{port}").expect("it reads");
    let mut rest = String::new();
    printed.read_to_string(&mut rest).expect("text");
    let output = checks.wait_with_output().expect("it ends");
    let said = format!("{rest}\n{}", gate.said());
    assert!(output.status.success(), "{said}");
    let passed = rest.lines().filter(|line| line.starts_with("ok "));
    assert_eq!(passed.count(), 5, "{said}");
}
