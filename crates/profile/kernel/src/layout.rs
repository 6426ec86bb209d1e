//! How the programs lay out their maps: must agree with `bpf/system_calls.c`.

/// Rows of counters: system calls 0 to 509, those of 32-bit programs, all others.
pub(crate) const CALLS: u32 = 512;
/// Row of the calls of 32-bit programs.
pub(crate) const CALL_32BIT: u32 = 510;
/// Row of calls with numbers beyond the table.
pub(crate) const CALL_OTHER: u32 = 511;
/// Buckets in one element of the map of buckets.
pub(crate) const ROW: usize = 64;

/// One CPU's counters of one system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) entered: u64,
    pub(crate) ended: u64,
    pub(crate) dropped: u64,
    pub(crate) total_ns: u64,
    pub(crate) min_ns: Option<u64>,
    pub(crate) max_ns: u64,
    pub(crate) left: u64,
}

/// Words of `struct counters`.
pub(crate) type CounterWords = [u64; 8];

impl Counters {
    pub(crate) fn new(words: &CounterWords) -> Counters {
        let [
            entered,
            ended,
            dropped,
            total_ns,
            complement_of_min_ns,
            max_ns,
            left,
            _,
        ] = *words;
        Counters {
            entered,
            ended,
            dropped,
            total_ns,
            min_ns: (complement_of_min_ns != 0).then_some(!complement_of_min_ns),
            max_ns,
            left,
        }
    }

    /// Calls that are not in flight any more.
    pub(crate) fn settled(&self) -> u64 {
        self.left + self.ended + self.dropped
    }
}

/// A call in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) tid: u32,
    pub(crate) start_ns: u64,
    /// Number of the system call, or row of the operation.
    pub(crate) number: u32,
    /// Row of counters.
    pub(crate) row: u32,
}

impl Call {
    /// Bytes of `struct call` of file systems.
    pub(crate) const BYTES: usize = 16;
    /// Bytes of `struct call` of system calls.
    pub(crate) const BYTES_WITH_ROW: usize = 24;

    /// `struct call` of file systems: start, row, thread.
    pub(crate) fn from_bytes(bytes: &[u8; Call::BYTES]) -> Call {
        let [a, b, c, d, e, f, g, h, rest @ ..] = *bytes;
        let [i, j, k, l, rest @ ..] = rest;
        let number = u32::from_le_bytes([i, j, k, l]);
        Call {
            start_ns: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            number,
            tid: u32::from_le_bytes(rest),
            row: number,
        }
    }

    /// `struct call` of system calls: start, number, thread, row, part.
    pub(crate) fn from_bytes_with_row(bytes: &[u8; Call::BYTES_WITH_ROW]) -> Option<Call> {
        let (call, rest) = bytes.split_first_chunk()?;
        let row = u32::from_le_bytes(*rest.first_chunk()?);
        Some(Call {
            row,
            ..Call::from_bytes(call)
        })
    }

    /// `struct slot`: `None` if no call is in flight there, or if the task's storage has it.
    pub(crate) fn from_slot(words: &SlotWords) -> Option<Call> {
        let [
            start_ns,
            number_and_tid,
            _,
            knowledge_and_stored,
            _,
            row_and_part,
        ] = *words;
        let is_stored = knowledge_and_stored >> 32 != 0;
        (start_ns != 0 && !is_stored).then_some(Call {
            tid: (number_and_tid >> 32) as u32,
            start_ns,
            number: number_and_tid as u32,
            row: row_and_part as u32,
        })
    }
}

/// Words of `struct slot`.
pub(crate) type SlotWords = [u64; 6];
