//! Reads the text format.

use std::str::SplitWhitespace;

use super::{Columns, EMPTY, PREFIX};
use crate::{
    Counts, Error, Histogram, INPUT_BYTES_MAX, Profile, SLICES_MAX, Slice, Sliced, check_name,
};

/// The most characters of a malformed field that a message repeats.
const QUOTED_MAX: usize = 40;

/// Reads a profile, and checks each operation as [`Histogram::check`] does.
pub fn read(text: &[u8], columns: &Columns) -> Result<Sliced, Error> {
    if text.len() > INPUT_BYTES_MAX {
        return Err(Error::TooMany {
            what: "bytes",
            amount: text.len(),
            limit: INPUT_BYTES_MAX,
        });
    }
    let mut reader = Reader {
        columns,
        whole: Profile::new(columns.unit, columns.resolution),
        slices: Vec::new(),
        current: None,
    };
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        reader.line(&Line { number, text: line })?;
    }
    reader.end_operation()?;
    Sliced::new(reader.whole, columns.interval_ns, reader.slices)
}

/// A line of the file.
struct Line<'a> {
    number: usize,
    text: &'a [u8],
}

impl<'a> Line<'a> {
    fn error(&self, field: usize, cause: impl Into<String>) -> Error {
        Error::Text {
            line: self.number,
            field,
            cause: cause.into(),
        }
    }

    fn text(&self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.text).map_err(|error| {
            let before = self.text[..error.valid_up_to()].split(u8::is_ascii_whitespace);
            let fields = before.filter(|field| !field.is_empty()).count();
            self.error(fields.max(1), "is not UTF-8")
        })
    }

    /// Returns a field as a number.
    fn number<T: std::str::FromStr>(&self, field: usize, text: &str) -> Result<T, Error> {
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_digits);
        number.ok_or_else(|| {
            let quoted: String = text.chars().take(QUOTED_MAX).collect();
            let bits = 8 * size_of::<T>();
            self.error(
                field,
                format!("{quoted:?} is no number of at most {bits} bits"),
            )
        })
    }
}

/// The operation whose slices are being read.
struct Operation {
    name: String,
    entered: u64,
    total: u128,
    /// Sum of its slices.
    sum: Vec<u64>,
    slices: usize,
}

struct Reader<'a> {
    columns: &'a Columns,
    whole: Profile,
    slices: Vec<Slice>,
    current: Option<Operation>,
}

impl Reader<'_> {
    fn line(&mut self, line: &Line<'_>) -> Result<(), Error> {
        let text = line.text()?;
        let fields = text.split_whitespace();
        match text.trim() {
            "" => Ok(()),
            EMPTY => self.slice(line, None),
            _ if text.starts_with([' ', '\t']) => self.slice(line, Some(fields)),
            _ => self.operation(line, fields),
        }
    }

    fn operation(&mut self, line: &Line<'_>, mut fields: SplitWhitespace<'_>) -> Result<(), Error> {
        self.end_operation()?;
        let name = fields.next().unwrap_or_default();
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        check_name(name).map_err(|error| line.error(1, error.to_string()))?;
        if self.whole.get(name).is_some() {
            return Err(line.error(1, Error::Twice(name.to_owned()).to_string()));
        }
        let mut field = |at: usize, what: &str| {
            let missing = || line.error(at, format!("the {what} is missing"));
            fields.next().ok_or_else(missing)
        };
        let entered = line.number(2, field(2, "number of calls")?)?;
        let total = line.number(3, field(3, "total latency")?)?;
        if fields.next().is_some() {
            return Err(line.error(4, "an operation has three fields"));
        }
        self.current = Some(Operation {
            name: name.to_owned(),
            entered,
            total,
            sum: Vec::new(),
            slices: 0,
        });
        Ok(())
    }

    fn slice(&mut self, line: &Line<'_>, fields: Option<SplitWhitespace<'_>>) -> Result<(), Error> {
        let Some(operation) = &mut self.current else {
            return Err(line.error(1, "a slice comes before the first operation"));
        };
        if operation.slices == SLICES_MAX {
            return Err(line.error(1, format!("an operation has at most {SLICES_MAX} slices")));
        }
        if self.slices.len() == operation.slices {
            self.slices.push(Slice::new());
        }
        let first = usize::from(self.columns.first_bucket);
        let limit = self.columns.resolution.buckets();
        let mut buckets = vec![0; first];
        for (field, text) in (1..).zip(fields.into_iter().flatten()) {
            if buckets.len() >= limit {
                let resolution = self.columns.resolution;
                let cause = format!("resolution {resolution} has buckets 0 to {}", limit - 1);
                return Err(line.error(field, cause));
            }
            let count = line.number(field, text)?;
            operation
                .sum
                .resize(operation.sum.len().max(buckets.len() + 1), 0);
            let sum = &mut operation.sum[buckets.len()];
            *sum = sum
                .checked_add(count)
                .ok_or_else(|| line.error(field, "the sum over the slices exceeds 64 bits"))?;
            buckets.push(count);
        }
        self.slices[operation.slices].set(&operation.name, buckets);
        operation.slices += 1;
        Ok(())
    }

    /// Adds the operation to the profile.
    fn end_operation(&mut self) -> Result<(), Error> {
        let Some(operation) = self.current.take() else {
            return Ok(());
        };
        let recorded: u128 = operation.sum.iter().map(|count| u128::from(*count)).sum();
        let counts = Counts {
            entered: operation.entered,
            // More than 64 bits is more than entered, which the check finds.
            left: u64::try_from(recorded).unwrap_or(u64::MAX),
            total: operation.total,
            ..Counts::default()
        };
        let name = &operation.name;
        let histogram = Histogram::from_parts(self.columns.resolution, counts, operation.sum)
            .map_err(|fault| fault.of(name))?;
        histogram.check().map_err(|fault| fault.of(name))?;
        self.whole.insert(name, histogram)
    }
}
