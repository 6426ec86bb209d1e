//! The order in which one place's members are fetched, within the members found so far.

use std::collections::BTreeMap;

use crate::opener::{Expected, PlaceId};

/// A member that waits to be fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) position: u32,
    pub(crate) opener: usize,
    pub(crate) expected: Expected,
}

/// The members that wait at one place.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: BTreeMap<(u64, u32), Queued>,
    /// Where the last member that was taken lies, on a place with an order of its own.
    head: u64,
}

/// How far, in members found later, a member twice as large may be overtaken.
const STEP: u64 = 256;

/// Returns the sort key of a member: where it lies on a rotating disk; elsewhere its position, and
/// the later the larger it is, so that small ones come first, but never by too much.
fn key(queued: &Queued, is_ordered: bool) -> u64 {
    let position = u64::from(queued.position);
    if is_ordered {
        return position;
    }
    if let Some(extent) = queued.expected.extent {
        return extent;
    }
    let pages = queued.expected.bytes.unwrap_or(0) / 4096;
    position + STEP * u64::from(64 - pages.leading_zeros())
}

impl Queue {
    pub(crate) fn push(&mut self, mut queued: Queued, is_ordered: bool) {
        if is_ordered {
            // Its key is the position: the lift must not skip any.
            queued.expected.extent = None;
        }
        let key = (key(&queued, is_ordered), queued.position);
        self.waiting.insert(key, queued);
    }

    fn first(&self) -> Option<(u64, u32)> {
        let ahead = self.waiting.range((self.head, 0)..).next();
        ahead
            .or_else(|| self.waiting.iter().next())
            .map(|(key, _)| *key)
    }

    /// Returns the member that comes next.
    pub(crate) fn peek(&self) -> Option<&Queued> {
        self.waiting.get(&self.first()?)
    }

    /// Takes the member that comes next.
    pub(crate) fn take(&mut self) -> Option<Queued> {
        let queued = self.waiting.remove(&self.first()?)?;
        // Like a lift: upwards, then from the lowest again.
        self.head = queued.expected.extent.unwrap_or(0);
        Some(queued)
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }
}

/// Returns a place as it is shown to a user.
pub(crate) fn shown(place: &PlaceId) -> String {
    match place {
        PlaceId::Device(number) => {
            let device = trawl_sys::device::DeviceNumber::from_u64(*number);
            format!("device {}:{}", device.major, device.minor)
        }
        PlaceId::Mount(id) => format!("mount {id}"),
        PlaceId::Server(address) => address.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(members: &[(u32, Expected)], is_ordered: bool) -> Vec<u32> {
        let mut queue = Queue::default();
        for (position, expected) in members {
            let (position, expected, opener) = (*position, *expected, 0);
            queue.push(
                Queued {
                    position,
                    opener,
                    expected,
                },
                is_ordered,
            );
        }
        std::iter::from_fn(|| queue.take())
            .map(|queued| queued.position)
            .collect()
    }

    fn at(extent: u64) -> Expected {
        Expected {
            extent: Some(extent),
            ..Expected::default()
        }
    }

    fn of(bytes: u64) -> Expected {
        Expected {
            bytes: Some(bytes),
            ..Expected::default()
        }
    }

    #[test]
    fn by_extent_size_or_position() {
        assert_eq!(
            taken(&[(0, at(90)), (1, at(10)), (2, at(50))], false),
            [1, 2, 0]
        );
        assert_eq!(
            taken(&[(0, of(1 << 30)), (1, of(10)), (2, of(5000))], false),
            [1, 2, 0]
        );
        assert_eq!(taken(&[(0, of(1 << 30)), (9000, of(10))], false), [0, 9000]);
        assert_eq!(taken(&[(1, at(10)), (0, at(90))], true), [0, 1]);
    }

    #[test]
    fn the_head_moves_one_way() {
        let mut queue = Queue::default();
        let opener = 0;
        for (position, extent) in [(0, 50), (1, 60)] {
            queue.push(
                Queued {
                    position,
                    opener,
                    expected: at(extent),
                },
                false,
            );
        }
        assert_eq!(queue.take().map(|queued| queued.position), Some(0));
        queue.push(
            Queued {
                position: 2,
                opener,
                expected: at(10),
            },
            false,
        );
        assert_eq!(queue.take().map(|queued| queued.position), Some(1));
        assert_eq!(queue.take().map(|queued| queued.position), Some(2));
    }

    #[test]
    fn an_ordered_queue_skips_no_position_for_a_disk() {
        let at = |extent| Expected {
            extent: Some(extent),
            ..Expected::default()
        };
        let members = [(0, at(2)), (1, at(9)), (2, at(9))];
        assert_eq!(taken(&members, true), [0, 1, 2]);
    }
}
