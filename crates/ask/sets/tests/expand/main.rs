//! Expansion of set pathnames, compared with shells and with stated answers.

mod kinds;
mod shells;
mod support;
