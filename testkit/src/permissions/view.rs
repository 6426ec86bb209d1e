//! Collects everything that a user can see of an index from outside, without our reader.

use std::path::Path;

use crate::oracle::{Identity, command, run};

/// A script that prints everything that a user can find out without knowing names: attributes of
/// reachable objects, and the content of readable files. Times of snapshots differ from build to
/// build and are masked, and with them the lengths of files whose content is compared. Padding of a
/// name barrier has random names.
const LOOK: &str = r#"
cd "$1" || exit
{ find . -type f -readable ! -name '*.parquet' -printf '%p %m %U %G %n\n' \
    -o -printf '%p %y %m %U %G %n %s\n'
find . -exec getfacl -nc {} +; } 2>/dev/null |
    sed -E 's:(/b[0-9a-f]{32})/[0-9a-f]{32}:\1/RANDOM:g'
find . -type f -name '*.parquet' -readable -exec sha256sum {} + 2>/dev/null
find . -type f ! -name '*.parquet' -readable -exec cat {} + 2>/dev/null |
    sed -E 's/"(s|ns)": ?-?[0-9]+/TIME/g; /^xxh3-128 /d'
true
"#;

/// Returns what a user sees of an index, sorted. Ids of snapshots, which are times, are replaced by
/// numbers in their order.
///
/// # Panics
/// If a tool cannot be started.
#[track_caller]
pub fn view_of(index: &Path, user: &Identity) -> String {
    let mut lists = command("find");
    lists
        .arg(index)
        .args(["-path", "*/snapshots/*.json", "-printf", "%f\n"]);
    let listed = run(&mut lists).expect_code(0).text();
    let mut ids: Vec<&str> = listed
        .lines()
        .filter_map(|name| name.strip_suffix(".json"))
        .collect();
    ids.sort_unstable();
    let mut looks = user.command("bash");
    looks.args(["-c", LOOK, "bash"]).arg(index).current_dir("/");
    let mut text = run(&mut looks).text();
    for (number, id) in ids.iter().enumerate() {
        text = text.replace(id, &format!("SNAPSHOT-{number}"));
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}
