//! HTML pages as queries: the set of the documents that a page links to.

mod engine;
mod html;

pub use engine::Pages;
pub use html::links;
