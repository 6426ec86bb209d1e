//! `trawl ls` compared with GNU ls, byte for byte.

use trawl_testkit::lines::{Ending, Order, assert_same};

use crate::site::Site;

#[track_caller]
fn same(site: &Site, options: &str) {
    let line = format!("ls {options}").trim_end().to_owned();
    let (theirs, ours) = (site.gnu(&line), site.run(&line));
    let order = match options.contains("-U") || options.contains("sort=none") {
        true => Order::Any,
        false => Order::Exact,
    };
    assert_same(&line, &theirs.stdout, &ours.stdout, order, Ending::Newline);
    if theirs.code == Some(0) {
        assert_eq!(ours.code, Some(0), "{ours}");
    }
}

#[test]
fn every_option_prints_what_gnu_ls_prints() {
    let site = Site::odd("ls");
    for options in [
        "",
        "-a",
        "-A",
        "-l",
        "-la",
        "-lA",
        "-R",
        "-lR",
        "-laR",
        "-1",
        "-lt",
        "-ltr",
        "-lS",
        "-lSr",
        "-t",
        "-S",
        "-r",
        "-U -1",
        "-X",
        "-lh",
        "-l --si",
        "-ln",
        "-li",
        "-ls",
        "-lis",
        "-s",
        "-i",
        "-sh",
        "-F",
        "-lF",
        "-p",
        "--file-type",
        "-lg",
        "-lo",
        "-lG",
        "-d",
        "-ld",
        "-ld .",
        "--full-time",
        "-l --time=ctime",
        "-l --time=birth",
        "-lc",
        "-lu",
        "-c",
        "-u",
        "-ltu",
        "-l --time-style=long-iso",
        "-l --time-style=iso",
        "-l --time-style=full-iso",
        "-l --time-style=+%Y%m%d.%H%M%S",
        "-l --block-size=K",
        "-ls --block-size=512",
        "-lk",
        "-l --block-size=kB",
        "-lRtr",
        "-RS",
        "--sort=none",
        "--sort=size -l",
        "-Q",
        "-b",
        "--quoting-style=shell-escape",
        "--quoting-style=c",
        "-lQ",
        "-N",
        "-C",
        "-C -w 40",
        "-Ci -w 60",
        "-C -w 0",
        "-CF -w 100",
        "--group-directories-first -l",
        "-lrR",
        "-aR",
        "-l --zero",
        "--zero",
        // The value is `=*`, as for getopt(3).
        "-I=*",
    ] {
        same(&site, options);
    }
}

