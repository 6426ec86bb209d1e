//! The layer of block requests, seen by BPF programs in the kernel.

use trawl_histogram::Resolution;
use trawl_kernel_profile::{BlockRequests, Filter, KernelError};

use crate::error::ProfileError;
use crate::layer::{Attached, Cost, Layer, Reading, in_words};

/// Requests to block devices.
#[derive(Debug)]
pub(crate) struct BlockLayer;

fn failed(source: KernelError) -> ProfileError {
    ProfileError::Layer {
        layer: BlockLayer.name(),
        source: Box::new(source),
    }
}

impl Layer for BlockLayer {
    fn name(&self) -> &'static str {
        "block"
    }

    fn about(&self) -> &'static str {
        "requests to block devices: in the queue, at the device and as a whole, by device and kind"
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
        let attached = BlockRequests::attach(filter, resolution).map_err(failed)?;
        Ok(Box::new(attached))
    }
}

impl Attached for BlockRequests {
    fn read(&mut self) -> Result<Reading, ProfileError> {
        let reading = BlockRequests::read(self).map_err(failed)?;
        let losses = in_words([
            (reading.missed, "events for which the kernel ran no program"),
            (
                reading.overflowed,
                "block requests beyond those that can be in flight at a time",
            ),
        ]);
        let mut read = Reading::new(reading.profile, losses);
        read.correlated.push(reading.sizes);
        Ok(read)
    }
}
