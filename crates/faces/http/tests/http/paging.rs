//! Pages, and limits of time.

use serde_json::json;
use trawl_testkit::oracle::Identity;
use trawl_testkit::site::{Site, StandIn};

use crate::client::{SERVER, Server};

#[test]
fn pages_follow_each_other_without_a_gap() {
    let Some(site) = Site::wide("http-pages", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let (rows, last) = server.all("find", &json!({"paths": [site.text("")], "limit": 300}));
    assert_eq!(
        (rows.len(), &last["complete"]),
        (1001, &json!(true)),
        "{last}"
    );
    let whole = server
        .post("find", &json!({"paths": [site.text("")], "limit": 10_000}))
        .json();
    assert_eq!(
        (&whole["rows"], &whole["complete"]),
        (&json!(rows), &json!(true))
    );
    assert_eq!(whole["as_of"][0]["place"], site.text(""));
}

#[test]
fn the_time_limit_gives_what_there_is() {
    let stand_in = StandIn::new(
        "http-time",
        "echo '{\"n\":1}'; while ! [ -e gate ]; do sleep 0.01; done; echo '{\"n\":2}'",
    );
    let server = Server::with(&stand_in, &["--time-limit=500"]);
    let mut page = server.post("find", &json!({"paths": ["/"]})).json();
    let mut rows = page["rows"].as_array().expect("rows").clone();
    assert_eq!(page["complete"], false, "{page}");
    std::fs::write(stand_in.scratch.join("gate"), "").expect("our own");
    while let Some(cursor) = page["cursor"].as_str() {
        page = server.post("more", &json!({"cursor": cursor})).json();
        rows.extend(page["rows"].as_array().expect("rows").clone());
    }
    assert_eq!(
        (json!(rows), &page["complete"]),
        (json!([{"n": 1}, {"n": 2}]), &json!(true))
    );
}
