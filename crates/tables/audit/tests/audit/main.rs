//! Runs programs with and without the library: the loader loads the same libraries, with fewer
//! calls.

mod site;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use site::{DIRECTORIES, How, Site, command, counted, variables};
use trawl_table_service::Haste;
use trawl_testkit::oracle;
use trawl_testkit::skip;

const HOW: [How; 5] = [
    How::Plain,
    How::Preloaded,
    How::AuditedAlone,
    How::Audited(Haste::Patient),
    How::Audited(Haste::Eager),
];

/// Runs a program in each way and counts how often the loader opened a file in one of the
/// directories. Expects fewer opens with the library, and the same number where it must not answer.
fn compare(site: &Site, program: &Path, library_path: Option<&OsString>) {
    let mut without = 0;
    for how in HOW {
        let (service, mut variables) = site.start(how);
        variables.extend(library_path.map(|path| ("LD_LIBRARY_PATH".into(), path.clone())));
        let Some((ran, calls)) = counted(&variables, program) else {
            return;
        };
        assert_eq!(
            (ran.text(), ran.code),
            ("42\n".into(), Some(0)),
            "{how:?}: {}",
            ran.errors()
        );
        let place = site.root.display().to_string();
        let opened = |call: &&String| call.starts_with("openat(") && call.contains(&*place);
        // Earlier calls search the libraries that our own library needs when it is built with
        // tests.
        let first = calls
            .iter()
            .position(|call| call.contains("libtrawl_preload.so"));
        let opened = calls[first.unwrap_or(0)..].iter().filter(opened).count();
        match how {
            How::Plain => without = opened,
            How::Preloaded | How::AuditedAlone => {
                assert!(opened >= without, "{how:?}: {opened} instead of {without}");
                assert_eq!(service.statistics().0, 0, "{how:?}");
            }
            // The first files of a patient program, one file per search, and the library.
            How::Audited(haste) => {
                assert!(without > 2 * DIRECTORIES, "{without}");
                let most = match haste {
                    Haste::Patient | Haste::Ready => 32,
                    Haste::Eager => 12,
                };
                assert!(opened <= most, "{how:?}: {opened} instead of {without}");
                assert_eq!(service.statistics().0, 1, "{how:?}");
            }
        }
    }
}

#[test]
fn a_library_in_the_last_of_sixty_directories_is_found_with_few_calls() {
    let Some(site) = Site::new("LD_LIBRARY_PATH") else {
        return;
    };
    let program = site.root.join("uses");
    let last = format!("-L{}", site.last().display());
    site.compile("uses", &program, &[&last, "-lanswer"]);
    compare(&site, &program, Some(&site.search_path()));
}

#[test]
fn the_run_path_of_a_program_is_known_as_well() {
    let Some(site) = Site::new("DT_RUNPATH") else {
        return;
    };
    let last = format!("-L{}", site.last().display());
    let path = site.search_path().into_string().unwrap();
    for tags in ["--enable-new-dtags", "--disable-new-dtags"] {
        let program = site.root.join(format!("uses{tags}"));
        let flag = format!("-Wl,{tags},-rpath,{path}");
        site.compile("uses", &program, &[&last, "-lanswer", &flag, "-lm"]);
        compare(&site, &program, None);
    }
}

#[test]
fn libraries_that_were_just_made_are_found() {
    for how in [
        How::Plain,
        How::Audited(Haste::Patient),
        How::Audited(Haste::Eager),
    ] {
        let Some(site) = Site::new("dlopen") else {
            return;
        };
        let program = site.root.join("opens");
        site.compile("opens", &program, &["-ldl"]);
        let (service, variables) = site.start(how);
        let mut command = command(&variables, &program);
        command.env("LD_LIBRARY_PATH", site.search_path());
        command
            .arg(site.last().join("libanswer.so"))
            .arg(site.last());
        let ran = oracle::run(&mut command);
        assert_eq!(ran.text(), "found\n", "{how:?}: {}", ran.errors());
        assert_eq!(ran.code, Some(0));
        assert!(how == How::Plain || service.statistics().0 > 0, "{how:?}");
    }
}

