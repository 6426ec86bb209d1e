//! Functions that the C library does not have.

use std::ffi::c_int;

use trawl_testkit::oracle;

use crate::real::real;

const NAME: &str = "trawl_has_no_such_function";

#[test]
#[ignore = "the other test looks at what the loader does meanwhile"]
fn calls_one_many_times() {
    for _ in 0..100 {
        crate::kernel::set_errno(0);
        let result = real!(trawl_has_no_such_function(1 => c_int) -> c_int, -7);
        let errno = std::io::Error::last_os_error().raw_os_error();
        assert_eq!((result, errno), (-7, Some(libc::ENOSYS)));
    }
}

#[test]
fn they_are_looked_up_once() {
    let mut command = oracle::command(std::env::current_exe().expect("ours"));
    command.args(["--ignored", "--exact", "missing::calls_one_many_times"]);
    // The loader logs in which library it looks for each symbol.
    let ran = oracle::run(command.env("LD_DEBUG", "symbols")).expect_code(0);
    assert!(ran.text().contains("1 passed"), "{}", ran.text());
    let said = ran.errors();
    let wanted = format!("symbol={NAME};");
    let looks: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once(&*wanted).map(|(_, file)| file.trim()))
        .collect();
    assert!(!looks.is_empty(), "nothing was looked up");
    let mut once = looks.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(looks.len(), once.len(), "{looks:?}");
}
