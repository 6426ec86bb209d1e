//! Checks that one process at a time watches a source.

use trawl_format::{IndexDir, IndexError, Readers, Watching};
use trawl_model::Timestamp;
use trawl_writer::gc::remove_source;
use trawl_writer::{add_source, create_index};

#[test]
fn one_process_watches_a_source_and_leaves_its_state() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("index");
    let index = create_index(&path, Some(Readers::Owner)).unwrap();
    let source = add_source(&index, b"/s", &[], Timestamp::default()).unwrap();
    assert!(!IndexDir::is_watched(&path));
    let first = Watching::begin(&index, &source).unwrap();
    assert!(IndexDir::is_watched(&path));
    let second = Watching::begin(&index, &source);
    assert!(matches!(second, Err(IndexError::Watched { .. })));
    assert_eq!(first.state(), b"");
    first.set_state(b"longer");
    first.set_state(b"state");
    drop(first);
    assert!(!IndexDir::is_watched(&path));
    let again = Watching::begin(&index, &source).unwrap();
    assert_eq!(again.state(), b"state");
    drop(again);
    remove_source(&index, b"/s").unwrap();
    assert!(!source.path().exists());
}
