//! Questions that other programs ask: typed arguments, which become command lines of `trawl`, and
//! their answers in pages. The faces for assistants and for HTTP are made of it.
//!
//! | module | contents |
//! |---|---|
//! | [`table`] | the questions: names, descriptions, arguments, and the words of `trawl` that they mean |
//! | [`words`], [`expression`] | command lines, and the words of find that may be in them |
//! | [`child`], [`records`] | a running command line, and what it has written |
//! | [`rows`] | rows of an answer, from lines of output |
//! | [`answer`], [`reply`] | an answer in pages of bounded size, and a page as JSON |
//! | [`open`] | answers that can be continued, by their cursors |
//! | [`range`] | a part of a file's content |
//! | [`desk`] | answers any question of the table |
//! | [`limits`] | limits |
//!
//! Invariants: every question is a command line of `trawl`, run by the same user without a shell;
//! its words come from an allow-list, so that no question writes, runs or deletes anything; an
//! answer from which something is missing says so.

#![forbid(unsafe_code)]

pub mod answer;
pub mod child;
pub mod desk;
pub mod expression;
pub mod limits;
pub mod open;
pub mod range;
pub mod records;
pub mod reply;
pub mod rows;
pub mod table;
pub mod words;
