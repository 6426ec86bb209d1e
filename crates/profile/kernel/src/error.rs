//! Why a layer cannot be attached or read.

use std::io;
use std::path::PathBuf;

use aya::maps::MapError;
use aya::programs::ProgramError;
use aya::programs::links::LinkError;

/// Why a layer of the kernel cannot be profiled, or a reading is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The kernel lets this process load no BPF programs.
    #[error("cannot load BPF programs: this process lacks {missing}")]
    Privilege {
        /// The missing capabilities, by name.
        missing: &'static str,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The machine is locked down: BPF programs may not read kernel memory.
    #[error(
        "cannot load BPF programs: the kernel is locked down for confidentiality \
         (/sys/kernel/security/lockdown)"
    )]
    LockedDown(#[source] io::Error),
    /// The kernel was built without BPF.
    #[error("this kernel has no BPF (CONFIG_BPF_SYSCALL)")]
    NoBpf(#[source] io::Error),
    /// The kernel does not describe its types.
    #[error("this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF): {0}")]
    NoTypes(#[source] aya::BtfError),
    /// The programs cannot be prepared for this kernel.
    #[error("cannot prepare the BPF programs for this kernel: {0}")]
    Load(#[source] Box<aya::EbpfError>),
    /// The kernel refused a program, or has not what it is attached to.
    #[error("cannot attach BPF program {program} to {target}: {source}")]
    Program {
        /// Name of the program.
        program: &'static str,
        /// Tracepoint or iterator.
        target: &'static str,
        /// The cause.
        #[source]
        source: Box<ProgramError>,
    },
    /// The embedded object lacks a program or map: a defect of Trawl.
    #[error("the embedded BPF object has no {0}")]
    Object(&'static str),
    /// The kernel does not let programs trace its functions.
    #[error(
        "this kernel lets no BPF program trace its functions (fentry at {target}: {source}); \
         the layer `stackable` measures file systems without it"
    )]
    NoTracing {
        /// The function that was tried.
        target: &'static str,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// A type or member that the layer needs is not described.
    #[error("this kernel does not describe {0} (/sys/kernel/btf)")]
    Types(&'static str),
    /// The programs for functions cannot be prepared for this kernel.
    #[error("cannot prepare the BPF programs for this kernel: {cause}")]
    Template {
        /// The defect.
        cause: String,
    },
    /// The mounts cannot be listed.
    #[error("cannot read the table of mounts: {0}")]
    Mounts(#[source] io::Error),
    /// No operations were found.
    #[error("no mounted file system was found whose operations can be traced")]
    NoFileSystem,
    /// Counters cannot be read.
    #[error("cannot read the counters in BPF map {map}: {source}")]
    Map {
        /// Name of the map.
        map: &'static str,
        /// The cause.
        #[source]
        source: MapError,
    },
    /// The tasks cannot be walked.
    #[error("cannot walk the kernel's tasks: {0}")]
    Walk(#[source] io::Error),
    /// The walk of the kernel's tasks cannot begin.
    #[error("cannot begin to walk the kernel's tasks: {0}")]
    BeginWalk(#[source] LinkError),
    /// A filter that means nothing at this layer.
    #[error("system calls cannot be filtered by {filter}: {cause}")]
    Filter {
        /// The property that the filter selects by.
        filter: &'static str,
        /// Why that cannot be done.
        cause: &'static str,
    },
    /// A filter that means nothing for block requests.
    #[error("block requests cannot be filtered by {filter}: {cause}")]
    RequestFilter {
        /// The property that the filter selects by.
        filter: &'static str,
        /// Why that cannot be done.
        cause: String,
    },
    /// A filter that means nothing for calls to servers.
    #[error("calls to servers cannot be filtered by {filter}: {cause}")]
    RpcFilter {
        /// The property that the filter selects by.
        filter: &'static str,
        /// Why that cannot be done.
        cause: &'static str,
    },
    /// The kernel's client of SUNRPC is not there.
    #[error(
        "this kernel has no SUNRPC client now: the module sunrpc is not loaded, which the first NFS \
         mount does"
    )]
    NoRpc,
    /// The devices below a mount cannot be found.
    #[error("cannot find the block devices of the mount {}: {source}", path.display())]
    Mount {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The process of a filter does not exist.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// A control group cannot be examined.
    #[error("cannot examine control group {}: {source}", path.display())]
    Cgroup {
        /// Its directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A reading contradicts itself.
    #[error(
        "the counts of {operation} contradict themselves: {entered} calls entered, but {recorded} \
         are in buckets, {in_flight} in flight and {dropped} dropped"
    )]
    Unbalanced {
        /// Name of the system call.
        operation: String,
        /// Calls that entered.
        entered: u64,
        /// Calls in buckets.
        recorded: u64,
        /// Calls found in flight.
        in_flight: u64,
        /// Calls that left without a latency.
        dropped: u64,
    },
    /// There is no system call of this name.
    #[error("there is no system call {0}")]
    NoCall(String),
    /// Too many values are to be recorded.
    #[error("at most {limit} values can be recorded at one time")]
    Values {
        /// The greatest number.
        limit: usize,
    },
    /// A reading makes no profile.
    #[error("cannot make a profile of the counters: {0}")]
    Profile(#[from] trawl_histogram::Error),
}
