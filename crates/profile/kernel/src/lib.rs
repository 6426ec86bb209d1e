//! Latency profiles of what the kernel does for programs, measured by BPF programs in the kernel.
//!
//! Layers: [`SystemCalls`], [`FileSystems`], [`BlockRequests`] and [`RpcCalls`]. A layer is attached with a [`Filter`] and a resolution,
//! and read any number of times; it leaves the kernel when it is dropped. A layer that cannot work
//! here says why ([`KernelError`]): missing privilege, missing type information, a filter that means
//! nothing at this layer.
//!
//! Nothing is installed or compiled at run time: the programs are compiled when Trawl is developed
//! (`bpf/compile.sh`), committed as an object, and embedded. Their sources lie beside the
//! objects.
//!
//! Invariants: every reading satisfies `entered = Σ buckets + in flight + dropped`, with the calls in
//! flight found independently of the counters; a reading that does not is an error. Counters are
//! per CPU, and no event passes through a buffer, so none is lost under load.

#![forbid(unsafe_code)]

mod apart;
mod attach;
mod balance;
mod borders;
mod diagnosis;
mod error;
mod file_systems;
mod filter;
mod layout;
pub mod names;
mod read;
mod requests;
mod rpc;
mod system_calls;
mod values;

pub use apart::{Apart, PAIRS_MAX, Part};
pub use error::KernelError;
pub use file_systems::{Coverage, FileSystems};
pub use filter::Filter;
pub use read::Reading;
pub use requests::{BlockReading, BlockRequests};
pub use rpc::RpcCalls;
pub use system_calls::SystemCalls;
pub use values::{Quantity, VALUES_MAX, Wanted};
