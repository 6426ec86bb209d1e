//! HDF5 and NetCDF: attributes of the file, names of variables, and texts that describe them. Values
//! of variables are not read.
//!
//! NetCDF has two formats: its own, and HDF5 with additions, which are hidden as NetCDF hides them.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hdf5_reader::group::Group;
use hdf5_reader::messages::datatype::Datatype;
use hdf5_reader::storage::{Storage, StorageBuffer};
use hdf5_reader::{Attribute, Dataset, Hdf5File, OpenOptions};
use netcdf_reader::{NcAttrValue, NcAttribute, NcFile, NcOpenOptions};
use trawl_hooks::Value;
use trawl_hooks::found::{Findings, is_name};

use crate::input::{Input, damaged};
use crate::office::time;

/// Maximum number of bytes that are read at once.
const RANGE_BYTES_MAX: usize = 16 << 20;
/// Maximum number of groups that are visited.
const GROUPS_MAX: usize = 4096;
/// Maximum number of values of an attribute that are kept.
const VALUES_MAX: usize = 64;
/// Attributes by which the NetCDF library finds its way in HDF5 (NetCDF-4 format specification).
const HIDDEN: [&str; 7] = [
    "_NCProperties",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "CLASS",
    "REFERENCE_LIST",
    "DIMENSION_LIST",
];
/// Of [`HIDDEN`], those that no other library writes.
const OF_NETCDF: [&str; 3] = ["_NCProperties", "_Netcdf4Dimid", "_nc3_strict"];

/// A file as the libraries read it, which read no more of it than the limits allow.
struct Ranges {
    file: Arc<File>,
    size_bytes: u64,
    left: AtomicU64,
}

impl Storage for Ranges {
    fn len(&self) -> u64 {
        self.size_bytes
    }

    fn read_range(&self, at: u64, bytes: usize) -> hdf5_reader::error::Result<StorageBuffer> {
        let take = |left: u64| left.checked_sub(bytes as u64);
        let order = Ordering::Relaxed;
        let is_allowed = self.left.fetch_update(order, order, take).is_ok();
        if bytes > RANGE_BYTES_MAX || !is_allowed {
            let what = "the part that describes the variables is too large";
            return Err(std::io::Error::other(what).into());
        }
        let mut buffer = vec![0; bytes];
        self.file.read_exact_at(&mut buffer, at)?;
        Ok(StorageBuffer::from_vec(buffer))
    }
}

fn ranges(input: &Input) -> Arc<Ranges> {
    Arc::new(Ranges {
        file: input.shared(),
        size_bytes: input.size_bytes(),
        left: AtomicU64::new(input.limits.input_bytes),
    })
}

/// NetCDF's own format: CDF-1, CDF-2 and CDF-5.
pub(crate) fn netcdf(input: &Input, findings: &mut Findings) {
    let file = match NcFile::from_storage_with_options(ranges(input), NcOpenOptions::default()) {
        Ok(file) => file,
        Err(error) => return damaged(error, findings),
    };
    let root = match file.root_group() {
        Ok(root) => root,
        Err(error) => return damaged(error, findings),
    };
    let of_file = root.attributes.iter().map(of_netcdf).collect();
    let mut parts = Parts::default();
    for variable in &root.variables {
        let attributes = variable.attributes.iter().map(of_netcdf).collect();
        parts.variable(variable.name.clone(), attributes);
    }
    parts.report("netcdf", of_file, findings);
}

/// HDF5, with NetCDF in it or without.
pub(crate) fn hdf5(input: &Input, findings: &mut Findings) {
    let options = OpenOptions::default().with_max_object_header_bytes(RANGE_BYTES_MAX);
    let opened = Hdf5File::from_storage_with_options(ranges(input), options);
    let root = match opened.and_then(|file| file.root_group()) {
        Ok(root) => root,
        Err(error) => return damaged(error, findings),
    };
    let of_file = match root.attributes() {
        Ok(attributes) => attributes,
        Err(error) => {
            damaged(error, findings);
            Vec::new()
        }
    };
    let mut parts = Parts::default();
    parts.note_netcdf(&of_file);
    walk(root, &mut parts, findings);
    let prefix = match parts.is_netcdf {
        true => "netcdf",
        false => "hdf5",
    };
    parts.report(prefix, of_file.iter().map(of_hdf5).collect(), findings);
}

