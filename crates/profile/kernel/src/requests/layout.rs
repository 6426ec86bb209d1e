//! How the programs lay out their maps: must agree with `bpf/block_requests.c`.

/// Names of the kinds of requests, in the order of their numbers.
pub(crate) const KINDS: [&str; 10] = [
    "read",
    "read-ahead",
    "read-meta",
    "write",
    "write-sync",
    "write-meta",
    "flush",
    "discard",
    "write-zeroes",
    "other",
];

/// Names of the operations on a request, in the order of their rows.
pub(crate) const OPERATIONS: [&str; 3] = ["queue", "device", "whole"];
pub(crate) const QUEUE: u32 = 0;
pub(crate) const DEVICE: u32 = 1;
pub(crate) const WHOLE: u32 = 2;

/// Rows of counters of a device.
pub(crate) const DEVICE_ROWS: u32 = (KINDS.len() * OPERATIONS.len()) as u32;

/// Requests that can be in flight.
pub(crate) const IN_FLIGHT_MAX: usize = 32_768;

/// Octaves of latencies for which sizes are kept.
pub(crate) const OCTAVES: u32 = 40;

/// Binary logarithm of the least size.
pub(crate) const SIZE_LEAST: usize = 9;
const SIZES: usize = 23;

/// Words of `struct sizes`: the sum of the sizes, and how many requests had which.
pub(crate) type SizeWords = [u64; 1 + SIZES];

/// Words of `struct state`: since when requests are counted, devices that were given a slot,
/// requests for which there was no room, events that second programs counted, and requests whose end
/// no program was told of.
pub(crate) type StateWords = [u64; 5];

/// `struct device`: its slot and its name.
pub(crate) type DeviceBytes = [u8; 36];

/// Reads `struct device`.
pub(crate) fn slot_and_name(bytes: &DeviceBytes) -> (u32, String) {
    let [a, b, c, d, name @ ..] = *bytes;
    let name: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
    let name = String::from_utf8_lossy(&name).into_owned();
    (u32::from_le_bytes([a, b, c, d]), name)
}

/// Writes `struct device`; a name longer than the kernel's is cut.
pub(crate) fn device_bytes(slot: u32, name: &str) -> DeviceBytes {
    let mut bytes = [0; 36];
    let (first, rest) = bytes.split_at_mut(4);
    first.copy_from_slice(&slot.to_le_bytes());
    for (to, from) in rest.iter_mut().zip(name.bytes().take(31)) {
        *to = from;
    }
    bytes
}

/// Words of `struct progress`.
pub(crate) type ProgressWords = [u64; 5];

/// The rows in which a request is in flight.
pub(crate) fn rows_in_flight(words: &ProgressWords) -> impl Iterator<Item = u32> {
    let [_, _, queued_ns, issued_ns, row_and_bytes] = *words;
    let row = row_and_bytes as u32;
    let all = [
        (QUEUE, queued_ns != 0),
        (DEVICE, issued_ns != 0),
        (WHOLE, true),
    ];
    let in_flight = all.into_iter().filter(|(_, is_in)| *is_in);
    in_flight.map(move |(operation, _)| row.wrapping_add(operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_they_are_written() {
        assert_eq!(
            slot_and_name(&device_bytes(7, "nvme0n1")),
            (7, "nvme0n1".to_owned())
        );
        let (_, cut) = slot_and_name(&device_bytes(0, &"x".repeat(99)));
        assert_eq!(cut.len(), 31);
    }

    #[test]
    fn a_request_is_in_its_queue_or_at_its_device() {
        let rows = |words| rows_in_flight(&words).collect::<Vec<_>>();
        assert_eq!(rows([1, 1, 5, 0, 30]), [30, 32]);
        assert_eq!(rows([1, 1, 0, 5, (512 << 32) | 30]), [31, 32]);
    }
}
