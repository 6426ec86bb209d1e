//! Latency profiles as pictures: SVG, PNG, gnuplot files and a self-contained HTML report.
//!
//! | module | purpose |
//! |---|---|
//! | [`complete`], [`operation`], [`timeline`], [`surface`], [`pair`], [`layers`], [`mix`] | draw one kind of [`Picture`] each |
//! | [`Picture::svg`], [`Picture::png`] | write a picture down |
//! | [`html`] | one page about a [`Story`], which works without a network and, but for what moves, without scripts |
//! | [`gnuplot`] | data and scripts of figures like the paper's |
//!
//! Invariants: pure: no I/O, nothing is printed. The same input gives the same bytes. Names of
//! operations, titles and findings are hostile: they stay text in every format. A page loads
//! nothing, and its content security policy allows nothing but its own script and style.
//!
//! Knows nothing of how profiles are recorded.

#![forbid(unsafe_code)]

mod draw;
mod error;
mod font;
pub mod gnuplot;
mod ink;
mod page;
mod picture;
mod png;
mod story;
mod svg;
mod words;

pub use draw::Measure;
pub use draw::complete::complete;
pub use draw::layers::layers;
pub use draw::mix::mix;
pub use draw::operation::operation;
pub use draw::pair::pair;
pub use draw::surface::surface;
pub use draw::timeline::timeline;
pub use error::Error;
pub use gnuplot::gnuplot;
pub use ink::{Ink, Theme};
pub use page::html;
pub use picture::Picture;
pub use png::PIXELS_MAX;
pub use story::{Second, Story};