/// Changes by others are not reported: they are visible once the table is too old.
#[test]
fn libraries_of_others_are_found_when_tables_are_too_old() {
    let Some(site) = Site::new("libraries of others") else {
        return;
    };
    let program = site.root.join("uses");
    let last = format!("-L{}", site.last().display());
    site.compile("uses", &program, &[&last, "-lanswer"]);
    let (there, away) = (site.last().join("libanswer.so"), site.root.join("away"));
    std::fs::rename(&there, &away).unwrap();
    let service = site.service(Haste::Eager, Duration::from_millis(300));
    let variables = variables(&service, How::Audited(Haste::Eager));
    let run = || {
        let mut command = command(&variables, &program);
        command.env("LD_LIBRARY_PATH", site.search_path());
        oracle::run(&mut command).code
    };
    assert_eq!(run(), Some(127));
    std::fs::rename(&away, &there).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while run() != Some(0) {
        assert!(Instant::now() < until, "it is not found");
    }
    assert!(service.statistics().0 > 0);
}

#[test]
fn what_is_missing_is_missing_and_said_alike() {
    let Some(site) = Site::new("missing libraries") else {
        return;
    };
    let program = site.root.join("uses");
    let last = format!("-L{}", site.last().display());
    site.compile("uses", &program, &[&last, "-lanswer"]);
    std::fs::remove_file(site.last().join("libanswer.so")).unwrap();
    // A file in the way, a dangling link, a loop, and a directory that nobody may look into.
    let mut path = site.search_path();
    std::fs::write(site.root.join("file"), "").unwrap();
    for (name, target) in [("nowhere", "no such"), ("loop", "loop"), ("link", "lib 03")] {
        std::os::unix::fs::symlink(target, site.root.join(name)).unwrap();
    }
    for name in [
        "file",
        "nowhere",
        "loop",
        "link",
        "no/such",
        "lib 00/../lib 01",
        "lib 02//",
    ] {
        path.push(format!(":{}/{name}", site.root.display()));
    }
    let mut expected = None;
    for round in 0..2 {
        for how in HOW {
            let (_service, variables) = site.start(how);
            let mut command = command(&variables, &program);
            let ran = oracle::run(command.env("LD_LIBRARY_PATH", &path));
            let got = (ran.text(), ran.errors(), ran.code);
            assert_eq!(expected.get_or_insert_with(|| got.clone()), &got, "{how:?}");
        }
        // The library is found behind all of these: the loader did not give up on its way.
        if round == 0 {
            let behind = site.root.join("zz");
            std::fs::create_dir(&behind).unwrap();
            site.compile(
                "answer",
                &behind.join("libanswer.so"),
                &["-shared", "-fPIC"],
            );
            path.push(format!(":{}", behind.display()));
            expected = Some(("42\n".into(), String::new(), Some(0)));
        }
    }
}

#[test]
fn static_programs_and_others_run_unharmed() {
    let Some(site) = Site::new("static programs") else {
        return;
    };
    let answer = site.root.join("answer.o");
    site.compile("answer", &answer, &["-c"]);
    let (plain, other) = (site.root.join("static"), site.root.join("musl"));
    site.compile("uses", &plain, &[&answer.display().to_string(), "-static"]);
    let mut programs = vec![plain];
    match skip::without_program("a program with musl", "musl-gcc") {
        Some(skip) => skip.say(),
        None => {
            let source = format!("{}/tests/audit/c", env!("CARGO_MANIFEST_DIR"));
            let mut cc = oracle::command("musl-gcc");
            cc.arg("-o").arg(&other);
            cc.args(["answer.c", "uses.c"].map(|name| format!("{source}/{name}")));
            assert_eq!(oracle::run(&mut cc).code, Some(0));
            programs.push(other);
        }
    }
    for program in programs {
        for how in HOW {
            let (_service, variables) = site.start(how);
            let mut command = command(&variables, &program);
            let ran = oracle::run(command.env("LD_LIBRARY_PATH", site.search_path()));
            assert_eq!((ran.text(), ran.code), ("42\n".into(), Some(0)), "{how:?}");
        }
    }
}

/// The same path is another file there.
#[test]
fn behind_another_root_nothing_is_known() {
    let Some(site) = Site::new("chroot") else {
        return;
    };
    if let Some(skip) = skip::without_root("chroot") {
        skip.say();
        return;
    }
    let jail = site.root.join("jail");
    let inner = jail.join(site.last().strip_prefix("/").unwrap());
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::copy(site.last().join("libanswer.so"), inner.join("libjail.so")).unwrap();
    let program = site.root.join("jailed");
    site.compile("jail", &program, &["-ldl"]);
    for how in HOW {
        let (_service, variables) = site.start(how);
        let mut command = command(&variables, &program);
        command
            .env("LD_LIBRARY_PATH", site.search_path())
            .arg(&jail);
        let ran = oracle::run(&mut command);
        assert_eq!(
            (ran.text(), ran.code),
            ("found\n".into(), Some(0)),
            "{how:?}: {}",
            ran.errors()
        );
    }
}
