//! The only known deviation stays as documented: a directory that may be listed but not searched
//! shows nothing.

use std::os::unix::fs::PermissionsExt;

use trawl_testkit::oracle::{Identity, gnu, run};
use trawl_testkit::{Scratch, skip};

#[test]
fn of_a_directory_with_r_and_without_x_nothing_is_shown() {
    if let Some(skip) = skip::without_root("r without x") {
        return skip.say();
    }
    let scratch = Scratch::new("deviation");
    let trawl = scratch.install(std::path::Path::new(env!("CARGO_BIN_EXE_trawl")));
    let root = scratch.join("tree");
    std::fs::create_dir_all(root.join("listed")).expect("a directory");
    std::fs::write(root.join("listed/name"), "x").expect("a file");
    for (path, mode) in [(root.clone(), 0o755), (root.join("listed"), 0o744)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("our own");
    }
    let index = scratch.join("index");
    let mut line = Identity::Ourselves.command(&trawl);
    run(line.arg("-i").arg(&index).args(["index", "-q"]).arg(&root)).expect_code(0);

    let user = Identity::user(60_001);
    let find = gnu("find", ["."], &root, &user);
    assert!(
        find.text().contains("./listed/name"),
        "find tells the name: {find}"
    );
    let mut line = user.command(&trawl);
    let ours = run(line
        .arg("-i")
        .arg(&index)
        .args(["find", "."])
        .current_dir(&root));
    assert_eq!(ours.text(), ".\n./listed\n", "{ours}");
    assert!(
        ours.errors().contains("‘./listed’: Permission denied"),
        "{ours}"
    );
    assert_eq!(ours.code, Some(1), "{ours}");
}
