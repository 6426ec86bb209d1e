//! Plans: which operations and values are recorded, and where their counts lie in a recorder's
//! memory.

use std::ops::{Range, RangeInclusive};

use super::cells::HEADER;
use crate::correlated::check_peaks;
use crate::{
    Correlated, Counts, Error, Fault, Histogram, OPERATIONS_MAX, Profile, Resolution, check_name,
};

/// An operation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationId(usize);

/// A value of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueId(usize);

/// The operations and values to record.
#[derive(Clone, Debug)]
pub struct Plan {
    template: Profile,
    operations: Vec<String>,
    values: Vec<(String, Resolution)>,
    watches: Vec<Watch>,
}

/// The latency peaks of an operation for which a value is recorded.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    pub(super) operation: usize,
    pub(super) value: usize,
    pub(super) peaks: Vec<RangeInclusive<u16>>,
}

impl Plan {
    /// Returns a plan without operations. The template gives title, layer, unit, resolution and
    /// start; operations in it are ignored.
    pub fn new(template: &Profile) -> Plan {
        let mut empty = Profile::new(template.unit(), template.resolution());
        empty.title.clone_from(&template.title);
        empty.layer.clone_from(&template.layer);
        empty.start_unix_ns = template.start_unix_ns;
        Plan {
            template: empty,
            operations: Vec::new(),
            values: Vec::new(),
            watches: Vec::new(),
        }
    }

    /// Adds an operation.
    pub fn operation(&mut self, name: &str) -> Result<OperationId, Error> {
        check_name(name)?;
        if self.operations.iter().any(|one| one == name) {
            return Err(Error::Twice(name.to_owned()));
        }
        if self.operations.len() >= OPERATIONS_MAX {
            return Err(Error::TooMany {
                what: "operations",
                amount: self.operations.len() + 1,
                limit: OPERATIONS_MAX,
            });
        }
        self.operations.push(name.to_owned());
        Ok(OperationId(self.operations.len() - 1))
    }

    /// Adds a value whose histograms have a resolution of their own. The name ends with the value's
    /// unit, as in "size_bytes".
    pub fn value(&mut self, name: &str, resolution: Resolution) -> Result<ValueId, Error> {
        check_name(name)?;
        self.values.push((name.to_owned(), resolution));
        Ok(ValueId(self.values.len() - 1))
    }

    /// Records a value of an operation for these latency peaks, each given by its buckets.
    pub fn correlate(
        &mut self,
        operation: OperationId,
        value: ValueId,
        peaks: Vec<RangeInclusive<u16>>,
    ) -> Result<(), Error> {
        let name = self.operation_name(operation.0).to_owned();
        let is_known = operation.0 < self.operations.len() && value.0 < self.values.len();
        if !is_known {
            return Err(Fault::Unknown.of(&name));
        }
        check_peaks(peaks.iter().cloned()).map_err(|fault| fault.of(&name))?;
        let is_same = |one: &Watch| one.operation == operation.0 && one.value == value.0;
        if self.watches.iter().any(is_same) {
            return Err(Error::Twice(name));
        }
        self.watches.push(Watch {
            operation: operation.0,
            value: value.0,
            peaks,
        });
        Ok(())
    }

    /// Returns the bytes that a recorder's counts take.
    pub fn bytes(&self) -> usize {
        Layout::of(self).bytes()
    }

    pub(super) fn template(&self) -> &Profile {
        &self.template
    }

    pub(super) fn operations(&self) -> impl Iterator<Item = &str> {
        self.operations.iter().map(String::as_str)
    }

    pub(super) fn operation_name(&self, operation: usize) -> &str {
        self.operations.get(operation).map_or("?", String::as_str)
    }

    pub(super) fn watches(&self) -> &[Watch] {
        &self.watches
    }