/// Visits the groups below `root`, each once: links may form circles.
fn walk(root: Group, parts: &mut Parts, findings: &mut Findings) {
    let mut seen = HashSet::from([root.address()]);
    let mut waiting = vec![(root, String::new())];
    while let Some((group, path)) = waiting.pop() {
        let (groups, datasets) = match group.members() {
            Ok(members) => members,
            Err(error) => {
                damaged(error, findings);
                continue;
            }
        };
        for dataset in &datasets {
            parts.dataset(&path, dataset);
        }
        for inner in groups {
            if !seen.insert(inner.address()) {
                continue;
            }
            if seen.len() > GROUPS_MAX {
                return findings.exceeded("number of groups");
            }
            let inner_path = format!("{path}{}/", inner.name());
            if let Ok(attributes) = inner.attributes() {
                parts.texts(&attributes.iter().map(of_hdf5).collect());
            }
            waiting.push((inner, inner_path));
        }
    }
}

/// An attribute's name and value; `None` if it is of a type that has no counterpart here.
type Named = (String, Option<Value>);

/// Names and texts of a file's variables and groups.
#[derive(Default)]
struct Parts {
    variables: Vec<String>,
    /// Texts that describe variables and groups, each once.
    texts: Vec<String>,
    seen: HashSet<String>,
    is_netcdf: bool,
}

impl Parts {
    fn note_netcdf(&mut self, attributes: &[Attribute]) {
        let is_of_netcdf = |one: &Attribute| OF_NETCDF.contains(&one.name.as_str());
        self.is_netcdf |= attributes.iter().any(is_of_netcdf);
    }

    fn dataset(&mut self, path: &str, dataset: &Dataset) {
        let attributes = dataset.attributes();
        self.note_netcdf(&attributes);
        let attributes: Vec<Named> = attributes.iter().map(of_hdf5).collect();
        // A dimension without values is stored as a dataset (NetCDF-4 format specification).
        let is_dimension = attributes.iter().any(|(name, value)| {
            let is_empty = |text: &String| text.starts_with("This is a netCDF dimension but not");
            name == "NAME" && matches!(value, Some(Value::Text(text)) if is_empty(text))
        });
        if !is_dimension {
            self.variable(format!("{path}{}", dataset.name()), attributes);
        }
    }

    fn variable(&mut self, name: String, attributes: Vec<Named>) {
        self.variables.push(name);
        self.texts(&attributes);
    }

    fn texts(&mut self, attributes: &Vec<Named>) {
        for (name, value) in attributes {
            let texts: Vec<&String> = match value {
                _ if HIDDEN.contains(&name.as_str()) => continue,
                Some(Value::Text(text)) => vec![text],
                Some(Value::List(values)) => values.iter().filter_map(text_of).collect(),
                _ => continue,
            };
            for text in texts {
                if self.seen.insert(text.clone()) {
                    self.texts.push(text.clone());
                }
            }
        }
    }

    fn report(mut self, prefix: &str, of_file: Vec<Named>, findings: &mut Findings) {
        self.texts(&of_file);
        for line in self.texts.iter().chain(&self.variables) {
            if !findings.line(line) {
                break;
            }
        }
        findings.attribute_texts("variable", self.variables);
        let mut named = HashSet::new();
        for (name, value) in of_file {
            if HIDDEN.contains(&name.as_str()) {
                continue;
            }
            let name = format!("{prefix}.{}", name.to_ascii_lowercase());
            if let Some(value) = value.filter(|_| is_name(&name) && named.insert(name.clone())) {
                findings.attribute(&name, timed(value));
            }
        }
    }
}

fn text_of(value: &Value) -> Option<&String> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// Turns a text that is a moment into one: dates are texts in both formats.
fn timed(value: Value) -> Value {
    match &value {
        Value::Text(text) if text.contains('T') => time(text).map_or(value, Value::Time),
        _ => value,
    }
}

