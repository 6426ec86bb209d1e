//! Members at servers: what is fetched, and what happens when something breaks.

mod contents;
mod faults;
mod support;
mod whole;
mod wildcards;
