//! The server shows its user what the kernel shows them.

use serde_json::json;
use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::site::Site;
use trawl_testkit::skip;

use crate::client::{SERVER, Server};

#[test]
fn another_user_is_shown_what_find_shows_them() {
    if let Some(skip) = skip::without_root("the server as another user") {
        skip.say();
        return;
    }
    let Some(site) = Site::guarded("http-users", SERVER) else {
        return;
    };
    for who in [Identity::Ourselves, Identity::user(54_321)] {
        let server = Server::of(&site, &who);
        let tree = site.text("");
        let (rows, last) = server.all("find", &json!({"paths": [tree]}));
        let mut found: Vec<&str> = rows.iter().filter_map(|row| row["path"].as_str()).collect();
        found.sort_unstable();
        let ran = gnu("find", [tree.as_str()], &site.tree(), &who);
        let text = ran.text();
        let mut expected: Vec<&str> = text.lines().collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{who:?}");
        let is_whole = ran.code == Some(0);
        assert_eq!(last["complete"], is_whole, "{who:?}: {last}");
        // Reading as this user is the oracle for contents.
        for name in ["open/file", "closed/secret", "open/closed"] {
            let ran = gnu("cat", [site.text(name).as_str()], &site.tree(), &who);
            let answer = server.post("read", &json!({"path": site.text(name)}));
            match ran.code {
                Some(0) => assert_eq!(answer.json()["content"], ran.text().as_ref(), "{name}"),
                _ => assert_eq!(answer.status, 422, "{who:?} {name}: {answer:?}"),
            }
        }
        let (hits, _) = server.all("grep", &json!({"pattern": "needle", "paths": [tree]}));
        let mut hits: Vec<&str> = hits.iter().filter_map(|row| row["path"].as_str()).collect();
        hits.sort_unstable();
        let ran = gnu("grep", ["-rl", "needle", tree.as_str()], &site.tree(), &who);
        let text = ran.text();
        let mut expected: Vec<&str> = text.lines().collect();
        expected.sort_unstable();
        assert_eq!(hits, expected, "{who:?}");
    }
}
