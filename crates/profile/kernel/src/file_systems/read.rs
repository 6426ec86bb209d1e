//! Reads the counters of file-system operations.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use trawl_histogram::{Profile, Resolution, Unit};

use super::attach::Attachment;
use crate::attach::{IN_FLIGHT, walk};
use crate::error::KernelError;
use crate::layout::Call;
use crate::read::{self, Reading};

pub(super) fn read(
    attachment: &mut Attachment,
    resolution: Resolution,
) -> Result<Reading, KernelError> {
    let rows = attachment.names.len() as u32;
    let before = read::all_counters(&attachment.programs, rows)?;
    let mut in_flight: BTreeMap<u32, u64> = BTreeMap::new();
    let walked = walk(&mut attachment.programs, IN_FLIGHT)?;
    let (records, _) = walked.as_chunks::<{ Call::BYTES }>();
    for call in records.iter().map(Call::from_bytes) {
        *in_flight.entry(call.number).or_default() += 1;
    }
    let mut reading = Reading {
        profile: Profile::new(Unit::Nanoseconds, resolution),
        parts: Vec::new(),
        others: None,
        correlated: Vec::new(),
        ended: BTreeMap::new(),
        is_still: true,
        missed: missed(attachment)?,
        lost_tasks: read::lost_tasks(&attachment.programs)?,
    };
    for ((row, before), name) in (0..rows).zip(before).zip(&attachment.names) {
        let read = read::read_call(&attachment.programs, row, resolution)?;
        if read.is_used() {
            let in_flight = in_flight.get(&row).copied().unwrap_or(0);
            read::add(&mut reading, name.clone(), before, &read, in_flight)?;
        }
    }
    Ok(reading)
}

fn missed(attachment: &Attachment) -> Result<u64, KernelError> {
    let programs = attachment.traced.iter().flat_map(|traced| &traced.programs);
    programs.map(|program| read::misses(program.as_fd())).sum()
}
