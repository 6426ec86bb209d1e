//! Threads, forks and signals at once.

use std::path::Path;

use trawl_table_service::Haste;
use trawl_testkit::Scratch;
use trawl_testkit::oracle;

use crate::site;

/// Makes the tree that the program expects.
pub(crate) fn tree(root: &Path) {
    for directory in 0..20 {
        let directory = root.join(format!("d{directory}"));
        std::fs::create_dir(&directory).unwrap();
        for file in 0..20 {
            std::fs::write(directory.join(format!("f{file}")), "x".repeat(file)).unwrap();
        }
    }
}

#[test]
fn threads_forks_and_signals() {
    let Some((_program_place, program)) = site::compiled("torture", "torture") else {
        return;
    };
    for haste in [Haste::Ready, Haste::Eager] {
        let scratch = Scratch::new("preload-torture");
        let root = scratch.path().canonicalize().unwrap();
        tree(&root);
        let service = site::service(&root, haste);
        let ran = oracle::run(site::with(&service, &program).current_dir(&root));
        assert_eq!(
            ran.code,
            Some(0),
            "{haste:?}: {}{}",
            ran.text(),
            ran.errors()
        );
        assert!(service.statistics().0 > 0);
    }
}
