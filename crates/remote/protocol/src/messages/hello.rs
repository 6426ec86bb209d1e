//! `hello`: the first message of each side.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

const MAGIC: &[u8; 8] = b"trawl\0rp";

/// The first message of each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Lowest supported version.
    pub lowest: u16,
    /// Highest supported version.
    pub highest: u16,
    /// Maximum number of concurrent requests of a client.
    pub requests: u32,
    /// Feature bits, see [`super::feature`].
    pub features: u64,
}

impl Body for Hello {
    fn write(&self, out: &mut Fields) {
        out.put(MAGIC).u16(self.lowest).u16(self.highest);
        out.u32(self.requests).u64(self.features);
    }

    fn read(body: &mut Reader<'_>) -> Result<Hello, BadFrame> {
        body.exactly(MAGIC, "greeting")?;
        Ok(Hello {
            lowest: body.u16("version")?,
            highest: body.u16("version")?,
            requests: body.u32("number of requests")?,
            features: body.u64("features")?,
        })
    }
}

#[cfg(test)]
impl super::Sample for Hello {
    fn example() -> Hello {
        Hello {
            lowest: 1,
            highest: 2,
            requests: 16,
            features: 0xff,
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<Hello> {
        use proptest::prelude::*;
        let fields = (any::<u16>(), any::<u16>(), any::<u32>(), any::<u64>());
        let hello = |(lowest, highest, requests, features)| Hello {
            lowest,
            highest,
            requests,
            features,
        };
        fields.prop_map(hello).boxed()
    }
}