fn of_hdf5(attribute: &Attribute) -> Named {
    let texts = || attribute.read_strings().ok();
    let numbers = || match &attribute.datatype {
        Datatype::FixedPoint { .. } => integers(attribute),
        Datatype::FloatingPoint { size: 4, .. } => {
            let values = attribute.read_1d::<f32>().ok()?;
            Some(
                values
                    .into_iter()
                    .map(|one| Value::Real(one.into()))
                    .collect(),
            )
        }
        Datatype::FloatingPoint { size: 8, .. } => {
            let values = attribute.read_1d::<f64>().ok()?;
            Some(values.into_iter().map(Value::Real).collect())
        }
        _ => None,
    };
    let values: Option<Vec<Value>> = match texts() {
        Some(texts) => Some(texts.iter().map(|text| tidy(text)).collect()),
        None => numbers(),
    };
    (attribute.name.clone(), values.and_then(one_or_list))
}

fn integers(attribute: &Attribute) -> Option<Vec<Value>> {
    fn all<T: hdf5_reader::H5Type + Copy + Into<i128>>(one: &Attribute) -> Option<Vec<Value>> {
        let values = one.read_1d::<T>().ok()?;
        Some(values.into_iter().map(|one| whole(one.into())).collect())
    }
    match attribute.datatype {
        Datatype::FixedPoint {
            size: 1,
            signed: true,
            ..
        } => all::<i8>(attribute),
        Datatype::FixedPoint { size: 1, .. } => all::<u8>(attribute),
        Datatype::FixedPoint {
            size: 2,
            signed: true,
            ..
        } => all::<i16>(attribute),
        Datatype::FixedPoint { size: 2, .. } => all::<u16>(attribute),
        Datatype::FixedPoint {
            size: 4,
            signed: true,
            ..
        } => all::<i32>(attribute),
        Datatype::FixedPoint { size: 4, .. } => all::<u32>(attribute),
        Datatype::FixedPoint {
            size: 8,
            signed: true,
            ..
        } => all::<i64>(attribute),
        Datatype::FixedPoint { size: 8, .. } => all::<u64>(attribute),
        _ => None,
    }
}

fn of_netcdf(attribute: &NcAttribute) -> Named {
    fn all<T: Copy + Into<i128>>(values: &[T]) -> Vec<Value> {
        values.iter().map(|one| whole((*one).into())).collect()
    }
    let values = match &attribute.value {
        NcAttrValue::Chars(text) => vec![tidy(text)],
        NcAttrValue::Strings(texts) => texts.iter().map(|text| tidy(text)).collect(),
        NcAttrValue::Bytes(values) => all(values),
        NcAttrValue::UBytes(values) => all(values),
        NcAttrValue::Shorts(values) => all(values),
        NcAttrValue::UShorts(values) => all(values),
        NcAttrValue::Ints(values) => all(values),
        NcAttrValue::UInts(values) => all(values),
        NcAttrValue::Int64s(values) => all(values),
        NcAttrValue::UInt64s(values) => all(values),
        NcAttrValue::Floats(values) => values
            .iter()
            .map(|one| Value::Real((*one).into()))
            .collect(),
        NcAttrValue::Doubles(values) => values.iter().map(|one| Value::Real(*one)).collect(),
        NcAttrValue::UserDefined { .. } => Vec::new(),
    };
    (attribute.name.clone(), one_or_list(values))
}

fn tidy(text: &str) -> Value {
    let is_outside = |c: char| c.is_whitespace() || c == '\0';
    Value::Text(text.trim_matches(is_outside).to_owned())
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a number beyond 2^63 as near as a real can be"
)]
fn whole(number: i128) -> Value {
    i64::try_from(number).map_or(Value::Real(number as f64), Value::Integer)
}

fn one_or_list(mut values: Vec<Value>) -> Option<Value> {
    values.truncate(VALUES_MAX);
    match values.len() {
        0 | 1 => values.pop(),
        _ => Some(Value::List(values)),
    }
}
