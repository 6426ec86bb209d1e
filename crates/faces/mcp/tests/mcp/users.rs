//! The server shows each user what the kernel shows them.

use serde_json::json;
use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::site::Site;
use trawl_testkit::skip;

use crate::client::Client;
use crate::site::SERVER;

#[test]
fn another_user_is_shown_what_find_shows_them() {
    if let Some(skip) = skip::without_root("the server as another user") {
        skip.say();
        return;
    }
    let Some(site) = Site::guarded("mcp-users", SERVER) else {
        return;
    };
    let stranger = Identity::user(54_321);
    let mut client = Client::start(site.command(&stranger).arg("mcp"));

    let tree = site.text("");
    let (rows, last) = client.all("search", json!({"paths": [tree]}));
    let mut found: Vec<&str> = rows.iter().filter_map(|row| row["path"].as_str()).collect();
    found.sort_unstable();
    let ran = gnu("find", [tree.as_str()], &site.tree(), &stranger);
    let text = ran.text();
    let mut expected: Vec<&str> = text.lines().collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(last["complete"], false, "a directory could not be listed");
    assert!(last["issues"].to_string().contains("closed"), "{last}");

    let (hits, last) = client.all("content", json!({"pattern": "needle", "paths": [tree]}));
    let hits: Vec<&str> = hits.iter().filter_map(|row| row["path"].as_str()).collect();
    assert_eq!(hits, [site.text("open/file")]);
    assert_eq!(last["complete"], false, "a file could not be read: {last}");

    for name in ["closed/secret", "open/closed"] {
        let why = client.refusal("read", json!({"path": site.text(name)}));
        assert!(why.to_lowercase().contains("permission denied"), "{why}");
    }
    let part = client.ask("read", json!({"path": site.text("open/file")}));
    assert_eq!(part["content"], "needle\n");
}
