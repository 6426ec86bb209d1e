//! Certificates that are replaced while the service runs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use trawl_testkit::oracle;
use trawl_testkit::site::StandIn;

use super::{Gate, Settings, cannot};
use crate::authority::{Authority, GOOD};
use crate::client::wait_until;

/// Exit code of curl: the peer's certificate is not trusted.
const NOT_TRUSTED: i32 = 60;

/// Replaces a file as programs do that renew certificates: another one takes its name.
fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).expect("our own");
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o600)).expect("our own");
    std::fs::rename(beside, path).expect("our own");
}

/// Returns true if a new connection shows a certificate that this authority has signed.
fn is_trusted(gate: &Gate, ca: &Path) -> bool {
    let mut command = oracle::command("curl");
    command.args(["--silent", "--max-time", "120", "--output", "/dev/null"]);
    command.arg("--cacert").arg(ca);
    let ran = oracle::run(command.arg(format!("https://{}/healthz", gate.address)));
    match ran.code {
        Some(0) => true,
        Some(NOT_TRUSTED) => false,
        _ => panic!("{ran}"),
    }
}

#[test]
fn a_renewed_certificate_is_shown_to_new_connections_and_old_ones_stay() {
    if cannot("a renewed certificate") {
        return;
    }
    let stand_in = StandIn::new("http-gate-renewed", "while :; do echo '{\"n\":1}'; done");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let token = settings.whole_token("u60001");
    let (old, new) = (settings.join("ca.pem"), settings.join("other-ca.pem"));
    let other = Authority::new("another authority");
    std::fs::write(&new, &other.pem).expect("our own");
    assert!(is_trusted(&gate, &old) && !is_trusted(&gate, &new));
    let received = settings.join("received");
    let mut download = oracle::command("curl");
    // It takes as long as it is wanted.
    download.args(["--silent", "--no-buffer", "--limit-rate", "20k"]);
    download.arg("--cacert").arg(&old);
    download.args(["--header", &super::bearer(&token), "--output"]);
    download.arg(&received).stdout(Stdio::null());
    download.arg(format!(
        "https://{}/api/v1/find?paths=/&format=jsonl",
        gate.address
    ));
    let mut download = download.spawn().expect("curl starts");
    let length = || std::fs::metadata(&received).map_or(0, |found| found.len());
    wait_until("nothing is sent", || length() > 0);
    let (cert, key) = (settings.join("server.pem"), settings.join("server.key"));
    let signed = other.sign(&GOOD);
    // Until the key has followed, the one before is shown.
    replace(&cert, &signed.pem);
    assert!(is_trusted(&gate, &old));
    replace(&key, &signed.key);
    wait_until("the new certificate is not shown", || {
        is_trusted(&gate, &new)
    });
    assert!(!is_trusted(&gate, &old));
    let before = length();
    wait_until("the connection from before has ended", || length() > before);
    assert!(download.try_wait().expect("our own").is_none());
    download.kill().expect("our own");
    download.wait().expect("our own");
    // The service reports files that it cannot use. A front that is started again shows the
    // certificate from before.
    replace(&cert, "no certificate");
    wait_until("nothing is told", || {
        gate.said()
            .contains("the certificate from before stays in use")
    });
    for front in gate.those("--front") {
        let ended = oracle::run(oracle::command("kill").args(["-9", &front.to_string()]));
        assert_eq!(ended.code, Some(0), "{ended}");
        wait_until("there is no other front", || {
            let fronts = gate.those("--front");
            !fronts.is_empty() && !fronts.contains(&front)
        });
    }
    assert!(is_trusted(&gate, &new));
}
