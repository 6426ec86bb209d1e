//! Members of sets that are fetched over HTTP and HTTPS, and HTML pages as queries.
//!
//! - [`Web`]: the opener of URLs. A small object is a sealed file in memory; a larger one is a
//!   stream.
//! - [`Pages`]: the query engine of HTML pages, local or not: the set of the documents that a page
//!   links to (Steere and Satyanarayanan, *Using Dynamic Sets to Overcome High I/O Latencies During
//!   Search*, section 4.2).
//! - [`Client`]: what both use: one pool of connections, with its limits.
//! - [`encryption`]: how connections are encrypted, for other clients, too.
//!
//! Invariants: only `http:` and `https:` URLs are fetched, only with GET, and never with
//! credentials; certificates are verified; a redirect never leads from `https:` to `http:`; every
//! wait and every buffer is bounded; an object that breaks off is an error, never a short file.
//!
//! This crate knows nothing of indexes, Trawl servers or output.

#![forbid(unsafe_code)]

mod error;
mod http;
mod page;

pub use error::WebError;
pub use http::{Address, Client, Limits, Web, encryption, is_url};
pub use page::{Pages, links};
