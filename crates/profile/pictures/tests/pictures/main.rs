//! Tests of pictures from outside: what they say is read back by parsers, a browser and gnuplot that
//! know nothing of this crate.

mod browser;
mod drawings;
mod hostile;
mod markup;
mod plots;
mod story;
