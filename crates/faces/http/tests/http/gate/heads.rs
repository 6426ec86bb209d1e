//! `HEAD` through the service: it says what an answer would be, and nothing of its length.

use trawl_testkit::site::StandIn;

use super::{Settings, bearer, cannot};

#[test]
fn asking_for_the_head_runs_nothing_through_the_service() {
    if cannot("HEAD through the service") {
        return;
    }
    let stand_in = StandIn::new("http-gate-head", "echo '{\"n\":1}'; touch \"$0.ran\"");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let header = bearer(&settings.whole_token("u60001"));
    for version in ["--http1.1", "--http2"] {
        let head = |path: &str| gate.curl(path, &["--head", version, "--header", &header]);
        for (query, media_type) in [
            ("&format=csv", "text/csv; charset=utf-8; header=present"),
            ("", "application/json"),
        ] {
            let answer = head(&format!("/api/v1/find?paths=/{query}"));
            assert_eq!(answer.status, 200, "{version}: {answer:?}");
            assert_eq!(answer.header("content-type"), [media_type], "{version}");
            assert_eq!(answer.header("content-length"), [""; 0], "{answer:?}");
            assert_eq!(answer.header("accept-ranges"), ["none"], "{answer:?}");
        }
        let refused = head("/api/v1/find?paths=x");
        assert_eq!(refused.status, 400, "{version}: {refused:?}");
        let path = "/api/v1/openapi.json";
        let whole = gate.curl(path, &[version, "--header", &header]).body.len();
        let lengths = head(path);
        let lengths = lengths.header("content-length");
        assert_eq!(lengths, [whole.to_string()], "{version}");
    }
    assert!(!stand_in.scratch.join("trawl.ran").exists());
}
