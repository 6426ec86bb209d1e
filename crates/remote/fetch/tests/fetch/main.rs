//! Members at servers: what is fetched, and what happens when something breaks.

mod faults;
mod support;
mod whole;
