//! Commands in set names and commands on members run as the asking user, with no more rights.

use std::path::Path;

use trawl_testkit::Scratch;
use trawl_testkit::oracle::{Ran, run};
use trawl_testkit::permissions::people;
use trawl_testkit::permissions::stage::cannot;

/// Prints who runs it: users, groups, capabilities.
///
/// Each line differs, since a set has each member once.
const WHO: &str = "echo $(id -u) user; echo $(id -g) group; echo $(id -G) groups; \
                   grep -E ^Cap[EP] /proc/self/status";

#[test]
fn commands_of_sets_run_as_the_asking_user() {
    if cannot("commands of sets") {
        return;
    }
    let scratch = Scratch::new("permissions-commands");
    let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let (open, shut) = (scratch.join("open"), scratch.join("shut"));
    for (dir, mode) in [(&open, 0o755), (&shut, 0o700)] {
        std::fs::create_dir(dir).expect("room");
        std::fs::write(dir.join("file"), "text").expect("room");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(dir, mode).expect("our own");
    }
    for person in people::everybody() {
        let ask = |words: &[&str]| -> Ran {
            let mut line = person.identity().command(&trawl);
            run(line.arg("set").args(words).current_dir("/"))
        };
        let mut plain = person.identity().command("sh");
        let expected = run(plain.args(["-c", WHO]).current_dir("/")).text();
        let dir = open.display();
        let prefixed = expected.lines().map(|line| format!("{dir}/{line}\n"));
        let told = ask(&["--allow-commands", &format!("{dir}/%{WHO}%")]);
        assert_eq!(
            told.text(),
            prefixed.collect::<String>(),
            "{person}: {told}"
        );
        let told = ask(&[&format!("{dir}/*"), "--", "sh", "-c", WHO]);
        assert_eq!(told.text(), expected, "{person}: {told}");
        // Without the option nothing runs.
        let mark = scratch.join("mark");
        let told = ask(&[&format!("/%touch {}%", mark.display())]);
        assert!(told.code != Some(0) && !mark.exists(), "{person}: {told}");
        // A command begins in its directory, or not at all.
        let told = ask(&["--allow-commands", &format!("{}/%ls; pwd%", shut.display())]);
        let is_let_in = person.uid == 0;
        assert_eq!(told.text().contains("file"), is_let_in, "{person}: {told}");
        assert_eq!(told.code == Some(0), is_let_in, "{person}: {told}");
        assert!(is_let_in || told.text().is_empty(), "{person}: {told}");
    }
}
