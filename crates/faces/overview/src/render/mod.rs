//! Writes overviews down.

mod curve;
pub(crate) mod html;
pub(crate) mod text;
mod tiles;
