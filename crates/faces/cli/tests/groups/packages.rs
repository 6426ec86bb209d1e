//! Programs: "All related execution files, resource files, configuration files, log files" (the
//! paper's Table 4). The oracle is dpkg(1).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip::{Skip, is_root, without_program};

use crate::site::{Bytes, Site, bytes};

/// Returns true, and says why, if packages cannot be installed into a directory here.
fn cannot(what: &str) -> bool {
    let skip = match is_root() {
        false => Some(Skip::new(what, "dpkg installs as root only")),
        true => ["dpkg", "dpkg-deb", "dpkg-divert"]
            .iter()
            .find_map(|program| without_program(what, program)),
    };
    skip.inspect(Skip::say).is_some()
}

/// Installs a package with these files into the tree.
fn install(site: &Site, name: &str, files: &[&str]) {
    let folder = site.scratch.join(format!("{name}.d"));
    fs::create_dir_all(folder.join("DEBIAN")).unwrap();
    let control = format!(
        "Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: A <a@example.org>\n\
         Description: test\n"
    );
    fs::write(folder.join("DEBIAN/control"), control).unwrap();
    for file in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    let package = site.scratch.join(format!("{name}.deb"));
    let mut build = oracle::command("dpkg-deb");
    oracle::run(build.arg("--build").arg(&folder).arg(&package)).expect_code(0);
    let mut install = dpkg(site, "dpkg");
    oracle::run(install.arg("--install").arg(&package)).expect_code(0);
}

fn dpkg(site: &Site, program: &str) -> std::process::Command {
    let mut command = oracle::command(program);
    let mut root = std::ffi::OsString::from("--root=");
    root.push(site.tree());
    command.arg(root);
    command
}

/// Returns the package that dpkg finds for a path of the tree; none or several are `None`.
fn owner(site: &Site, path: &str) -> Option<String> {
    let mut search = dpkg(site, "dpkg");
    let ran = oracle::run(search.arg("--search").arg(format!("/{path}")));
    let text = ran.text();
    let mut lines = text.lines().filter(|line| !line.starts_with("diversion"));
    let (packages, _) = lines.next()?.split_once(": ")?;
    (!packages.contains(", ")).then(|| packages.to_owned())
}

fn site() -> Site {
    let site = Site::new("groups-packages");
    let admin = site.tree().join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(admin.join(folder)).unwrap();
    }
    for file in ["status", "available"] {
        fs::write(admin.join(file), "").unwrap();
    }
    // The tree is merged: what lists call /bin lies in /usr/bin.
    fs::create_dir_all(site.tree().join("usr/bin")).unwrap();
    symlink("usr/bin", site.tree().join("bin")).unwrap();
    install(
        &site,
        "alpha",
        &[
            "bin/alpha",
            "usr/share/alpha/data",
            "usr/share/common/a",
            "etc/alpha.conf",
        ],
    );
    install(
        &site,
        "beta",
        &[
            "usr/bin/beta",
            "usr/share/common/b",
            "usr/lib/beta/x",
            "usr/share/alphabet",
        ],
    );
    install(&site, "base-files", &["srv/keep/.skeleton", "etc/base"]);
    site
}

#[test]
fn packages_are_those_of_dpkg() {
    if cannot("packages of dpkg") {
        return;
    }
    let site = site();
    site.index();
    let groups = site.assignment(&Identity::Ourselves);
    assert_eq!(
        groups.keys().cloned().collect::<Vec<Bytes>>(),
        site.files(&Identity::Ourselves)
    );
    for package in ["alpha", "beta", "base-files"] {
        let listed = oracle::run(dpkg(&site, "dpkg").arg("--listfiles").arg(package));
        let listed = listed.text();
        let real = listed.lines().filter_map(|line| {
            let path = site.tree().join(line.trim_start_matches('/'));
            let path = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
            path.symlink_metadata().ok().filter(|meta| !meta.is_dir())?;
            Some(bytes(&path))
        });
        let expected: BTreeSet<Bytes> = real.collect();
        let members = groups
            .iter()
            .filter(|(_, group)| group.rule == "packages" && group.name == package);
        let members: BTreeSet<Bytes> = members.map(|(path, _)| path.clone()).collect();
        assert!(!expected.is_empty());
        assert_eq!(members, expected, "{package}");
    }
}

