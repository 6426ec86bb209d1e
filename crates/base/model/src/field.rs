//! How attributes are stored as numbers: the types of the fields in `with_fields!`, and the places
//! of columns in the words that are hashed.

use crate::column::Column;
use crate::entry::{FileType, Meta};
use crate::id::{Dev, Gid, Uid};
use crate::time::Timestamp;

/// Stored value that means "no creation time".
pub const NO_BTIME: i64 = i64::MIN;
/// Stored value that means "no project id".
pub const NO_PROJECT: u32 = u32::MAX;

/// A column's value in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// No value: the file system keeps none.
    Null,
    /// A number in the column's unit; devices as in [`Dev::as_u64`].
    Number(u64),
    /// A time, of the columns for its seconds.
    Time(Timestamp),
    /// The type.
    Type(FileType),
    /// A byte string; empty if there is none.
    Bytes(&'a [u8]),
}

/// Receives the number columns of the entries table, each with the function that takes its value
/// from an object's attributes. A time has two columns.
pub trait NumberVisitor {
    /// A column of unsigned 32-bit numbers.
    fn u32(&mut self, column: Column, of: impl Fn(&Meta) -> u32 + Copy);
    /// A column of unsigned 64-bit numbers.
    fn u64(&mut self, column: Column, of: impl Fn(&Meta) -> u64 + Copy);
    /// A column of signed 64-bit numbers.
    fn i64(&mut self, column: Column, of: impl Fn(&Meta) -> i64 + Copy);
    /// A column of unsigned 32-bit numbers or nulls.
    fn optional_u32(&mut self, column: Column, of: impl Fn(&Meta) -> Option<u32> + Copy);
    /// A column of unsigned 64-bit numbers or nulls.
    fn optional_u64(&mut self, column: Column, of: impl Fn(&Meta) -> Option<u64> + Copy);
    /// A column of signed 64-bit numbers or nulls.
    fn optional_i64(&mut self, column: Column, of: impl Fn(&Meta) -> Option<i64> + Copy);
}

/// An attribute that one number column holds.
pub(crate) trait NumberField: Copy + Default {
    /// The stored number.
    type Stored: Copy + Default;
    /// The stored number that means "no value"; `None` if there always is one.
    const NULL: Option<Self::Stored>;

    fn stored(self) -> Self::Stored;
    fn of(stored: Self::Stored) -> Self;
    /// The number if it is known, else 0; and whether it is.
    fn word(self) -> (u64, bool);
    fn visit(visitor: &mut impl NumberVisitor, at: Column, of: impl Fn(&Meta) -> Self + Copy);

    fn value(self) -> Value<'static> {
        match self.word() {
            (number, true) => Value::Number(number),
            (_, false) => Value::Null,
        }
    }
}

macro_rules! number_fields {
    ($($ty:ty, $stored:ident, |$value:ident| $to:expr, $of:expr;)*) => {
        $(impl NumberField for $ty {
            type Stored = $stored;
            const NULL: Option<$stored> = None;

            #[inline]
            fn stored(self) -> $stored {
                let $value = self;
                $to
            }

            #[inline]
            fn of(stored: $stored) -> Self {
                $of(stored)
            }

            #[inline]
            fn word(self) -> (u64, bool) {
                (u64::from(self.stored()), true)
            }

            #[inline]
            fn visit(
                visitor: &mut impl NumberVisitor,
                at: Column,
                of: impl Fn(&Meta) -> Self + Copy,
            ) {
                visitor.$stored(at, move |meta| of(meta).stored());
            }
        })*
    };
}

number_fields! {
    u32, u32, |number| number, u32::from;
    u64, u64, |number| number, u64::from;
    Uid, u32, |id| id.0, Uid;
    Gid, u32, |id| id.0, Gid;
    Dev, u64, |dev| dev.as_u64(), Dev::from_u64;
}

macro_rules! optional_number_fields {
    ($($stored:ident, $visit:ident, $null:expr;)*) => {
        $(impl NumberField for Option<$stored> {
            type Stored = $stored;
            const NULL: Option<$stored> = Some($null);

            #[inline]
            fn stored(self) -> $stored {
                self.unwrap_or($null)
            }

            #[inline]
            fn of(stored: $stored) -> Self {
                (stored != $null).then_some(stored)
            }

            #[inline]
            fn word(self) -> (u64, bool) {
                (u64::from(self.unwrap_or_default()), self.is_some())
            }

            #[inline]
            fn visit(
                visitor: &mut impl NumberVisitor,
                at: Column,
                of: impl Fn(&Meta) -> Self + Copy,
            ) {
                visitor.$visit(at, of);
            }
        })*
    };
}

optional_number_fields! {
    u32, optional_u32, NO_PROJECT;
    u64, optional_u64, u64::MAX;
}

