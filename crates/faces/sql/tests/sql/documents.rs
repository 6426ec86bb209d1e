//! The documentation of tables and functions matches the code; `BLESS=1` rewrites it.

#[test]
fn the_reference_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/sql.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut fresh = text.clone();
    for (name, body) in [
        ("tables", trawl_sql::table_help()),
        ("functions", trawl_sql::function_help()),
    ] {
        let (begin, end) = (
            format!("<!-- begin {name} -->\n"),
            format!("<!-- end {name} -->"),
        );
        let from = fresh.find(&begin).expect("a mark") + begin.len();
        let to = fresh.find(&end).expect("a mark");
        fresh.replace_range(from..to, &format!("{}\n", body.trim_end()));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &fresh).unwrap();
    }
    assert!(
        fresh == text || std::env::var_os("BLESS").is_some(),
        "docs/sql.md is stale: run with BLESS=1"
    );
}