#[test]
fn arguments_are_sorted_files_first() {
    let site = Site::empty("ls-arguments");
    let tree = site.tree();
    for name in ["b", "a", "d1", "d2"] {
        match name.starts_with('d') {
            true => std::fs::create_dir(tree.join(name)).unwrap(),
            false => std::fs::write(tree.join(name), name).unwrap(),
        }
    }
    std::fs::write(tree.join("d1/.hidden"), "").unwrap();
    std::fs::create_dir_all(tree.join("d1/.deep/below")).unwrap();
    std::os::unix::fs::symlink("d1", tree.join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", tree.join("broken")).unwrap();
    std::os::unix::fs::symlink("a", tree.join("d2/wrong")).unwrap();
    site.index();
    for options in [
        "d2 b d1 a",
        "-l d2 b d1 a",
        "d1",
        "-R d1",
        "-R d1 d2",
        "-aR d1",
        "-AR d1",
        "-r d1 d2 a b",
        "link",
        "-l link",
        "-l link/",
        "link/",
        "-d link",
        "-F link",
        "-lF",
        "-lF link broken",
        "broken",
        "d1/../d2",
        "link/../d2",
        "./d1/.",
        "d1//",
        "-ld d1/",
        "-d d1/ a",
        "-a d1",
        "-la d1/.deep",
    ] {
        same(&site, options);
    }
    let ran = site.run("ls a nowhere d2").expect_code(2);
    assert_eq!(
        ran.text(),
        "a\n\nd2:\nwrong\n",
        "the rest is answered all the same"
    );
    assert!(ran.errors().contains("cannot access ‘nowhere’"), "{ran}");
    site.run("ls a/").expect_code(2);
    site.run("ls a/b").expect_code(2);
    for options in ["-L link", "-L d2", "-lLR d2", "-H link", "-LF"] {
        same(&site, options);
    }
    // A link that leads back to its own directory.
    std::os::unix::fs::symlink("..", tree.join("d1/up")).unwrap();
    site.index();
    same(&site, "-RL d1");
    site.run("ls -RL d1").expect_code(2);
    for options in ["-Z", "-D"] {
        let ran = site.run(&format!("ls {options}")).expect_code(2);
        assert!(ran.errors().contains("is not supported"), "{ran}");
    }
}

#[test]
fn the_locale_and_the_environment_count() {
    let site = Site::empty("ls-environment");
    for name in ["B", "a", "b", "A", ".c"] {
        std::fs::write(site.tree().join(name), vec![b'x'; 3000]).unwrap();
    }
    site.index();
    let ran = |variable: &str, value: &str, line: &str| {
        let mut command = site.command();
        command.env(variable, value).args(line.split(' '));
        trawl_testkit::oracle::run(&mut command)
            .expect_code(0)
            .text()
    };
    assert_eq!(ran("LC_ALL", "C", "ls -A"), ".c\nA\nB\na\nb\n");
    // As the C library looks for locales: in LOCPATH first.
    let locales = site.scratch.join("locales");
    std::fs::create_dir_all(locales.join("xx_XX.utf8")).unwrap();
    for (locale, expected) in [
        ("xx_XX.UTF-8", "a\nA\nb\nB\n"),
        ("xx_YY.UTF-8", "A\nB\na\nb\n"),
    ] {
        let mut command = site.command();
        command.env("LC_ALL", locale).env("LOCPATH", &locales);
        let ran = trawl_testkit::oracle::run(command.arg("ls")).expect_code(0);
        assert_eq!(ran.text(), expected, "{locale}");
    }
    assert_eq!(
        ran("BLOCK_SIZE", "K", "ls -sg a"),
        ran("LS_BLOCK_SIZE", "K", "ls -sg a")
    );
    assert!(ran("BLOCK_SIZE", "1K", "ls -lg a").contains(" 3 "));
    assert!(ran("TIME_STYLE", "+@%s@", "ls -lg a").contains('@'));
    assert_eq!(ran("QUOTING_STYLE", "c", "ls a"), "\"a\"\n");
    assert_eq!(ran("COLUMNS", "4", "ls -C"), "A  a\nB  b\n");
}

#[test]
fn colours_come_when_asked_for() {
    let site = Site::empty("ls-colours");
    std::fs::create_dir(site.tree().join("d")).unwrap();
    std::fs::write(site.tree().join("f"), "").unwrap();
    site.index();
    assert_eq!(site.run("ls").text(), "d\nf\n");
    let on = |terminal: &str| {
        let mut command = site.command();
        command.env("TERM", terminal).args(["ls", "--color=always"]);
        trawl_testkit::oracle::run(&mut command).text()
    };
    assert_eq!(on("xterm"), "\u{1b}[0m\u{1b}[01;34md\u{1b}[0m\nf\n");
    assert_eq!(on("dumb"), "d\nf\n");
    assert_eq!(site.run("--color=always ls --color=never").text(), "d\nf\n");
    let mut command = site.command();
    command
        .args(["ls", "--color=always"])
        .env("NO_COLOR", "1")
        .env("LS_COLORS", "di=35");
    let ran = trawl_testkit::oracle::run(&mut command).expect_code(0);
    assert_eq!(
        ran.text(),
        "\u{1b}[0m\u{1b}[35md\u{1b}[0m\nf\n",
        "an option outweighs the variable"
    );
}

/// Checks the output on a terminal, through script(1).
#[test]
fn a_terminal_gets_columns_quotes_and_no_control_characters() {
    if let Some(skip) = trawl_testkit::skip::without_program("terminal", "script") {
        return skip.say();
    }
    let site = Site::empty("ls-terminal");
    for name in ["two words", "plain", "\u{1b}[31mred"] {
        std::fs::write(site.tree().join(name), "").unwrap();
    }
    site.index();
    let on_terminal = |line: &str, no_color: bool| {
        let program = env!("CARGO_BIN_EXE_trawl");
        let mut command = trawl_testkit::oracle::command("script");
        command.args(["-qec", &line.replace("trawl", program), "/dev/null"]);
        command
            .env("TRAWL_INDEX", site.index_dir())
            .env("COLUMNS", "80")
            .current_dir(site.tree());
        if no_color {
            command.env("NO_COLOR", "1");
        }
        trawl_testkit::oracle::run(&mut command)
            .expect_code(0)
            .text()
    };
    let ours = on_terminal("trawl ls", true);
    assert_eq!(ours, on_terminal("ls", true));
    assert!(ours.contains("''$'\\033''[31mred'"), "{ours:?}");
    assert_eq!(on_terminal("trawl ls -l", true), on_terminal("ls -l", true));
    let found = on_terminal("trawl du -a", true);
    assert!(
        found.contains("?[31mred") && !found.contains('\u{1b}'),
        "{found:?}"
    );
}

/// Large listings are rendered in pieces: the widest line may be in any of them.
#[test]
fn a_large_directory_lines_up_as_a_whole() {
    let site = Site::empty("ls-large");
    for number in 0..9_000 {
        let bytes = if number == 5 { 12_345 } else { 1 };
        std::fs::write(site.tree().join(format!("{number:05}")), vec![b'x'; bytes]).unwrap();
    }
    site.index();
    same(&site, "-l");
    same(&site, "-lr");
}
