//! Changes made by programs of a run are visible at once: to the same process, to a child, to a
//! sibling.

use trawl_table_service::Haste;
use trawl_testkit::Scratch;
use trawl_testkit::oracle;

use crate::site;

/// Makes every kind of change and looks after each.
#[test]
fn what_a_process_changes_it_sees() {
    let Some((_program_place, program)) = site::compiled("own writes", "writes") else {
        return;
    };
    for haste in [Haste::Ready, Haste::Eager] {
        let scratch = Scratch::new("preload-writes");
        let root = scratch.path().canonicalize().unwrap();
        let service = site::service(&root, haste);
        let ran = oracle::run(site::with(&service, &program).current_dir(&root));
        assert_eq!(
            ran.code,
            Some(0),
            "{haste:?}: {}{}",
            ran.text(),
            ran.errors()
        );
    }
}

#[test]
fn what_another_program_of_the_run_changes_is_seen() {
    let scratch = Scratch::new("preload-siblings");
    let root = scratch.path().canonicalize().unwrap();
    for number in 0..20 {
        std::fs::write(root.join(format!("f{number}")), "").unwrap();
    }
    let service = site::service(&root, Haste::Eager);
    // The reader lists, then waits for a line; the writer is a separate process.
    let script = "mkfifo go; ( read -r _ < go; touch new; rm f3; echo x > f4; echo done ) & \
        ls | wc -l; test -e f3 && echo there; echo > go; wait; \
        ls | wc -l; test -e f3 || echo gone; stat -c %s f4";
    let ran = oracle::run(
        site::with(&service, "bash")
            .args(["-c", script])
            .current_dir(&root),
    );
    assert_eq!(
        ran.text(),
        "21\nthere\ndone\n21\ngone\n2\n",
        "{}",
        ran.errors()
    );
}

/// Changes that are not reported to the run's page become visible after the agreed age.
#[test]
fn what_others_change_is_seen_when_tables_are_too_old() {
    let Some((_program_place, program)) = site::compiled("others' writes", "poll") else {
        return;
    };
    let scratch = Scratch::new("preload-others");
    let root = scratch.path().canonicalize().unwrap();
    let config = trawl_table_service::Config {
        haste: Haste::Eager,
        age: std::time::Duration::from_millis(100),
        ..trawl_table_service::Config::local(vec![root.clone()])
    };
    let service = trawl_table_service::Service::start(config).unwrap();
    let mut poll = site::with(&service, &program);
    let mut child = poll
        .current_dir(&root)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!(line, "absent\n");
    std::fs::write(root.join("awaited"), "").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(service.statistics().0 > 0);
}
