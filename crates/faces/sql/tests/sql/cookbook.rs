//! The cookbook: every block runs, and some are compared with other tools.

use crate::site::{Site, sorted};

/// Returns headings with the SQL below them.
fn blocks() -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/sql-cookbook.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut blocks = Vec::new();
    for part in text.split("\n## ").skip(1) {
        let heading = part.lines().next().unwrap_or_default().to_owned();
        for block in part.split("```sql\n").skip(1) {
            let sql = block.split("```").next().unwrap_or_default();
            blocks.push((heading.clone(), sql.to_owned()));
        }
    }
    blocks
}

#[track_caller]
fn answer(site: &Site, heading: &str) -> Vec<String> {
    let all = blocks();
    let block = all.iter().find(|(known, _)| known == heading);
    let (_, sql) = block.unwrap_or_else(|| panic!("no block {heading}"));
    site.rows(sql)
}

/// Headings whose answers are empty on the test's tree.
const EMPTY: [&str; 4] = [
    "Who is let in by an ACL",
    "Attributes in use",
    "What could not be read",
    "Links into a tree that goes away",
];

#[test]
fn every_block_runs_and_answers() {
    let site = Site::server("sql-cookbook");
    std::fs::write(site.tree().join("scratch/second"), "new").unwrap();
    site.index_with(&["--keep", "5"]);
    let all = blocks();
    assert!(all.len() >= 25, "{}", all.len());
    for (heading, sql) in all {
        let rows = site.rows(&sql);
        let may_be_empty = EMPTY.contains(&&heading[..]) || heading == "Times that cannot be";
        assert!(!rows.is_empty() || may_be_empty, "{heading} has no answer");
    }
}

#[test]
fn answers_are_those_of_find() {
    let site = Site::server("sql-cookbook-find");
    let paths = |heading: &str| sorted(answer(&site, heading));
    assert_eq!(
        paths("Temporary files to give back"),
        site.find(&[
            "-path",
            "*/tree/scratch/*",
            "-type",
            "f",
            "(",
            "-name",
            "*.tmp",
            "-o",
            "-name",
            "core.[0-9]*",
            ")",
            "-mtime",
            "+29",
            "-printf",
            "%p\\n"
        ])
    );
    assert_eq!(
        paths("Set-uid and set-gid files"),
        site.find(&["-type", "f", "-perm", "/6000", "-printf", "%M,%U,%G,%p\\n"])
    );
    assert_eq!(
        paths("World-writable"),
        site.find(&[
            "-perm", "-o+w", "!", "-type", "l", "!", "(", "-type", "d", "-perm", "-1000", ")",
            "-printf", "%M,%p\\n"
        ])
    );
    let empty: Vec<String> = answer(&site, "Empty directories");
    let empty: Vec<String> = empty
        .iter()
        .map(|row| row.split(',').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        sorted(empty),
        site.find(&["-type", "d", "-empty", "-printf", "%p\\n"])
    );
    let largest = answer(&site, "Largest files");
    let by_size = site.find(&["-type", "f", "-printf", "%12s\\n"]);
    assert_eq!(largest.len(), 20);
    let sizes: u64 = by_size
        .iter()
        .rev()
        .take(1)
        .map(|s| s.trim().parse::<u64>().unwrap())
        .sum();
    assert_eq!(sizes, 5_000_000);
    assert!(largest[0].contains("sparse.img"), "{largest:?}");
}

#[test]
fn sums_are_those_of_find_and_awk() {
    let site = Site::server("sql-cookbook-sums");
    let group = |words: &[&str]| {
        let mut sums = std::collections::BTreeMap::<String, (u64, u64)>::new();
        for line in site.find(words) {
            // The first half of a name with a newline is not a record.
            let Some((key, size)) = line.rsplit_once(' ') else {
                continue;
            };
            let sum = sums.entry(key.to_owned()).or_default();
            sum.0 += 1;
            sum.1 += size.parse::<u64>().unwrap_or_default();
        }
        sums
    };
    let scratch = group(&[
        "-path",
        "*/tree/scratch/*",
        "-type",
        "f",
        "-mtime",
        "-7",
        "-printf",
        "%U %s\\n",
    ]);
    let ours = answer(&site, "Who filled scratch last week");
    assert_eq!(ours.len(), scratch.len(), "{ours:?} {scratch:?}");
    for row in &ours {
        let fields: Vec<&str> = row.split(',').collect();
        let known = scratch
            .iter()
            .any(|(_, (files, _))| files.to_string() == fields[1]);
        assert!(known, "{row} in {scratch:?}");
    }
    let cold = site.find(&[
        "-path",
        "*/tree/projects/*",
        "-type",
        "f",
        "-mtime",
        "+364",
        "-atime",
        "+364",
        "-printf",
        "%P\\n",
    ]);
    let cold_of = |project: &str| {
        cold.iter()
            .filter(|p| p.starts_with(&format!("projects/{project}/")))
            .count()
    };
    for row in answer(&site, "Cold data by project") {
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!(fields[1], cold_of(fields[0]).to_string(), "{row}");
    }
    let same = group(&[
        "-type",
        "f",
        "-links",
        "1",
        "-size",
        "+0",
        "-printf",
        "%f/%s %s\\n",
    ]);
    let doubled = same.values().filter(|(copies, _)| *copies > 1).count();
    assert_eq!(answer(&site, "Same name and size").len(), doubled.min(50));
    let extensions = answer(&site, "Extension mix");
    let c = site
        .find(&["-type", "f", "-name", "*.c", "-printf", "x\\n"])
        .len();
    assert!(
        extensions
            .iter()
            .any(|row| row.starts_with(&format!("c,{c},"))),
        "{extensions:?}"
    );
}
