//! The shared memory is written by foreign programs: nothing that they write makes the reader fail.

use trawl_histogram::Resolution;
use trawl_testkit::oracle;
use trawl_user_profile::{CallSites, Options, Threads};

use crate::site;

#[test]
fn overwritten_memory_is_reported() {
    let Some((_place, program)) = site::compiled("hostile programs", "hostile", &[]) else {
        return;
    };
    let both = [CallSites::Ignored, CallSites::Apart];
    let patterns = ["ones", "small", "random"];
    for (pattern, call_sites) in patterns
        .into_iter()
        .flat_map(|one| both.map(|two| (one, two)))
    {
        let options = Options {
            call_sites,
            resolution: Resolution::new(2).expect("in range"),
            threads_max: 4,
            threads: Threads::Apart,
            ..Options::default()
        };
        let session = site::session(&options);
        let mut command = site::profiled(&session, &program);
        oracle::run(command.arg(pattern)).expect_code(0);
        let reading = session.read();
        site::checked(&reading);
        assert!(!reading.damaged.is_empty(), "{pattern}");
        // Further programs find no memory of ours and run as without it.
        let ran = oracle::run(site::profiled(&session, "echo").arg("text")).expect_code(0);
        assert_eq!(ran.text(), "text\n");
    }
}

#[test]
fn a_variable_that_names_no_memory_is_ignored() {
    for path in ["", "/nonexistent", "/", "/dev/zero", "/etc/passwd"] {
        let mut command = oracle::command("cat");
        command.env("LD_PRELOAD", site::library());
        command.env("TRAWL_PROFILE", path).arg("/proc/self/comm");
        assert_eq!(oracle::run(&mut command).expect_code(0).text(), "cat\n");
    }
}
