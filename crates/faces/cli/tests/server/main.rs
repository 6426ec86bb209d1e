//! The server of the search call in operation: sockets, certificates, many clients, and failures
//! between two machines.

mod authority;
mod broken;
mod chirp;
mod command_lines;
mod crowd;
mod mapped;
mod merged;
mod metrics;
mod old;
mod site;
mod tls;
mod tls_members;
mod tls_run;
