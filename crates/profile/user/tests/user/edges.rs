//! Where recording is delicate: before and after main, closed descriptors, killed and cancelled
//! calls, programs that cannot be seen.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use trawl_testkit::{Scratch, Skip, oracle};
use trawl_user_profile::unseen::{self, Unseen};
use trawl_user_profile::{Error, Options, Session, availability};

use crate::site::{self, compiled, entered};

#[test]
fn calls_before_and_after_main_are_counted() {
    let Some((_place, program)) = compiled("calls around main", "edges", &[]) else {
        return;
    };
    let (_, reading) = site::recorded(&Options::default(), &program, &[]);
    // Constructor, main after closing everything, thread, its destructor, exit handler, destructor.
    assert_eq!(entered(&reading.whole, "lseek"), 6);
    assert_eq!(reading.without_region, 0);
}

#[test]
fn a_killed_program_leaves_its_call_in_flight() {
    let Some((_place, program)) = compiled("killed programs", "waits", &[]) else {
        return;
    };
    let session = site::session(&Options::default());
    let mut command = site::profiled(&session, &program);
    let mut child = command
        .arg("stay")
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut ready = [0; 6];
    let mut output = child.stdout.take().expect("piped");
    output
        .read_exact(&mut ready)
        .expect("it says that it is ready");
    while entered(&site::read(&session).whole, "read") == 0 {
        std::thread::yield_now();
    }
    child.kill().expect("our child");
    child.wait().expect("our child");
    let reading = site::read(&session);
    let read = reading.whole.get("read").expect("called");
    assert_eq!(
        (read.counts().entered, read.in_flight(), read.recorded()),
        (1, 1, 0)
    );
}

#[test]
fn cancellation_passes_through() {
    let Some((_place, program)) = compiled("cancelled threads", "waits", &[]) else {
        return;
    };
    let (_, reading) = site::recorded(&Options::default(), &program, &["cancel"]);
    let read = reading.whole.get("read").expect("called");
    assert_eq!((read.counts().entered, read.in_flight()), (1, 1));
}

#[test]
fn a_static_program_is_not_seen_and_runs() {
    if !site::has("static programs", "cc") {
        return;
    }
    let scratch = Scratch::new("user-profile-static");
    let (source, program) = (scratch.join("s.c"), scratch.join("s"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("written");
    let mut compiler = oracle::command("cc");
    let ran = oracle::run(compiler.arg("-static").arg("-o").arg(&program).arg(&source));
    if ran.code != Some(0) {
        return Skip::new("static programs", "the static C library is not installed").say();
    }
    assert_eq!(unseen::reason(&program), Some(Unseen::Static));
    let program = program.display().to_string();
    let (_, reading) = site::recorded(&Options::default(), &program, &[]);
    assert!(reading.whole.is_empty());
}

#[test]
fn ordinary_programs_can_be_seen() {
    assert_eq!(unseen::reason(Path::new("/bin/sh")), None);
    assert_eq!(unseen::reason(Path::new("/nonexistent")), None);
    let scratch = Scratch::new("user-profile-set-id");
    let program = scratch.join("sh");
    std::fs::copy("/bin/sh", &program).expect("copied");
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(&program, permissions).expect("ours");
    assert_eq!(unseen::reason(&program), Some(Unseen::OtherRights));
}

#[test]
fn libraries_that_cannot_be_loaded_are_named() {
    let missing = availability(Path::new("/nonexistent/library.so"));
    assert!(matches!(missing, Err(Error::Library { .. })), "{missing:?}");
    let scratch = Scratch::new("user-profile-library");
    let text = scratch.join("text.so");
    std::fs::write(&text, "text").expect("written");
    let error = availability(&text).expect_err("it is text");
    assert!(matches!(&error, Error::NotLoaded { .. }), "{error}");
    let odd = scratch.join("odd name.so");
    std::fs::write(&odd, "text").expect("written");
    let error = availability(&odd).expect_err("the loader splits at spaces");
    assert!(matches!(&error, Error::LibraryPath { .. }), "{error}");
    let options = Options {
        threads_max: 0,
        ..Options::default()
    };
    let error = Session::start(&site::library(), site::probe(), &options).expect_err("no threads");
    assert!(matches!(error, Error::Regions { .. }), "{error}");
}

#[test]
fn other_preloaded_libraries_stay() {
    let session = site::session(&Options::default());
    let [(name, alone), _] = session.environment(None);
    let [_, (variable, _)] = session.environment(None);
    let [(_, both), _] = session.environment(Some("libother.so".as_ref()));
    assert_eq!(
        (name.to_str(), variable.to_str()),
        (Some("LD_PRELOAD"), Some("TRAWL_PROFILE"))
    );
    assert_eq!(both, format!("{}:libother.so", alone.display()).as_str());
}

#[test]
fn the_clock_alone_is_measured_alike() {
    let library = site::library();
    let whole = site::probe();
    let clock = trawl_user_profile::probe::clock(&library).expect("programs can be profiled");
    assert_eq!(clock.cost_ns, 0.0);
    assert_eq!(clock.frequency_hz.is_some(), whole.frequency_hz.is_some());
    if let (Some(one), Some(other)) = (clock.frequency_hz, whole.frequency_hz) {
        let apart = one.get().abs_diff(other.get()) as f64 / other.get() as f64;
        assert!(apart < 0.001, "{one} and {other} Hz");
    }
}