    /// Returns the values without operations.
    pub(super) fn correlated(&self) -> Result<Vec<Correlated>, Error> {
        let values = self.values.iter();
        values
            .map(|(name, resolution)| Correlated::new(name, *resolution))
            .collect()
    }

    /// Returns the name of the operation whose counts a block holds.
    pub(super) fn name_of(&self, block: &Block) -> String {
        self.operation_name(block.operation).to_owned()
    }
}

/// Where the counts of one histogram lie.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The operation to which it belongs.
    operation: usize,
    pub(super) resolution: Resolution,
    /// Its cells: the header, then the buckets.
    pub(super) cells: Range<usize>,
}

impl Block {
    /// Returns the histogram in a copy of all cells.
    pub(super) fn histogram(&self, copy: &[u64]) -> Result<Histogram, Fault> {
        let cells = copy.get(self.cells.clone()).unwrap_or(&[]);
        let Some(([_, entered, left, dropped, low, high, min, max], buckets)) =
            cells.split_first_chunk::<HEADER>()
        else {
            return Ok(Histogram::new(self.resolution));
        };
        let has_latency = left > dropped;
        let counts = Counts {
            carried: 0,
            entered: *entered,
            left: *left,
            dropped: *dropped,
            total: u128::from(*high) << 64 | u128::from(*low),
            min: has_latency.then_some(*min),
            max: has_latency.then_some(*max),
        };
        Histogram::from_parts(self.resolution, counts, buckets.to_vec())
    }
}

/// The blocks of a plan: first the operations', then those of the values' peaks in the plan's order.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) blocks: Vec<Block>,
    operations: usize,
    values: usize,
    /// For operation × value: buckets of latency peaks, with the numbers of their blocks.
    peaks: Vec<Vec<(RangeInclusive<u16>, usize)>>,
}

impl Layout {
    pub(super) fn of(plan: &Plan) -> Layout {
        let mut layout = Layout {
            blocks: Vec::new(),
            operations: plan.operations.len(),
            values: plan.values.len(),
            peaks: vec![Vec::new(); plan.operations.len() * plan.values.len()],
        };
        for operation in 0..plan.operations.len() {
            layout.push(operation, plan.template.resolution());
        }
        for watch in &plan.watches {
            for peak in &watch.peaks {
                let number = layout.push(watch.operation, plan.values[watch.value].1);
                let place = watch.operation * layout.values + watch.value;
                layout.peaks[place].push((peak.clone(), number));
            }
        }
        layout
    }

    fn push(&mut self, operation: usize, resolution: Resolution) -> usize {
        let start = self.cells();
        self.blocks.push(Block {
            operation,
            resolution,
            cells: start..start + HEADER + resolution.buckets(),
        });
        self.blocks.len() - 1
    }

    /// Returns the number of cells of all blocks.
    pub(super) fn cells(&self) -> usize {
        self.blocks.last().map_or(0, |last| last.cells.end)
    }

    pub(super) fn bytes(&self) -> usize {
        self.cells() * size_of::<u64>()
    }

    /// Returns an empty histogram for each block.
    pub(super) fn empty(&self) -> Vec<Histogram> {
        let blocks = self.blocks.iter();
        blocks
            .map(|block| Histogram::new(block.resolution))
            .collect()
    }

    #[inline]
    pub(super) fn operation(&self, operation: OperationId) -> Option<&Block> {
        self.blocks
            .get(operation.0)
            .filter(|_| operation.0 < self.operations)
    }

    /// Returns the block of a value for the latency peak that contains a bucket.
    #[inline]
    pub(super) fn peak(
        &self,
        operation: OperationId,
        value: ValueId,
        bucket: u16,
    ) -> Option<&Block> {
        if value.0 >= self.values {
            return None;
        }
        let peaks = self.peaks.get(operation.0 * self.values + value.0)?;
        let (_, number) = peaks.iter().find(|(peak, _)| peak.contains(&bucket))?;
        self.blocks.get(*number)
    }
}
