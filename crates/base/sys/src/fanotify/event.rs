//! Parses the records read from a fanotify group. Lengths in a record are checked against the bytes
//! that were read: a malformed record gives a [`BadEvent`], never a read past the end.

/// Event types, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mask(pub u64);

#[allow(missing_docs, reason = "each constant is the event of that name")]
impl Mask {
    pub const MODIFY: Mask = Mask(0x0000_0002);
    pub const ATTRIB: Mask = Mask(0x0000_0004);
    pub const CLOSE_WRITE: Mask = Mask(0x0000_0008);
    pub const CREATE: Mask = Mask(0x0000_0100);
    pub const DELETE: Mask = Mask(0x0000_0200);
    pub const QUEUE_OVERFLOW: Mask = Mask(0x0000_4000);
    /// Requests events for the entries of a marked directory, too.
    pub const ON_CHILD: Mask = Mask(0x0800_0000);
    pub const RENAME: Mask = Mask(0x1000_0000);
    /// The object is a directory.
    pub const ONDIR: Mask = Mask(0x4000_0000);

    /// Returns the union of both masks.
    #[must_use]
    pub const fn with(self, other: Mask) -> Mask {
        Mask(self.0 | other.0)
    }

    /// Returns true if the mask has any bit of `other`.
    #[must_use]
    pub const fn has(self, other: Mask) -> bool {
        self.0 & other.0 != 0
    }
}

/// One event. Objects are encoded as in the kernel's records: file system id (8 bytes), length of
/// the handle (4 bytes), its type (4 bytes), the handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// The event types; the kernel merges successive equal events into one.
    pub mask: Mask,
    /// The directory and the name in it (`.` for the directory itself).
    pub at: Option<Named<'a>>,
    /// The old place of a renamed file.
    pub from: Option<Named<'a>>,
    /// The new place of a renamed file.
    pub to: Option<Named<'a>>,
    /// The object concerned.
    pub object: Option<&'a [u8]>,
}

/// A name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The directory.
    pub directory: &'a [u8],
    /// The name, without its NUL.
    pub name: &'a [u8],
}

/// Error: bytes that are not a valid event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event at byte {offset} is malformed: {what}")]
pub struct BadEvent {
    /// Offset in bytes at which the event begins.
    pub offset: usize,
    /// The problem.
    pub what: &'static str,
}

/// Size in bytes of an event's header.
pub(super) const METADATA_BYTES: usize = 24;
const VERSION: u8 = 3;
const INFO_HEAD_BYTES: usize = 4;
/// Size in bytes of the file system id; `HANDLE_HEAD_BYTES` is the size of the handle's header
/// after it.
const ID_BYTES: usize = 8;
const HANDLE_HEAD_BYTES: usize = 8;

const INFO_FID: u8 = 1;
const INFO_DFID_NAME: u8 = 2;
const INFO_DFID: u8 = 3;
const INFO_OLD_DFID_NAME: u8 = 10;
const INFO_NEW_DFID_NAME: u8 = 12;

/// Iterator over the events in `bytes`, which one read returned. It ends after the first malformed
/// event.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Events<'a> {
    /// Makes an iterator over the bytes that a read returned.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Events { bytes, offset: 0 }
    }

    fn parse(&mut self) -> Result<Event<'a>, &'static str> {
        let rest = &self.bytes[self.offset..];
        let length = word(rest, 0).ok_or("it ends before its length")? as usize;
        let head_bytes = usize::from(half(rest, 6).ok_or("it ends before its head does")?);
        let event = rest
            .get(..length)
            .ok_or("it is longer than what was read")?;
        if head_bytes < METADATA_BYTES || head_bytes > length {
            return Err("its head has an impossible length");
        }
        if event[4] != VERSION {
            return Err("it is of an unknown version");
        }
        let mask = [8, 12].map(|at| word(event, at).unwrap_or(0).to_ne_bytes());
        let mut parsed = Event {
            mask: Mask(u64::from_ne_bytes(join(mask))),
            ..Event::default()
        };
        let mut records = &event[head_bytes..];
        while !records.is_empty() {
            let length = half(records, 2).ok_or("a record ends before its length")?;
            let record = records
                .get(..usize::from(length))
                .ok_or("a record is longer than its event")?;
            if record.len() < INFO_HEAD_BYTES {
                return Err("a record is shorter than its head");
            }
            take_record(&mut parsed, record[0], &record[INFO_HEAD_BYTES..])?;
            records = &records[record.len()..];
        }
        self.offset += length;
        Ok(parsed)
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<Event<'a>, BadEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let offset = self.offset;
        Some(self.parse().map_err(|what| {
            self.offset = self.bytes.len();
            BadEvent { offset, what }
        }))
    }
}

fn take_record<'a>(event: &mut Event<'a>, kind: u8, body: &'a [u8]) -> Result<(), &'static str> {
    match kind {
        INFO_FID => event.object = object(body)?.0,
        INFO_DFID_NAME | INFO_DFID => event.at = named(body)?,
        INFO_OLD_DFID_NAME => event.from = named(body)?,
        INFO_NEW_DFID_NAME => event.to = named(body)?,
        // Other records are not requested; later kernels may add records that are not needed.
        _ => {}
    }
    Ok(())
}