/// An attribute that two columns hold: seconds and nanoseconds.
pub(crate) trait TimeField: Copy + Default {
    /// The stored seconds that mean "no time"; `None` if there always is one.
    const NULL: Option<i64>;

    /// Makes the time of stored numbers; a number is missing if its column was not read.
    fn of(secs: Option<i64>, nanos: Option<u32>) -> Self;
    fn known(self) -> Option<Timestamp>;
    fn visit(visitor: &mut impl NumberVisitor, at: [Column; 2], of: impl Fn(&Meta) -> Self + Copy);

    #[inline]
    fn stored(self) -> (i64, u32) {
        let null = Timestamp {
            secs: Self::NULL.unwrap_or_default(),
            nanos: 0,
        };
        let time = self.known().unwrap_or(null);
        (time.secs, time.nanos)
    }

    fn value(self) -> Value<'static> {
        self.known().map_or(Value::Null, Value::Time)
    }

    fn nanos_value(self) -> Value<'static> {
        let nanos = self.known().map(|time| u64::from(time.nanos));
        nanos.map_or(Value::Null, Value::Number)
    }
}

impl TimeField for Timestamp {
    const NULL: Option<i64> = None;

    #[inline]
    fn of(secs: Option<i64>, nanos: Option<u32>) -> Timestamp {
        Timestamp {
            secs: secs.unwrap_or_default(),
            nanos: nanos.unwrap_or_default(),
        }
    }

    #[inline]
    fn known(self) -> Option<Timestamp> {
        Some(self)
    }

    #[inline]
    fn visit(
        visitor: &mut impl NumberVisitor,
        [secs, nanos]: [Column; 2],
        of: impl Fn(&Meta) -> Self + Copy,
    ) {
        visitor.i64(secs, move |meta| of(meta).secs);
        visitor.u32(nanos, move |meta| of(meta).nanos);
    }
}

impl TimeField for Option<Timestamp> {
    const NULL: Option<i64> = Some(NO_BTIME);

    #[inline]
    fn of(secs: Option<i64>, nanos: Option<u32>) -> Option<Timestamp> {
        let secs = secs.filter(|secs| *secs != NO_BTIME)?;
        let nanos = nanos.unwrap_or_default();
        Some(Timestamp { secs, nanos })
    }

    #[inline]
    fn known(self) -> Option<Timestamp> {
        self
    }

    #[inline]
    fn visit(
        visitor: &mut impl NumberVisitor,
        [secs, nanos]: [Column; 2],
        of: impl Fn(&Meta) -> Self + Copy,
    ) {
        visitor.optional_i64(secs, move |meta| of(meta).map(|time| time.secs));
        visitor.optional_u32(nanos, move |meta| of(meta).map(|time| time.nanos));
    }
}

/// The place of a column in the words that are hashed.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) word: usize,
    pub(crate) shift: u32,
    pub(crate) bits: usize,
    /// Bit of [`KNOWN`] that says whether the value is known, for one that may be null.
    pub(crate) known: Option<u32>,
}

/// The place of the bits that say which values are known.
pub(crate) const KNOWN: Place = high(7);

/// The place of the name's length.
pub(crate) const NAME_LEN: Place = high(15);

/// Returns the place that is a whole word.
pub(crate) const fn whole(word: usize) -> Place {
    Place {
        word,
        shift: 0,
        bits: 64,
        known: None,
    }
}

/// Returns the low half of a word.
pub(crate) const fn low(word: usize) -> Place {
    Place {
        bits: 32,
        ..whole(word)
    }
}

/// Returns the high half of a word.
pub(crate) const fn high(word: usize) -> Place {
    Place {
        shift: 32,
        ..low(word)
    }
}

impl Place {
    /// Returns this place for a column that may be null, with the bit that says whether it is not.
    pub(crate) const fn known(self, bit: u32) -> Place {
        Place {
            known: Some(bit),
            ..self
        }
    }

    /// The bits of the place.
    const fn mask(self) -> u64 {
        (u64::MAX >> (64 - self.bits)) << self.shift
    }
}

/// Returns the number of words that have a place; panics at compile time if two places overlap, or
/// two columns have the same bit of [`KNOWN`].
pub(crate) const fn words(places: &[Place]) -> usize {
    let (mut at, mut count, mut known) = (0, 0, 0u32);
    while at < places.len() {
        let mut other = 0;
        while other < at {
            let is_other = places[at].word != places[other].word
                || places[at].mask() & places[other].mask() == 0;
            assert!(is_other, "two columns have the same place");
            other += 1;
        }
        if let Some(bit) = places[at].known {
            assert!(known & (1 << bit) == 0, "two columns have the same bit");
            known |= 1 << bit;
        }
        if places[at].word >= count {
            count = places[at].word + 1;
        }
        at += 1;
    }
    count
}
