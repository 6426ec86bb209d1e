//! Checks which crate of the workspace may depend on which, and which may contain unsafe code.
//!
//! The allow-list is the table below; Cargo's metadata gives the facts. Data flows one way: scan →
//! index → query → output. A dependency that is not in the table needs a discussion, not a line
//! added in passing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The dependencies that a crate may have on the others.
struct Rule {
    name: &'static str,
    /// Normal and build dependencies.
    may_use: &'static [&'static str],
    /// Dependencies that its tests may have besides those and the test kit.
    may_use_in_tests: &'static [&'static str],
}

const TEST_KIT: &str = "trawl-testkit";

#[rustfmt::skip]
const RULES: &[Rule] = &[
    Rule { name: "trawl-model", may_use: &[], may_use_in_tests: &[] },
    Rule { name: "trawl-sys", may_use: &["trawl-model"], may_use_in_tests: &[] },
    Rule { name: "trawl-attributes", may_use: &["trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-text", may_use: &["trawl-model", "trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-thrift", may_use: &[], may_use_in_tests: &[] },
    Rule { name: "trawl-names", may_use: &[], may_use_in_tests: &[] },
    Rule { name: "trawl-grams", may_use: &["trawl-names"], may_use_in_tests: &[] },
    Rule { name: "trawl-indices", may_use: &["trawl-model", "trawl-names"], may_use_in_tests: &[] },
    Rule { name: "trawl-keywords", may_use: &["trawl-model", "trawl-attributes", "trawl-format", "trawl-grams"], may_use_in_tests: &[] },
    Rule { name: "trawl-scan", may_use: &["trawl-model", "trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-changes", may_use: &["trawl-model", "trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-format", may_use: &["trawl-model", "trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-barrier", may_use: &["trawl-model", "trawl-sys", "trawl-changes", "trawl-format"], may_use_in_tests: &["trawl-writer"] },
    Rule { name: "trawl-query", may_use: &["trawl-model", "trawl-format", "trawl-names", "trawl-indices", "trawl-thrift"], may_use_in_tests: &["trawl-scan", "trawl-writer"] },
    Rule { name: "trawl-writer", may_use: &["trawl-model", "trawl-sys", "trawl-names", "trawl-format", "trawl-query"], may_use_in_tests: &["trawl-scan"] },
    Rule { name: "trawl-delta", may_use: &["trawl-model", "trawl-sys", "trawl-scan", "trawl-format", "trawl-query", "trawl-writer", "trawl-changes"], may_use_in_tests: &[] },
    Rule { name: "trawl-diff", may_use: &["trawl-model", "trawl-query"], may_use_in_tests: &["trawl-scan", "trawl-format", "trawl-writer"] },
    Rule { name: "trawl-find", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-report", "trawl-walk", "trawl-names", "trawl-query", "trawl-grams", "trawl-keywords"], may_use_in_tests: &["trawl-scan", "trawl-writer"] },
    Rule { name: "trawl-call", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-walk", "trawl-query"], may_use_in_tests: &["trawl-scan", "trawl-writer"] },
    Rule { name: "trawl-open", may_use: &["trawl-model", "trawl-sys", "trawl-format", "trawl-query", "trawl-barrier", "trawl-call"], may_use_in_tests: &[] },
    Rule { name: "trawl-sets", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-call"], may_use_in_tests: &[] },
    Rule { name: "trawl-engines", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-format", "trawl-query", "trawl-find", "trawl-call", "trawl-session", "trawl-answers", "trawl-sets"], may_use_in_tests: &[] },
    Rule { name: "trawl-web", may_use: &["trawl-sys", "trawl-text", "trawl-call", "trawl-sets"], may_use_in_tests: &[] },
    Rule { name: "trawl-apply", may_use: &["trawl-model", "trawl-sys", "trawl-call", "trawl-sets"], may_use_in_tests: &[] },
    Rule { name: "trawl-grep", may_use: &["trawl-model", "trawl-format", "trawl-grams", "trawl-call", "trawl-sets", "trawl-walk"], may_use_in_tests: &[] },
    Rule { name: "trawl-capi", may_use: &["trawl-model", "trawl-attributes", "trawl-fetch", "trawl-sets", "trawl-sys", "trawl-call", "trawl-open", "trawl-remote"], may_use_in_tests: &["trawl-model", "trawl-scan", "trawl-writer"] },
    Rule { name: "trawl-python", may_use: &["trawl-sys", "trawl-attributes", "trawl-call", "trawl-open", "trawl-sets", "trawl-remote", "trawl-fetch", "trawl-web"], may_use_in_tests: &[] },
    Rule { name: "trawl-table", may_use: &[], may_use_in_tests: &[] },
    Rule { name: "trawl-table-service", may_use: &["trawl-model", "trawl-sys", "trawl-table"], may_use_in_tests: &[] },
    Rule { name: "trawl-table-index", may_use: &["trawl-model", "trawl-query", "trawl-call", "trawl-open", "trawl-table-service"], may_use_in_tests: &[] },
    Rule { name: "trawl-table-client", may_use: &["trawl-table"], may_use_in_tests: &["trawl-table-service"] },
    Rule { name: "trawl-preload", may_use: &["trawl-table", "trawl-table-client"], may_use_in_tests: &["trawl-table-service"] },
    Rule { name: "trawl-audit", may_use: &["trawl-table", "trawl-table-client"], may_use_in_tests: &["trawl-table-service", "trawl-preload"] },
    Rule { name: "trawl-remote", may_use: &["trawl-model", "trawl-sys", "trawl-call"], may_use_in_tests: &[] },
    Rule { name: "trawl-identity", may_use: &["trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-fetch", may_use: &["trawl-model", "trawl-sys", "trawl-call", "trawl-open", "trawl-sets", "trawl-remote"], may_use_in_tests: &[] },
    Rule { name: "trawl-mount", may_use: &["trawl-model", "trawl-sys", "trawl-call", "trawl-remote", "trawl-table-service"], may_use_in_tests: &[] },
    Rule { name: "trawl-sandbox", may_use: &["trawl-model", "trawl-sys", "trawl-call", "trawl-mount"], may_use_in_tests: &["trawl-remote"] },
    Rule { name: "trawl-run", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-call", "trawl-open", "trawl-sets", "trawl-apply", "trawl-table-service", "trawl-table-index", "trawl-remote", "trawl-mount", "trawl-sandbox"], may_use_in_tests: &[] },
    Rule { name: "trawl-analysis", may_use: &["trawl-histogram"], may_use_in_tests: &[] },
    Rule { name: "trawl-pictures", may_use: &["trawl-text", "trawl-histogram", "trawl-analysis"], may_use_in_tests: &[] },
    Rule { name: "trawl-histogram", may_use: &[], may_use_in_tests: &[] },
    Rule { name: "trawl-kernel-profile", may_use: &["trawl-sys", "trawl-histogram"], may_use_in_tests: &["trawl-stackable"] },
    Rule { name: "trawl-profile", may_use: &["trawl-model", "trawl-sys", "trawl-histogram", "trawl-analysis", "trawl-kernel-profile", "trawl-user-profile", "trawl-stackable"], may_use_in_tests: &[] },
    Rule { name: "trawl-stackable", may_use: &["trawl-sys", "trawl-histogram"], may_use_in_tests: &[] },
    Rule { name: "trawl-profile-mapping", may_use: &[], may_use_in_tests: &[] },
    Rule { name: "trawl-profile-preload", may_use: &["trawl-profile-mapping", "trawl-histogram"], may_use_in_tests: &[] },
    Rule { name: "trawl-user-profile", may_use: &["trawl-sys", "trawl-profile-mapping", "trawl-histogram"], may_use_in_tests: &["trawl-profile-preload"] },
    Rule { name: "trawl-views", may_use: &["trawl-sys", "trawl-text", "trawl-format", "trawl-query", "trawl-find", "trawl-session", "trawl-answers"], may_use_in_tests: &[] },
    Rule { name: "trawl-groups", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-names", "trawl-query", "trawl-session"], may_use_in_tests: &[] },
    Rule { name: "trawl-report", may_use: &["trawl-model", "trawl-text"], may_use_in_tests: &[] },
    Rule { name: "trawl-arrow", may_use: &["trawl-model", "trawl-report"], may_use_in_tests: &[] },
    Rule { name: "trawl-walk", may_use: &["trawl-model", "trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-session", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-scan", "trawl-format", "trawl-writer", "trawl-barrier", "trawl-query", "trawl-find", "trawl-call", "trawl-open"], may_use_in_tests: &[] },
    Rule { name: "trawl-answers", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-report", "trawl-query", "trawl-keywords", "trawl-indices", "trawl-diff", "trawl-find", "trawl-session", "trawl-sets"], may_use_in_tests: &["trawl-scan", "trawl-writer", "trawl-format"] },
    Rule { name: "trawl-indexer", may_use: &["trawl-model", "trawl-grams", "trawl-keywords", "trawl-indices", "trawl-sys", "trawl-text", "trawl-scan", "trawl-format", "trawl-writer", "trawl-query", "trawl-barrier"], may_use_in_tests: &[] },
    Rule { name: "trawl-daemon", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-scan", "trawl-format", "trawl-writer", "trawl-changes", "trawl-delta", "trawl-barrier", "trawl-query", "trawl-indexer"], may_use_in_tests: &[] },
    Rule { name: "trawl-hooks", may_use: &["trawl-sys", "trawl-text"], may_use_in_tests: &[] },
    Rule { name: "trawl-direct", may_use: &["trawl-model", "trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-modules", may_use: &["trawl-sys"], may_use_in_tests: &[] },
    Rule { name: "trawl-parsers", may_use: &["trawl-sys", "trawl-hooks"], may_use_in_tests: &[] },
    Rule { name: "trawl-relations", may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-hooks"], may_use_in_tests: &[] },
    Rule { name: "trawl-overview", may_use: &["trawl-model", "trawl-text", "trawl-format", "trawl-query", "trawl-diff", "trawl-report", "trawl-session", "trawl-answers"], may_use_in_tests: &[] },
    Rule {
        name: "trawl-cli",
        may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-names", "trawl-scan", "trawl-format", "trawl-writer", "trawl-barrier", "trawl-query", "trawl-diff", "trawl-find", "trawl-call", "trawl-open", "trawl-remote", "trawl-arrow", "trawl-report", "trawl-session", "trawl-answers", "trawl-indexer", "trawl-daemon", "trawl-run", "trawl-sets", "trawl-apply", "trawl-grep", "trawl-engines", "trawl-fetch", "trawl-web", "trawl-histogram", "trawl-analysis", "trawl-pictures", "trawl-profile", "trawl-hooks", "trawl-parsers", "trawl-modules", "trawl-views", "trawl-relations", "trawl-keywords", "trawl-indices", "trawl-attributes", "trawl-groups", "trawl-identity", "trawl-overview"],
        may_use_in_tests: &["trawl-grams"],
    },
    Rule {
        name: "trawl-sql",
        may_use: &["trawl-model", "trawl-sys", "trawl-text", "trawl-format", "trawl-query", "trawl-report", "trawl-session", "trawl-find", "trawl-grams", "trawl-keywords", "trawl-groups", "trawl-relations", "trawl-cli"],
        may_use_in_tests: &["trawl-remote"],
    },
    Rule { name: "trawl-questions", may_use: &["trawl-model", "trawl-sys", "trawl-text"], may_use_in_tests: &[] },
    Rule { name: "trawl-mcp", may_use: &["trawl-questions"], may_use_in_tests: &[] },
    Rule { name: "trawl-http", may_use: &["trawl-model", "trawl-sys", "trawl-thrift", "trawl-remote", "trawl-identity", "trawl-web", "trawl-questions", "trawl-mcp"], may_use_in_tests: &[] },
    Rule { name: "trawl-bench", may_use: &[], may_use_in_tests: &[] },
    Rule { name: TEST_KIT, may_use: &["trawl-sys"], may_use_in_tests: &[] },
];

/// The SQL engine: it takes longer to compile and to start than everything else together.
const SQL_ENGINE: &str = "datafusion";

/// The only crate that may use it.
const SQL_CRATE: &str = "trawl-sql";

/// The loader of BPF programs: it acts with root's rights.
const BPF_LOADER: &str = "aya";

/// The only crate that may use it.
const BPF_CRATE: &str = "trawl-kernel-profile";

/// The crates that only read an index, alone or as part of a library that programs load.
const READERS: &[&str] = &[
    "trawl-format",
    "trawl-query",
    "trawl-diff",
    "trawl-find",
    "trawl-call",
    "trawl-open",
    "trawl-sets",
    "trawl-fetch",
    "trawl-capi",
    "trawl-python",
    "trawl-table-index",
    "trawl-preload",
    "trawl-audit",
    // The program `trawl-shell`.
    "trawl-remote",
];

/// What none of them may contain, however indirectly: everything that writes an index.
const WRITERS: &[&str] = &["trawl-writer", "parquet", "arrow-schema"];

/// What runs as root for other users: daemons, and servers before they become the asking user.
const SERVERS: &[&str] = &[
    "trawl-daemon",
    "trawl-indexer",
    "trawl-barrier",
    "trawl-remote",
];

/// What none of them may contain, however indirectly: a set is opened by the process of its user.
const SETS: &[&str] = &[
    "trawl-sets",
    "trawl-engines",
    "trawl-grep",
    "trawl-apply",
    "trawl-fetch",
];

/// Parsers of hostile files and compilers of modules, which only workers without rights may contain.
const PARSERS: &[&str] = &["trawl-modules", "trawl-parsers"];

/// The chores may use everything, and nothing uses them.
const FREE: &str = "xtask";

/// Only these crates may contain unsafe code: system calls, the C and Python interfaces, and the
/// libraries loaded into C programs. In trawl-python only PyO3's macros generate it: the crate
/// denies its own.
const MAY_BE_UNSAFE: &[&str] = &[
    "trawl-sys",
    "trawl-capi",
    "trawl-table-client",
    "trawl-preload",
    "trawl-audit",
    "trawl-profile-preload",
    "trawl-python",
];

/// Pure data and functions: no dependency of any kind.
const WITHOUT_DEPENDENCIES: &[&str] = &["trawl-model", "trawl-table", "trawl-profile-mapping"];

fn workspace_packages() -> Vec<Value> {
    match metadata(&["--no-deps"])["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("cargo metadata has no packages: {other}"),
    }
}

/// Returns what `cargo metadata` prints with these further options.
fn metadata(options: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(options)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let packages = workspace_packages();
    let members: BTreeSet<&str> = packages
        .iter()
        .map(|package| text(package, "name"))
        .collect();
    let rules: BTreeMap<&str, &Rule> = RULES.iter().map(|rule| (rule.name, rule)).collect();
    let mut broken = Vec::new();
    for package in &packages {
        let name = text(package, "name");
        if name == FREE {
            continue;
        }
        let Some(rule) = rules.get(name) else {
            broken.push(format!(
                "{name} has no row in the table: add one, with what it may use"
            ));
            continue;
        };
        for dependency in list(package, "dependencies") {
            let used = text(dependency, "name");
            let for_tests = text(dependency, "kind") == "dev";
            if !for_tests && WITHOUT_DEPENDENCIES.contains(&name) {
                broken.push(format!(
                    "{name} must not depend on anything, but uses {used}"
                ));
            }
            let allowed = rule.may_use.contains(&used)
                || (for_tests && (used == TEST_KIT || rule.may_use_in_tests.contains(&used)));
            if members.contains(used) && !allowed {
                broken.push(format!(
                    "{name} must not depend on {used}{}",
                    if for_tests { " in its tests" } else { "" }
                ));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn crates_that_only_read_link_no_writer() {
    link_nothing_of(READERS, WRITERS);
}

#[test]
fn nothing_that_serves_several_users_opens_sets() {
    link_nothing_of(SERVERS, SETS);
}

#[test]
fn nothing_that_serves_several_users_parses_files() {
    link_nothing_of(SERVERS, PARSERS);
    link_nothing_of(&["trawl-hooks"], PARSERS);
}

/// Checks that none of these crates contains any of those, however indirectly.
#[track_caller]
fn link_nothing_of(crates: &[&str], refused: &[&str]) {
    let metadata = metadata(&["--offline"]);
    let names: BTreeMap<&str, &str> = list(&metadata, "packages")
        .iter()
        .map(|package| (text(package, "id"), text(package, "name")))
        .collect();
    let uses: BTreeMap<&str, Vec<&str>> = list(&metadata["resolve"], "nodes")
        .iter()
        .map(|node| (text(node, "id"), linked_by(node)))
        .collect();
    let mut broken = Vec::new();
    for one in crates {
        let id = names.iter().find(|(_, name)| *name == one);
        let (id, _) = id.unwrap_or_else(|| panic!("{one} is no crate of the workspace"));
        let mut way_to: BTreeMap<&str, String> = BTreeMap::from([(*id, (*one).to_owned())]);
        let mut left = vec![*id];
        while let Some(id) = left.pop() {
            for used in uses.get(id).into_iter().flatten() {
                if !way_to.contains_key(used) {
                    way_to.insert(used, format!("{} → {}", way_to[id], names[used]));
                    left.push(used);
                }
            }
        }
        let is_refused = |(id, _): &(&&str, &String)| refused.contains(&names[**id]);
        broken.extend(way_to.iter().filter(is_refused).map(|(_, way)| way.clone()));
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// Returns the ids of the packages that become part of a package: not those for its tests.
fn linked_by(node: &Value) -> Vec<&str> {
    let is_linked = |used: &&Value| {
        let kinds = list(used, "dep_kinds");
        kinds.iter().any(|kind| text(kind, "kind") != "dev")
    };
    let linked = list(node, "deps").iter().filter(is_linked);
    linked.map(|used| text(used, "pkg")).collect()
}

#[test]
fn only_one_crate_uses_the_sql_engine_and_one_the_bpf_loader() {
    for (dependency, user) in [(SQL_ENGINE, SQL_CRATE), (BPF_LOADER, BPF_CRATE)] {
        for package in workspace_packages() {
            let uses = list(&package, "dependencies").iter();
            let uses = uses.filter(|used| text(used, "name").starts_with(dependency));
            let name = text(&package, "name");
            assert!(
                uses.count() == 0 || name == user,
                "{name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn the_table_names_only_crates_that_exist() {
    let packages = workspace_packages();
    let members: BTreeSet<&str> = packages
        .iter()
        .map(|package| text(package, "name"))
        .collect();
    for rule in RULES {
        for name in [rule.name]
            .iter()
            .chain(rule.may_use)
            .chain(rule.may_use_in_tests)
        {
            assert!(
                members.contains(name),
                "the table names {name}, which is no crate of the workspace"
            );
        }
    }
}

#[test]
fn only_fenced_crates_may_be_unsafe() {
    let mut broken = Vec::new();
    for package in workspace_packages() {
        if MAY_BE_UNSAFE.contains(&text(&package, "name")) {
            continue;
        }
        for target in list(&package, "targets") {
            let kinds: Vec<&str> = list(target, "kind")
                .iter()
                .filter_map(Value::as_str)
                .collect();
            if !kinds
                .iter()
                .any(|kind| ["lib", "bin", "proc-macro", "cdylib"].contains(kind))
            {
                continue;
            }
            let path = Path::new(text(target, "src_path"));
            let source = std::fs::read_to_string(path).expect("a target's source can be read");
            if !source
                .lines()
                .any(|line| line.trim_end() == "#![forbid(unsafe_code)]")
            {
                broken.push(path.display().to_string());
            }
        }
    }
    assert!(
        broken.is_empty(),
        "these crates do not forbid unsafe code:\n{}",
        broken.join("\n")
    );
}

/// The folders below `crates`, in the order in which data flows: a crate uses crates of its own
/// folder and of those before it.
const FOLDERS: &[&str] = &[
    "base", "store", "walk", "watch", "ask", "tables", "remote", "profile", "meaning", "faces",
];

/// Returns the position of a package's folder in [`FOLDERS`]; `None` for packages outside `crates`.
fn folder_of(package: &Value) -> Option<usize> {
    let manifest = Path::new(text(package, "manifest_path"));
    let folder = manifest.parent()?.parent()?;
    let name = folder.file_name()?.to_str()?;
    let is_ours = folder.parent()?.file_name()? == "crates";
    assert!(
        !is_ours || FOLDERS.contains(&name),
        "crates/{name} has no place in the order of folders"
    );
    FOLDERS.iter().position(|one| is_ours && *one == name)
}

#[test]
fn folders_use_only_folders_before_them() {
    let packages = workspace_packages();
    let folders: BTreeMap<&str, usize> = packages
        .iter()
        .filter_map(|package| Some((text(package, "name"), folder_of(package)?)))
        .collect();
    assert!(
        folders.len() > 20,
        "few crates lie in a folder: {folders:?}"
    );
    let mut broken = Vec::new();
    for package in &packages {
        let name = text(package, "name");
        let Some(own) = folders.get(name) else {
            continue;
        };
        let used = list(package, "dependencies").iter();
        for used in used.filter(|used| text(used, "kind") != "dev") {
            let used = text(used, "name");
            if let Some(other) = folders.get(used).filter(|other| *other > own) {
                let (own, other) = (FOLDERS[*own], FOLDERS[*other]);
                broken.push(format!("{name} ({own}) must not use {used} ({other})"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}
