//! Serializes a timestamp as `{"s": seconds, "ns": nanoseconds}`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use trawl_model::Timestamp;

#[derive(Serialize, Deserialize)]
struct Wire {
    s: i64,
    ns: u32,
}

pub(crate) fn serialize<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    let wire = Wire {
        s: time.secs,
        ns: time.nanos,
    };
    wire.serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let wire = Wire::deserialize(from)?;
    Ok(Timestamp {
        secs: wire.s,
        nanos: wire.ns,
    })
}
