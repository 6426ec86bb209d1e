//! JSON: a capture with everything that it contains.
//!
//! ```json
//! {
//!   "version": 1,
//!   "title": "grep -r", "layer": "vfs",
//!   "unit": "cycles", "frequency_hz": 1700000000, "resolution": 1,
//!   "start_unix_ns": 1140000000000000000, "duration_ns": 5000000000,
//!   "operations": [
//!     { "operation": "read", "histogram": { "entered": 3, "left": 3, "dropped": 0,
//!       "total": 12, "min": 2, "max": 6, "buckets": [0, 1, 2] } }
//!   ],
//!   "interval_ns": 2500000000,
//!   "slices": [
//!     [ { "operation": "read", "buckets": [0, 1] } ],
//!     [ { "operation": "read", "buckets": [0, 0, 2] } ]
//!   ],
//!   "correlated": [
//!     { "value": "size_bytes", "resolution": 1, "operations": [
//!       { "operation": "read", "peaks": [
//!         { "first": 1, "last": 2, "values": { "entered": 3, "left": 3, "dropped": 0,
//!           "total": 12288, "min": 4096, "max": 4096,
//!           "buckets": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3] } }
//!       ] }
//!     ] }
//!   ]
//! }
//! ```
//!
//! - `unit` is `nanoseconds`, or `cycles` with `frequency_hz`.
//! - `buckets` begins with bucket 0 and ends with the last one that holds something.
//! - Unknown times, unknown least and greatest latencies, and a `carried` of 0 are left out; so are
//!   `slices` and `interval_ns` of a profile without a timeline, and an empty `correlated`.
//! - Numbers are integers of up to 64 bits, `total` of up to 128. Readers that keep numbers as
//!   floating point, such as JavaScript, round those above 2^53.
//!
//! A reader refuses other versions, unknown and repeated fields, more than
//! [`INPUT_BYTES_MAX`] bytes, and captures that fail
//! [`Capture::check`](crate::Capture::check).

mod wire;

use crate::{Capture, Error, INPUT_BYTES_MAX};

/// The version that is written and read.
pub const VERSION: u64 = 1;

/// Returns a capture as JSON, on one line.
pub fn write(capture: &Capture) -> Result<String, Error> {
    serde_json::to_string(&wire::Capture::of(capture)).map_err(Error::Json)
}

/// Reads a capture and checks it.
pub fn read(json: &[u8]) -> Result<Capture, Error> {
    if json.len() > INPUT_BYTES_MAX {
        return Err(Error::TooMany {
            what: "bytes",
            amount: json.len(),
            limit: INPUT_BYTES_MAX,
        });
    }
    let read = serde_json::from_slice::<wire::Capture>(json);
    let read = read.map_err(|error| other_version(json).unwrap_or(Error::Json(error)))?;
    if read.version != VERSION {
        return Err(version(read.version));
    }
    let capture = read.into_capture()?;
    capture.check()?;
    Ok(capture)
}

/// Returns the error for a file that is malformed because it has another version.
fn other_version(json: &[u8]) -> Option<Error> {
    let read = serde_json::from_slice::<wire::Version>(json).ok()?;
    (read.version != VERSION).then(|| version(read.version))
}

fn version(found: u64) -> Error {
    Error::Version {
        found,
        known: VERSION,
    }
}

#[cfg(test)]
mod tests;