/// Returns the object at the start of a record's body and the bytes after it. The object is `None`
/// if the event concerns none: an overflow has a handle without bytes.
fn object(body: &[u8]) -> Result<(Option<&[u8]>, &[u8]), &'static str> {
    let length = word(body, ID_BYTES).ok_or("a handle ends before its length")? as usize;
    let end = length.saturating_add(ID_BYTES + HANDLE_HEAD_BYTES);
    let key = body
        .get(..end)
        .ok_or("a handle is longer than its record")?;
    if length > crate::handle::MAX_BYTES {
        return Err("a handle is longer than any can be");
    }
    Ok(((length > 0).then_some(key), &body[end..]))
}

fn named(body: &[u8]) -> Result<Option<Named<'_>>, &'static str> {
    let (directory, rest) = object(body)?;
    let end = rest.iter().position(|byte| *byte == 0);
    let name = match end {
        Some(end) => &rest[..end],
        None if rest.is_empty() => b".",
        None => return Err("a name has no end"),
    };
    let name = if name.is_empty() { b"." } else { name };
    if name.contains(&b'/') {
        return Err("a name holds a slash");
    }
    Ok(directory.map(|directory| Named { directory, name }))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

fn join([low, high]: [[u8; 4]; 2]) -> [u8; 8] {
    let mut both = [0; 8];
    both[..4].copy_from_slice(&low);
    both[4..].copy_from_slice(&high);
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(handle: &[u8]) -> Vec<u8> {
        let mut key = b"fsid-fs!".to_vec();
        key.extend(u32::try_from(handle.len()).unwrap().to_ne_bytes());
        key.extend(1i32.to_ne_bytes());
        key.extend(handle);
        key
    }

    fn record(kind: u8, handle: &[u8], name: Option<&[u8]>) -> Vec<u8> {
        let mut body = key(handle);
        if let Some(name) = name {
            body.extend(name);
            body.push(0);
        }
        body.resize((body.len() + 4).next_multiple_of(4) - 4, 0);
        let mut record = vec![kind, 0];
        record.extend(u16::try_from(body.len() + 4).unwrap().to_ne_bytes());
        record.extend(body);
        record
    }

    fn event(mask: u64, records: &[Vec<u8>]) -> Vec<u8> {
        let records = records.concat();
        let mut event = u32::try_from(24 + records.len())
            .unwrap()
            .to_ne_bytes()
            .to_vec();
        event.extend([VERSION, 0]);
        event.extend(24u16.to_ne_bytes());
        event.extend(mask.to_ne_bytes());
        event.extend((-1i32).to_ne_bytes());
        event.extend(7i32.to_ne_bytes());
        event.extend(records);
        event
    }

    #[test]
    fn a_rename_has_both_places_and_its_object() {
        let bytes = [
            event(
                Mask::RENAME.0,
                &[
                    record(INFO_OLD_DFID_NAME, b"one-", Some(b"a")),
                    record(INFO_NEW_DFID_NAME, b"two-two-", Some(b"longer name")),
                    record(INFO_FID, b"file", None),
                ],
            ),
            event(Mask::QUEUE_OVERFLOW.0, &[record(INFO_FID, b"", None)]),
        ]
        .concat();
        let events: Vec<_> = Events::new(&bytes).map(Result::unwrap).collect();
        let [rename, overflow] = events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(rename.from.unwrap().name, b"a");
        assert_eq!(rename.to.unwrap().directory, key(b"two-two-"));
        assert_eq!(rename.to.unwrap().name, b"longer name");
        assert_eq!(rename.object, Some(&key(b"file")[..]));
        assert!(overflow.mask.has(Mask::QUEUE_OVERFLOW) && overflow.object.is_none());
    }

    #[test]
    fn a_record_of_a_later_kernel_is_passed_over() {
        let bytes = event(
            Mask::ATTRIB.0,
            &[vec![200, 0, 4, 0], record(INFO_FID, b"file", None)],
        );
        let parsed = Events::new(&bytes).next().unwrap().unwrap();
        assert_eq!(parsed.object, Some(&key(b"file")[..]));
    }

    #[test]
    fn lengths_that_lie_are_errors() {
        let good = event(
            Mask::CREATE.0,
            &[record(INFO_DFID_NAME, b"dir-", Some(b"name"))],
        );
        assert!(Events::new(&good).all(|event| event.is_ok()));
        for cut in 1..good.len() {
            let events: Vec<_> = Events::new(&good[..cut]).collect();
            assert!(matches!(events[..], [Err(_)]), "{cut}");
        }
        // (offset, false value): event length, version, head length, record length, handle length,
        // slash.
        for (at, lie) in [
            (0, 0u8),
            (0, 255),
            (4, 2),
            (6, 3),
            (6, 200),
            (26, 1),
            (26, 200),
            (36, 99),
            (39, 200),
            (48, b'/'),
        ] {
            let mut bad = good.clone();
            bad[at] = lie;
            let first = Events::new(&bad).next().unwrap();
            assert!(first.is_err(), "{at}: {first:?}");
        }
    }
}
