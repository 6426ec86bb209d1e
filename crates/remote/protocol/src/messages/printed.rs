//! `printed`: bytes that a command has printed.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// A standard stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// Bytes that a command has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The stream.
    pub stream: OutputStream,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Body for Printed {
    fn write(&self, out: &mut Fields) {
        let stream = match self.stream {
            OutputStream::Output => 1,
            OutputStream::Errors => 2,
        };
        out.put(&[stream, 0, 0, 0]).put(&self.bytes);
    }

    fn read(body: &mut Reader<'_>) -> Result<Printed, BadFrame> {
        let stream = match body.u8("stream")? {
            1 => OutputStream::Output,
            2 => OutputStream::Errors,
            _ => return Err(BadFrame::Field("stream")),
        };
        body.exactly(&[0; 3], "padding")?;
        let bytes = body.rest().to_vec();
        Ok(Printed { stream, bytes })
    }
}

#[cfg(test)]
impl super::Sample for Printed {
    fn example() -> Printed {
        Printed {
            stream: OutputStream::Errors,
            bytes: b"trawl: x\n".to_vec(),
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<Printed> {
        use proptest::prelude::*;
        let stream = prop_oneof![Just(OutputStream::Output), Just(OutputStream::Errors)];
        let printed = |(stream, bytes)| Printed { stream, bytes };
        (stream, super::tests::bytes()).prop_map(printed).boxed()
    }
}
