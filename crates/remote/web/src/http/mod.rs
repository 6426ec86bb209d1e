//! Fetching over HTTP: checked addresses, the client, and the opener of members.

mod address;
mod client;
mod encryption;
mod hold;
mod opener;

pub use address::{Address, is_url};
pub use client::{Client, Limits};
pub use encryption::encryption;
pub use opener::Web;