#[test]
fn what_lies_in_a_package_s_own_directory_is_the_package_s() {
    if cannot("directories of packages") {
        return;
    }
    let site = site();
    for (directory, file) in [
        ("usr/share/alpha", "usr/share/alpha/cache"),
        ("usr/share/alpha", "usr/share/alpha/deep/down/cache"),
        ("usr/lib/beta", "usr/lib/beta/log"),
        // Two packages list it.
        ("usr/share/common", "usr/share/common/loose"),
        // No package lists it.
        ("usr/share/gamma", "usr/share/gamma/loose"),
        ("home/me", "home/me/alpha.conf"),
    ] {
        site.write(file);
        site.index();
        let found = site.assignment(&Identity::Ourselves);
        let group = &found[&bytes(&site.tree().join(file))];
        let expected = owner(&site, directory);
        match expected {
            Some(package) => assert_eq!((&*group.rule, &group.name), ("packages", &package)),
            None => assert_eq!(group.rule, "directories", "{file}"),
        }
    }
    // The skeleton of the system makes nothing its own.
    let file = site.write("srv/keep/data");
    assert_eq!(owner(&site, "srv/keep").as_deref(), Some("base-files"));
    site.index();
    assert_eq!(
        site.assignment(&Identity::Ourselves)[&bytes(&file)].rule,
        "directories"
    );
    // A repository is a project, even in a directory of a package.
    let file = site.write("usr/lib/beta/work/src");
    fs::create_dir(site.tree().join("usr/lib/beta/work/.git")).unwrap();
    site.index();
    let found = site.assignment(&Identity::Ourselves);
    assert_eq!(found[&bytes(&file)].rule, "projects");
}

/// dpkg-divert(1) moves a package's file, and lets another package have its path.
#[test]
fn diverted_files_stay_their_package_s() {
    if cannot("diversions") {
        return;
    }
    let site = site();
    let mut divert = dpkg(&site, "dpkg-divert");
    divert.args([
        "--package",
        "delta",
        "--rename",
        "--divert",
        "/usr/bin/beta.real",
    ]);
    oracle::run(divert.args(["--add", "/usr/bin/beta"])).expect_code(0);
    install(&site, "delta", &["usr/bin/beta"]);
    site.index();
    let found = site.assignment(&Identity::Ourselves);
    let content = |name: &str| fs::read_to_string(site.tree().join(name)).unwrap();
    for name in ["usr/bin/beta", "usr/bin/beta.real"] {
        // The content is the name of the package that the file came from.
        let group = &found[&bytes(&site.tree().join(name))];
        assert_eq!(group.name, content(name), "{name}");
    }
}

/// The programs of this machine, whose lists may name `/bin/ls` while the tree has `/usr/bin/ls`.
#[test]
fn programs_of_this_machine_belong_to_their_packages() {
    let what = "programs of this machine";
    if let Some(skip) = without_program(what, "dpkg") {
        return skip.say();
    }
    if !Path::new("/var/lib/dpkg/info").is_dir() {
        return Skip::new(what, "dpkg has no lists").say();
    }
    let site = Site::new("groups-machine");
    site.rules(Path::new("/var/lib/dpkg"), Path::new("/"));
    site.index_of(Path::new("/usr/bin"));
    let mut wrong = Vec::new();
    let mut owned = 0;
    let mut names: Vec<String> = fs::read_dir("/usr/bin")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names.truncate(300);
    let mut search = oracle::command("dpkg");
    search.arg("--search");
    for name in &names {
        search
            .arg(format!("/usr/bin/{name}"))
            .arg(format!("/bin/{name}"));
    }
    let said = oracle::run(&mut search).text();
    let owners: Vec<(&str, &str)> = said
        .lines()
        .filter(|line| !line.starts_with("diversion") && !line.starts_with("local diversion"))
        .filter_map(|line| line.split_once(": "))
        .collect();
    let explained = {
        let mut words = vec!["groups", "explain", "--json"];
        let paths: Vec<String> = names
            .iter()
            .map(|name| format!("/usr/bin/{name}"))
            .collect();
        words.extend(paths.iter().map(String::as_str));
        site.run(&words).text()
    };
    for line in explained.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = row["path"].as_str().unwrap();
        let short = path.strip_prefix("/usr").unwrap();
        let packages = owners.iter().filter(|(_, of)| *of == path || *of == short);
        let packages: Vec<&str> = packages.flat_map(|(all, _)| all.split(", ")).collect();
        let name = row["group_name"].as_str().unwrap();
        let is_right = match packages.is_empty() {
            true => row["why"] != "the package manager lists the file",
            false => packages.contains(&name),
        };
        owned += usize::from(!packages.is_empty());
        if !is_right {
            wrong.push(format!("{path}: {name}, not {packages:?}"));
        }
    }
    assert!(owned > 0, "dpkg knows no program");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
