//! The server from the outside: asked with curl, which we did not write, with bytes that no client
//! sends, and with a browser.

#![forbid(unsafe_code)]

mod assistants;
#[path = "../../../cli/tests/server/authority.rs"]
#[allow(dead_code)]
mod authority;
mod browser;
mod client;
mod clients;
mod downloads;
mod duckdb;
mod equality;
mod gate;
mod guards;
mod leaving;
mod paging;
mod permissions;
mod users;
