//! "The common files accessed by any two different executions only account for a very small fraction
//! of all accessed files" (Propeller, section 2.3, Table 3).

use std::collections::BTreeSet;
use std::fs;

use trawl_testkit::oracle::{command, run};
use trawl_testkit::skip::without_program;

use crate::site::Site;

/// The largest share in Table 3: 62 of the 279 files of Apt-get are files of OpenOffice, too.
const SHARE_MAX: f64 = 0.222;

/// What the upgraded packages have, each.
const FILES_OF_PACKAGE: usize = 150;

const HEADERS: [&str; 12] = [
    "stdio.h",
    "stdlib.h",
    "string.h",
    "math.h",
    "pthread.h",
    "sys/socket.h",
    "netinet/in.h",
    "signal.h",
    "sys/stat.h",
    "time.h",
    "unistd.h",
    "errno.h",
];

/// The paper's workload of Apt-get is "system upgrading": apt-get gets a system of its own, in which
/// two packages are installed, and newer versions of them.
fn system(site: &Site) {
    for directory in [
        "var/lib/dpkg/info",
        "var/lib/dpkg/updates",
        "var/lib/apt/lists/partial",
        "var/cache/apt/archives/partial",
        "var/log/apt",
        "etc/apt/apt.conf.d",
        "etc/apt/preferences.d",
        "etc/apt/sources.list.d",
        "etc/apt/trusted.gpg.d",
    ] {
        fs::create_dir_all(site.path("root").join(directory)).expect("room");
    }
    site.write("root/var/lib/dpkg/status", "");
    let root = site.path("root");
    let root = root.display();
    let settings = format!(
        "Dir \"{root}\";\nDir::State::status \"{root}/var/lib/dpkg/status\";\n\
        Dir::Bin::dpkg \"/usr/bin/dpkg\";\nDir::Etc::parts \"apt.conf.d\";\n\
        Dpkg::Options {{ \"--root={root}\"; \"--force-not-root\"; \"--force-script-chrootless\"; }};\n\
        APT::Sandbox::User \"\";\n"
    );
    site.write("settings", settings);
    for (name, version) in [("editor", 1), ("library", 1), ("editor", 2), ("library", 2)] {
        let package = format!("{name}-{version}");
        let control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: all\n\
            Maintainer: A <a@example.org>\nDescription: a package\n"
        );
        site.write(&format!("{package}/DEBIAN/control"), control);
        for at in 0..FILES_OF_PACKAGE {
            site.write(&format!("{package}/usr/share/{name}/{at}"), &package);
        }
        let mut build = command("dpkg-deb");
        build.args(["--root-owner-group", "-b", &package]);
        run(build.current_dir(site.tree())).expect_code(0);
    }
}

const UPGRADE: &str =
    "APT_CONFIG=$PWD/settings apt-get -y install ./editor-2.deb ./library-2.deb >/dev/null";

fn opened(label: &str, prepare: impl FnOnce(&Site), line: &str) -> BTreeSet<Vec<u8>> {
    let site = Site::new(label);
    prepare(&site);
    site.learn(line).expect_code(0);
    let graph = site.learnt();
    graph.files().iter().map(|file| file.path.clone()).collect()
}

/// Installs the packages that are upgraded; without recording.
fn installed(site: &Site) {
    system(site);
    let mut shell = command("sh");
    shell
        .args(["-ec", &UPGRADE.replace("-2.deb", "-1.deb")])
        .current_dir(site.tree());
    run(&mut shell).expect_code(0);
}

fn sources(site: &Site) {
    let includes = HEADERS.map(|header| format!("#include <{header}>\n"));
    let main = includes.concat() + "int main(void) { return 0; }\n";
    site.write("main.c", main);
    for at in 0..60 {
        site.write(&format!("source/{at}"), format!("{at}\n"));
    }
}

/// Makes the files that a workload uses.
type Prepare = fn(&Site);

#[test]
fn programs_open_files_of_their_own() {
    let git = "git init -q repository; cp -r source repository; cd repository; git add .; \
        git -c user.name=a -c user.email=a@b commit -qm x; git log --stat >/dev/null";
    let python = "python3 -c 'import asyncio, email.message, http.client, json, unittest'";
    let commands: [(&str, Prepare, &str); 4] = [
        ("apt-get", installed, UPGRADE),
        ("git", sources, git),
        ("gcc", sources, "gcc -O1 -o main main.c"),
        ("python3", sources, python),
    ];
    let mut sets = Vec::new();
    for (program, prepare, line) in commands {
        match without_program("files of four programs", program) {
            Some(skip) => skip.say(),
            None => {
                let label = format!("isolation-{program}");
                sets.push((program, opened(&label, prepare, line)));
            }
        }
    }
    for (one, own) in &sets {
        for (other, others) in sets.iter().filter(|(other, _)| other != one) {
            let common = own.intersection(others).count();
            let share = common as f64 / own.len() as f64;
            println!(
                "{one} ({}) and {other}: {common} ({:.1} %)",
                own.len(),
                share * 100.0
            );
            assert!(
                share <= SHARE_MAX,
                "{one} and {other}: {common} of {}",
                own.len()
            );
        }
    }
}
