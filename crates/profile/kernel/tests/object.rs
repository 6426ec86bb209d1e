//! The committed objects are what their sources compile to.

use std::path::Path;

#[test]
fn the_objects_are_compiled_from_their_sources() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let needed = std::fs::read_to_string(source.join("compiler")).expect("the version is stated");
    let needed = needed.trim();
    let Ok(version) = trawl_testkit::oracle::command("clang")
        .arg("--version")
        .output()
    else {
        eprintln!("skipped, because clang is not installed ({needed} is needed)");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version
        .lines()
        .next()
        .is_some_and(|line| line.contains(needed))
    {
        eprintln!("skipped, because the object needs {needed}, and this is {version}");
        return;
    }
    if trawl_testkit::oracle::command("llvm-strip")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped, because llvm-strip is not installed");
        return;
    }
    for name in [
        "system_calls",
        "block_requests",
        "rpc_calls",
        "vectors",
        "file_systems",
        "floor",
    ] {
        compare(&source, name);
    }
}

fn compare(source: &Path, name: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let compiled = directory.path().join(name).with_extension("o");
    let status = trawl_testkit::oracle::command("sh")
        .arg(source.join("compile.sh"))
        .arg(name)
        .arg(&compiled)
        .status()
        .expect("sh runs");
    assert!(status.success());
    let is_same = std::fs::read(compiled).expect("it was compiled")
        == std::fs::read(source.join(name).with_extension("o")).expect("it is committed");
    assert!(
        is_same,
        "bpf/{name}.o is stale: compile it with bpf/compile.sh"
    );
}
