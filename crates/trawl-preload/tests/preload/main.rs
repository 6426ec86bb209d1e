//! The preload library as programs have it: what they print and do is compared with what they do
//! without it, and with what they have just changed.

mod counts;
mod exec;
mod own_writes;
mod sanitized;
mod site;
mod torture;
mod transparent;
