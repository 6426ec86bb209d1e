//! Tests the user layer with programs: what is recorded is compared with what programs say of
//! themselves and with strace, and programs with the probe behave as those without it.

mod counts;
mod edges;
mod hostile;
mod latency;
mod site;
mod sites;
mod transparent;
