//! Trawl for assistants: a server of the Model Context Protocol, whose tools are questions to
//! `trawl`.
//!
//! | module | contents |
//! |---|---|
//! | [`server`], [`reply`] | the protocol |
//! | [`options`] | the words of the program |
//!
//! The tools are the questions of [`trawl_questions`], which says what they promise.

#![forbid(unsafe_code)]

pub mod options;
pub mod reply;
pub mod server;
