//! The layer of the kernel's calls to servers (SUNRPC), seen by BPF programs in the kernel.

use trawl_histogram::Resolution;
use trawl_kernel_profile::{Filter, KernelError, RpcCalls};

use crate::error::ProfileError;
use crate::layer::{Attached, Cost, Layer, Reading, losses};

/// Calls to servers of NFS.
#[derive(Debug)]
pub(crate) struct RpcLayer;

fn failed(source: KernelError) -> ProfileError {
    ProfileError::Layer {
        layer: RpcLayer.name(),
        source: Box::new(source),
    }
}

impl Layer for RpcLayer {
    fn name(&self) -> &'static str {
        "rpc"
    }

    fn about(&self) -> &'static str {
        "calls of the kernel to NFS servers: in the queue, at the server and as a whole, by procedure"
    }

    fn availability(&self) -> Result<Cost, ProfileError> {
        self.attach(&Filter::Everything, Resolution::ONE)?;
        Ok(Cost::default())
    }

    fn attach(
        &self,
        filter: &Filter,
        resolution: Resolution,
    ) -> Result<Box<dyn Attached>, ProfileError> {
        let attached = RpcCalls::attach(filter, resolution).map_err(failed)?;
        Ok(Box::new(attached))
    }
}

impl Attached for RpcCalls {
    fn read(&mut self) -> Result<Reading, ProfileError> {
        let reading = RpcCalls::read(self).map_err(failed)?;
        let losses = losses(&reading);
        Ok(Reading::new(reading.profile, losses))
    }
}
