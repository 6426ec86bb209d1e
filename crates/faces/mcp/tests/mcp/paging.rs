//! Bounded answers: rows, bytes, time, cursors and how many are open.

use serde_json::json;
use trawl_testkit::site::{Site, StandIn};

use crate::client::{rows, wait_for_end};
use crate::site::{Ask, SERVER, stand_in_client};

#[test]
fn pages_join_to_the_answer_of_the_command_line() {
    let Some(site) = Site::wide("mcp-pages", SERVER) else {
        return;
    };
    let mut client = site.client();
    let tree = site.text("");
    let expected = site.rows(&["find", "--json", &tree]);
    let first = client.ask("search", json!({"paths": [tree]}));
    assert_eq!(rows(&first).len(), 100);
    assert!(
        first["reason"].as_str().expect("a text").contains("more"),
        "{first}"
    );
    // Later changes do not show: the command goes on where it was.
    std::fs::write(site.path("file-0500-new"), "").expect("our own");
    let mut page = first;
    let mut found = rows(&page);
    for limit in [1, 250, 1000, 1000, 1000, 1000, 1000] {
        let Some(cursor) = page.get("cursor").cloned() else {
            break;
        };
        let asked = page["asked_at"].clone();
        page = client.ask("more", json!({"cursor": cursor, "limit": limit}));
        assert_eq!(page["asked_at"], asked, "all pages are of one question");
        assert!(rows(&page).len() <= limit);
        assert!(json!(rows(&page)).to_string().len() <= (64 << 10) + 2000);
        found.extend(rows(&page));
        let again = client.refusal("more", json!({"cursor": cursor}));
        assert!(again.contains("used before"), "{again}");
    }
    assert_eq!(found, expected);
    assert_eq!(page["complete"], true, "{page}");
    assert!(client.commands().is_empty(), "nothing is left to run");
}

#[test]
fn more_rows_than_allowed_are_not_given() {
    let Some(site) = Site::wide("mcp-most", SERVER) else {
        return;
    };
    let mut client = site.client();
    let arguments =
        json!({"paths": [site.text("")], "names_only": true, "pattern": "^", "limit": 5000});
    let page = client.ask("content", arguments.clone());
    assert_eq!(rows(&page).len(), 0, "empty files have no line");
    for number in 0..1000 {
        site.write(format!("file-{number:04}"), "x\n");
    }
    std::fs::write(site.path("one-more"), "x\n").expect("our own");
    site.index();
    let (all, _) = client.all("content", arguments.clone());
    assert_eq!(all.len(), 1001);
    let page = client.ask("content", arguments);
    let bytes = json!(rows(&page)).to_string().len();
    assert!(
        rows(&page).len() <= 1000 && bytes <= (64 << 10) + 2000,
        "{bytes}"
    );
    assert!(page["cursor"].is_string());
}

#[test]
fn the_time_limit_gives_what_was_found_and_a_cursor() {
    let script = "echo '{\"n\":1}'; while ! [ -e gate ]; do sleep 0.01; done; echo '{\"n\":2}'";
    let stand_in = StandIn::new("mcp-time-limit", script);
    let mut client = stand_in_client(&stand_in, &["--time-limit=700"]);
    let mut page = client.ask("search", json!({"paths": ["/"]}));
    assert_eq!(page["complete"], false);
    assert!(
        page["reason"]
            .as_str()
            .expect("a text")
            .contains("0.7 s have passed"),
        "{page}"
    );
    std::fs::write(stand_in.scratch.join("gate"), "").expect("our own");
    let mut found = rows(&page);
    while let Some(cursor) = page.get("cursor").cloned() {
        page = client.ask("more", json!({"cursor": cursor}));
        found.extend(rows(&page));
    }
    assert_eq!(json!(found), json!([{"n": 1}, {"n": 2}]));
    assert_eq!(page["complete"], true, "{page}");
}

#[test]
fn at_most_sixteen_answers_are_open() {
    let Some(site) = Site::wide("mcp-open", SERVER) else {
        return;
    };
    let mut client = site.client();
    let question = json!({"paths": [site.text("")], "limit": 1});
    let cursors: Vec<_> = (0..17)
        .map(|_| client.ask("search", question.clone())["cursor"].clone())
        .collect();
    let closed = client.refusal("more", json!({"cursor": cursors[0]}));
    assert!(closed.contains("too many were open"), "{closed}");
    while client.commands().len() > 16 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(client.commands().len(), 16);
    let page = client.ask("more", json!({"cursor": cursors[16], "limit": 1}));
    assert_eq!(rows(&page).len(), 1);
}

#[test]
fn silent_answers_are_closed() {
    let Some(site) = Site::wide("mcp-silence", SERVER) else {
        return;
    };
    let mut command = site.command(&trawl_testkit::Identity::Ourselves);
    let mut client = crate::client::Client::start(command.args(["mcp", "--silence", "1s"]));
    let page = client.ask("search", json!({"paths": [site.text("")], "limit": 1}));
    wait_for_end(&client.commands());
    let closed = client.refusal("more", json!({"cursor": page["cursor"]}));
    assert!(closed.contains("ask the question again"), "{closed}");
}
