//! The server of the search call as it is run: sockets, certificates, crowds, and what goes wrong
//! between two machines.

mod authority;
mod broken;
mod chirp;
mod crowd;
mod site;
mod tls;
mod tls_run;
