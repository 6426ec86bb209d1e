//! Programs searched in `PATH`: the same ones are found, with fewer calls.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use trawl_table_service::Haste;
use trawl_testkit::oracle;
use trawl_testkit::{Scratch, Skip};

use crate::site::{self, ALL, How};

const DIRECTORIES: usize = 30;

const SAY: &str = "#!/bin/sh\necho \"$0 $# $* ${ONLY-unset}\"\n";

fn file(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Makes thirty directories with many kinds of obstacles to a program's execution; returns the
/// value of `PATH`.
fn path(root: &Path) -> String {
    let directories: Vec<PathBuf> = (0..DIRECTORIES)
        .map(|at| root.join(format!("bin {at:02}")))
        .collect();
    for directory in &directories {
        fs::create_dir(directory).unwrap();
        file(&directory.join("other"), SAY, 0o755);
    }
    let (early, middle, last) = (&directories[3], &directories[15], &directories[29]);
    file(&last.join("say"), SAY, 0o755);
    file(&middle.join("twice"), SAY, 0o755);
    file(
        &last.join("twice"),
        &SAY.replace("echo", "echo wrong"),
        0o755,
    );
    // Not an executable program, so the shell must run it.
    file(&last.join("script"), &SAY.replace("#!/bin/sh\n", ""), 0o755);
    file(&last.join("empty"), "", 0o755);
    // Not executable here, but there.
    file(&early.join("denied"), SAY, 0o644);
    file(&last.join("denied"), SAY, 0o755);
    file(&early.join("denied for good"), SAY, 0o644);
    fs::create_dir(early.join("directory")).unwrap();
    file(&last.join("directory"), SAY, 0o755);
    // A script whose interpreter does not exist counts as missing.
    file(&early.join("no interpreter"), "#!/no/such\n", 0o755);
    file(&middle.join("no interpreter"), SAY, 0o755);
    file(
        &middle.join("no interpreter for good"),
        "#!/no/such\n",
        0o755,
    );
    symlink("nowhere", early.join("dangling")).unwrap();
    file(&last.join("dangling"), SAY, 0o755);
    symlink("loop", early.join("loop")).unwrap();
    file(&last.join("loop"), SAY, 0o755);
    file(&root.join("here"), SAY, 0o755);
    symlink(last, root.join("linked")).unwrap();
    file(&root.join("linked/behind"), SAY, 0o755);
    let mut path: Vec<String> = directories
        .iter()
        .map(|directory| directory.display().to_string())
        .collect();
    path.insert(5, root.join("here").display().to_string());
    path.insert(9, root.join("no/such").display().to_string());
    path.insert(20, root.join("linked").display().to_string());
    path.insert(21, format!("{}/../bin 02", path[0]));
    path.join(":")
}

fn with(how: How, root: &Path, program: &str) -> (Command, Option<trawl_table_service::Running>) {
    match how {
        How::Without => (oracle::command(program), None),
        How::With(haste) => {
            let service = site::service(root, haste);
            (site::with(&service, program), Some(service))
        }
    }
}

#[test]
fn the_same_program_is_executed_or_refused() {
    let Some((_place, program)) = site::compiled("programs in PATH", "exec") else {
        return;
    };
    let program = program.display().to_string();
    let scratch = Scratch::new("preload-exec");
    let root = scratch.path().canonicalize().unwrap();
    let path = path(&root);
    let long = "n".repeat(256);
    let names = [
        "say",
        "twice",
        "script",
        "empty",
        "denied",
        "denied for good",
        "directory",
        "no interpreter",
        "no interpreter for good",
        "dangling",
        "loop",
        "behind",
        "here",
        "no such",
        "./here",
        "bin 29/say",
        "bin 29/script",
        "/no/such",
        "",
        &long,
    ];
    let hows = [
        "execvp",
        "execvpe",
        "execlp",
        "execlp few",
        "no words",
        "no PATH",
        "vfork",
        "spawnp",
        "spawnp with actions",
    ];
    let paths = [
        path.clone(),
        format!(":{path}"),
        format!("{path}:"),
        String::new(),
    ];
    for path in &paths {
        // Each on its own: after a child has ended nothing is asked for a while.
        let mut answers = 0;
        for (name, how) in names.iter().flat_map(|name| hows.map(|how| (name, how))) {
            let run = |with: How| {
                let (mut command, service) = self::with(with, &root, &program);
                command.args([how, name]).env("PATH", path);
                let ran = oracle::run(command.current_dir(&root));
                (
                    ran.text(),
                    ran.code,
                    service.map_or(0, |service| service.statistics().0),
                )
            };
            let (expected, code, _) = run(How::Without);
            let (text, got, asked) = run(How::With(Haste::Eager));
            assert_eq!((text, got), (expected, code), "{how} {name} {path}");
            answers += asked;
        }
        assert!(path.is_empty() || answers > 50, "{answers}");
    }
    // One after the other in a shell, which learns more and more.
    let mut script = String::new();
    for (name, how) in names.iter().flat_map(|name| hows.map(|how| (name, how))) {
        script.push_str(&format!(
            "echo '{how} {name}'; \"$PROGRAM\" '{how}' '{name}' 2>&1\n"
        ));
    }
    let mut expected = None;
    for how in ALL {
        let (mut command, _service) = with(how, &root, "/bin/sh");
        command
            .args(["-c", &script])
            .env("PATH", &path)
            .env("PROGRAM", &program);
        let text = oracle::run(command.current_dir(&root)).text();
        assert!(text.contains("say 9 1 2 3"), "{text}");
        assert_eq!(
            expected.get_or_insert_with(|| text.clone()),
            &text,
            "{how:?}"
        );
    }
}

/// Counts how often a command names a file in the directories; `None`, and says why, where that
/// cannot be counted.
fn looks(how: How, root: &Path, path: &str, words: &[&str]) -> Option<(usize, String)> {
    if !site::has("counting system calls", "strace") {
        return None;
    }
    let scratch = Scratch::new("preload-exec-strace");
    let log = scratch.join("log");
    let (_, service) = with(how, root, "true");
    let mut strace = oracle::command("strace");
    if let Some(service) = &service {
        strace.envs(service.environment());
        strace
            .arg("-E")
            .arg(format!("LD_PRELOAD={}", site::library().display()));
    }
    strace
        .arg("-E")
        .arg(format!("PATH={path}"))
        .arg("-f")
        .arg("-o")
        .arg(&log);
    let ran = oracle::run(strace.args(words).current_dir(root));
    if ran.errors().contains("ptrace") {
        Skip::new("counting system calls", ran.errors()).say();
        return None;
    }
    let place = format!("\"{}", root.display());
    let lines = fs::read_to_string(&log).unwrap();
    let count = lines.lines().filter(|line| line.contains(&place)).count();
    Some((count, ran.text()))
}

#[test]
fn programs_are_looked_for_with_few_calls() {
    let Some((_place, program)) = site::compiled("programs in PATH", "exec") else {
        return;
    };
    let program = program.display().to_string();
    let scratch = Scratch::new("preload-looks");
    let root = scratch.path().canonicalize().unwrap();
    let path = path(&root);
    // Without the file in the place of a directory: it is not known not to be one.
    let path = path.replace(&format!("{}:", root.join("here").display()), "");
    let path = path.replace(&format!("{}/../bin 02:", root.join("bin 00").display()), "");
    let path = path.replace(&format!("{}:", root.join("linked").display()), "");
    let python = "import subprocess; print(subprocess.run(['say', '1'], capture_output=True))";
    let several = "for n in 1 2 3; do command -v say; command -v no such$n; done";
    for words in [
        &["/usr/bin/env", "say"][..],
        &["/bin/sh", "-c", "say 1"],
        &["/bin/bash", "-c", "say 1"],
        &["/bin/bash", "-c", several],
        &["/usr/bin/python3", "-c", python],
        &[&program, "execlp", "say"],
        &[&program, "vfork", "say"],
        &[&program, "spawnp with actions", "say"],
    ] {
        if !site::has("programs in PATH", words[0]) {
            continue;
        }
        let Some((without, expected)) = looks(How::Without, &root, &path, words) else {
            return;
        };
        let Some((with, text)) = looks(How::With(Haste::Eager), &root, &path, words) else {
            return;
        };
        assert_eq!(text, expected, "{words:?}");
        // Python also looks at files below the working directory.
        let most = match words[0].ends_with("python3") {
            true => without / 2,
            false => (without / 10).max(12),
        };
        assert!(
            without >= DIRECTORIES && with <= most,
            "{words:?}: {with} instead of {without}"
        );
    }
}

#[test]
fn programs_that_were_just_made_are_found() {
    let scratch = Scratch::new("preload-new-program");
    let root = scratch.path().canonicalize().unwrap();
    let path = path(&root);
    // Each is searched in vain, made by another program, by a shell, moved, and removed.
    let script = "for n in 1 2 3 4 5; do env new$n 2>&1; /bin/cp 'bin 29/say' 'bin 28/new'$n; \
        env new$n; command -v new$n; new$n $n; /bin/mv 'bin 28/new'$n 'bin 01/moved'$n; \
        env moved$n; env new$n 2>&1; echo 'echo made' > 'bin 02/shell'$n; \
        /bin/chmod +x 'bin 02/shell'$n; env shell$n; /bin/rm 'bin 02/shell'$n; \
        command -v shell$n || echo gone; env shell$n 2>&1; done; :";
    for shell in ["/bin/bash", "/bin/sh"] {
        let mut expected = None;
        for how in ALL {
            let (mut command, _service) = with(how, &root, shell);
            command
                .args(["-c", script])
                .env("PATH", format!("{path}:/usr/bin"));
            let ran = oracle::run(command.current_dir(&root));
            let shown = ran.text();
            assert_eq!(
                expected.get_or_insert_with(|| shown.clone()),
                &shown,
                "{shell} {how:?}"
            );
            for at in 1..=5 {
                fs::remove_file(root.join(format!("bin 01/moved{at}"))).unwrap();
            }
        }
    }
}
