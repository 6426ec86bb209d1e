//! Attempts to change the index: by rename, chmod, removal, or by planting files, directories and
//! symbolic links.

use std::path::Path;

use trawl_testkit::permissions::stage::{ALICE, BOB, MALLORY, Stage};

use crate::{cannot, program};

/// Tries every change that a user could make to everything that they can see; prints the changes
/// that succeeded.
const CHANGES: &str = r#"
find "$1" -depth 2>/dev/null | while read -r p; do
    chmod 777 "$p" && echo "chmod $p"
    setfacl -m u:$(id -u):rwx "$p" && echo "setfacl $p"
    chown $(id -u) "$p" && [ "$(id -u)" != 0 ] && echo "chown $p"
    setfattr -n user.planted -v x "$p" && echo "setfattr $p"
    touch -d 2001-01-01 "$p" && echo "touch $p"
    if [ -d "$p" ]; then
        echo x >"$p/planted" && echo "plant $p"
        mkdir "$p/planted-dir" && echo "mkdir $p"
        ln -s /etc "$p/planted-link" && echo "symlink $p"
    else
        echo x >>"$p" && echo "append $p"
        truncate -s 1 "$p" && echo "truncate $p"
    fi
    mv "$p" "$p.moved" && echo "rename $p"
    rm -rf "$p.moved" && [ ! -e "$p" ] && [ ! -e "$p.moved" ] && echo "remove $p"
done 2>/dev/null
mv "$1" "$1.moved" 2>/dev/null && echo "rename top"
true
"#;

/// Returns everything that root can see of the index, including content.
fn state(stage: &Stage, index: &Path) -> String {
    let script = r#"cd "$1"; find . -printf '%p %y %m %U %G %n %s %T@ %C@\n' | sort; getfacl -nR . ;
                    find . -type f -exec sha256sum {} + | sort"#;
    stage.shell_about(index, 0, script).expect_code(0).text()
}

/// Returns the lines that report a change. `rm -f` of a file that was not moved is not a removal.
fn changes(stage: &Stage, index: &Path, uid: u32) -> Vec<String> {
    let ran = stage.shell_about(index, uid, CHANGES);
    let lines = ran.text();
    let real = lines.lines().filter(|line| !line.starts_with("remove"));
    real.map(String::from).collect()
}

#[test]
fn rename_chmod_and_planting_fail_everywhere_in_the_index() {
    if cannot("changing the index") {
        return;
    }
    let stage = Stage::crowded(program());
    let index = stage.index_dir();
    let before = state(&stage, &index);
    for uid in [MALLORY, ALICE, BOB] {
        assert_eq!(changes(&stage, &index, uid), [""; 0], "user {uid}");
    }
    assert_eq!(state(&stage, &index), before);

    let lax = stage.lax();
    let done = changes(&stage, &lax, MALLORY);
    for word in ["plant", "symlink", "rename", "append"] {
        assert!(
            done.iter().any(|line| line.starts_with(word)),
            "{word}: {done:?}"
        );
    }
}

#[test]
fn nothing_in_the_index_belongs_to_a_user() {
    if cannot("who owns the index") {
        return;
    }
    let stage = Stage::crowded(program());
    let theirs = stage.shell(0, "find \"$1\" ! -uid 0 -printf '%p %U\\n'");
    assert_eq!(theirs.expect_code(0).text(), "", "owners may change modes");
}

#[test]
fn an_index_in_a_place_where_users_may_write_is_refused_or_not_followed() {
    if cannot("planted links where the index goes") {
        return;
    }
    let stage = Stage::unindexed(program());
    // Mallory plants the directories of an index that does not exist yet.
    let index = stage.own().join("index");
    let script = "mkdir -p $2/index $2/away; ln -s $2/away $2/index/sources; touch $2/index/FORMAT";
    stage.shell(MALLORY, script).expect_code(0);
    let top = stage.path("").display().to_string();
    let ran = stage.ask_of(&index, 0, &["index", "-q", &top]);
    assert_ne!(ran.code, Some(0), "{ran}");
    let written = stage.shell(0, "find $2/away -mindepth 1");
    assert_eq!(
        written.text(),
        "",
        "nothing was written where the link leads"
    );
}

#[test]
fn planted_names_beside_the_index_files_are_not_read() {
    if cannot("planted files") {
        return;
    }
    let stage = Stage::new(program());
    let before = stage.ask(0, &["find", "."]).expect_code(0).text();
    // Acts as if planting had succeeded: rows of an invented source, and names of others.
    let script = r#"cd "$1"; for d in $(find . -type d); do
                    ln -s /etc "$d/planted"; echo '{}' >"$d/planted.json";
                    mkfifo "$d/zz.manifest.tmp"; done; true"#;
    stage.shell(0, script).expect_code(0);
    let after = stage.ask(0, &["find", "."]).expect_code(0).text();
    assert_eq!(after, before);
    let verify = stage.ask(0, &["index", "--verify"]);
    assert!(
        verify.errors().contains("planted") || verify.text().contains("planted"),
        "{verify}"
    );
}

/// A user's symbolic link leads the superuser's `--index` to a directory that was never an index:
/// the directory stays unchanged, however the link is spelled.
#[test]
fn an_index_is_not_made_through_a_users_link() {
    use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
    if cannot("an index behind a link") {
        return;
    }
    let stage = Stage::unindexed(program());
    let (place, closed) = (stage.scratch.join("hers"), stage.scratch.join("closed"));
    for dir in [&place, &closed] {
        std::fs::create_dir(dir).expect("a directory");
    }
    chown(&place, Some(ALICE), Some(ALICE)).expect("hers");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&closed, mode).expect("closed");
    symlink(&closed, place.join("link")).expect("a link");
    lchown(place.join("link"), Some(ALICE), Some(ALICE)).expect("hers");
    for spelled in ["link", "link/", "link/."] {
        let mut index = trawl_testkit::oracle::command(program());
        index.arg("--index").arg(place.join(spelled)).arg("index");
        let ran = trawl_testkit::oracle::run(index.arg("-q").arg(stage.path("")));
        assert_eq!(ran.code, Some(2), "{spelled}: {ran}");
        assert!(ran.errors().contains("symbolic link"), "{ran}");
        let meta = closed.metadata().expect("it is there");
        assert_eq!(meta.mode() & 0o7777, 0o700, "{spelled}");
        assert_eq!(std::fs::read_dir(&closed).expect("it").count(), 0);
    }
    // Without a link, the directory may become an index, and stays closed.
    let mut index = trawl_testkit::oracle::command(program());
    index.arg("--index").arg(&closed).arg("index");
    let ran = trawl_testkit::oracle::run(index.arg(stage.path(""))).expect_code(0);
    assert!(ran.errors().contains("keeps its permissions"), "{ran}");
    let meta = closed.metadata().expect("it is there");
    assert_eq!(meta.mode() & 0o7777, 0o700);
}
