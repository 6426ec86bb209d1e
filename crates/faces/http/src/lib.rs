//! Trawl in a browser: an HTTP server with a page and an API, for one user on this machine or for many
//! users ([`gate`]).
//!
//! | module | contents |
//! |---|---|
//! | [`server`] | the program: listens, accepts connections, ends |
//! | [`service`] | the routes, and what every request must have |
//! | [`sessions`] | who may ask: one-time links, sessions, a token from a file |
//! | [`api`] | questions and their answers as JSON |
//! | [`tools`] | the same for assistants, by the Model Context Protocol |
//! | [`parameters`] | arguments from the query of a URL |
//! | [`download`] | whole answers as streams: JSON lines, CSV, Arrow, Parquet |
//! | [`problem`] | errors, as RFC 9457 describes them |
//! | [`openapi`] | the description of the API, made of the table of questions |
//! | [`metrics`] | counts and times, for Prometheus |
//! | [`page`] | the files of the page |
//! | [`gate`] | the service for many users |
//! | [`options`], [`limits`] | the words of the program, and limits |
//!
//! Invariants: the server of one user listens on addresses of this machine only, and answers only for names of
//! this machine; without a session nothing is answered but the files of the page; questions come
//! from the table of [`trawl_questions`], so nothing is changed; a question ends when its client
//! leaves.

#![forbid(unsafe_code)]

pub mod api;
pub mod download;
pub mod gate;
pub mod limits;
pub mod metrics;
pub mod openapi;
pub mod options;
pub mod page;
pub mod parameters;
pub mod problem;
pub mod server;
pub mod service;
pub mod sessions;
pub mod tools;
