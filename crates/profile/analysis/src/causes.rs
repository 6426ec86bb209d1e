//! Which activities can be the cause of a latency at a layer.
//!
//! "Therefore, if some of the profiles have a peak close to these times, then we can hypothesize right
//! away that it is related to that corresponding OS activity." (§3.1.2) The hypothesis needs an
//! activity that happens at that layer: a disk serves no timer ticks, and a write waits for no read.

/// Layers that measure devices.
const DEVICES: [&str; 4] = ["block", "driver", "device", "disk"];
/// Layers that measure networks.
const NETWORKS: [&str; 2] = ["network", "rpc"];
/// Words in the names of block requests that read nothing.
const NO_READS: [&str; 4] = ["write", "flush", "discard", "zeroes"];

/// Name of the time that reading a block from a device takes.
pub const DEVICE_READ: &str = "device read";

/// Returns whether an activity can be the cause of a latency of `operation` at `layer`, which may be
/// named `LAYER:PART`. Unknown activities can.
#[must_use]
pub fn can_cause(activity: &str, layer: &str, operation: &str) -> bool {
    let layer = layer.split(':').next().unwrap_or(layer);
    if is_device(layer) {
        let reads = !NO_READS.iter().any(|word| operation.contains(word));
        return match activity {
            DEVICE_READ => reads,
            // Of the scheduler, the memory and the network.
            "system call" | "page fault" | "timer tick" => false,
            _ => !activity.starts_with("switch to") && !activity.starts_with("network"),
        };
    }
    match activity {
        DEVICE_READ => !NETWORKS.contains(&layer),
        // What the kernel does for a call includes no further call.
        "system call" => layer != "file-system",
        _ => true,
    }
}

/// Returns whether a layer measures devices.
#[must_use]
pub fn is_device(layer: &str) -> bool {
    DEVICES.contains(&layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_serve_no_ticks_and_writes_wait_for_no_reads() {
        assert!(can_cause(DEVICE_READ, "block", "vda:read"));
        assert!(can_cause(DEVICE_READ, "block:part", "vda:read"));
        assert!(!can_cause(DEVICE_READ, "block", "vda:write"));
        for activity in ["timer tick", "page fault", "switch to another thread"] {
            assert!(!can_cause(activity, "block", "vda:read"), "{activity}");
            assert!(can_cause(activity, "system-calls", "read"), "{activity}");
        }
        assert!(!can_cause("system call", "file-system", "ext4:read"));
        assert!(!can_cause(DEVICE_READ, "rpc", "nfsv4:READ:whole"));
        assert!(can_cause("full disk rotation", "block", "vda:write"));
    }
}
