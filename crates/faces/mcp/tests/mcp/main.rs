//! The server from the outside: JSON-RPC lines on its standard input and output, compared with the
//! command line of `trawl`; and a client that we did not write.

#![forbid(unsafe_code)]

mod client;
mod conversation;
mod equality;
mod hostile;
mod paging;
mod python;
mod site;
mod users;
