//! Attributes pushed to files. The package gives and gets values as pairs of a kind and a text, and
//! times as nanoseconds since 1970.

use std::os::fd::OwnedFd;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use trawl_attributes::{AttributeError, Kind, Value};
use trawl_sys::file::duplicate;

/// A value as the package knows it: its kind and its text.
type Pair = (String, String);

fn raised(error: AttributeError) -> PyErr {
    match error {
        AttributeError::Name { .. } | AttributeError::Value { .. } => {
            PyValueError::new_err(error.to_string())
        }
        other => PyOSError::new_err((other.errno().0, other.to_string())),
    }
}

/// Returns a descriptor of the same open file.
fn opened(fd: i32) -> PyResult<OwnedFd> {
    duplicate(fd).map_err(|error| PyOSError::new_err((error.errno.0, error.to_string())))
}

fn value(name: &str, (kind, text): &Pair) -> Result<Value, AttributeError> {
    let kind = match &kind[..] {
        "integer" => Kind::Integer,
        "real" => Kind::Real,
        "time" => {
            return match Value::parse(name, Kind::Integer, text)? {
                Value::Integer(time_ns) => Ok(Value::Time(time_ns)),
                other => Ok(other),
            };
        }
        _ => Kind::Text,
    };
    Value::parse(name, kind, text)
}

fn pairs(value: &Value) -> Vec<Pair> {
    let pair = |value: &Value| {
        let text = match value {
            Value::Time(time_ns) => time_ns.to_string(),
            other => other.to_string(),
        };
        (value.kind().to_owned(), text)
    };
    value.singles().iter().map(pair).collect()
}

/// Sets an attribute of an open file: a list if it says so, otherwise the first value.
#[pyfunction]
pub(crate) fn attr_set(fd: i32, name: String, values: Vec<Pair>, is_list: bool) -> PyResult<()> {
    let read = values.iter().map(|pair| value(&name, pair));
    let mut read: Vec<Value> = read.collect::<Result<_, _>>().map_err(raised)?;
    let wanted = match (is_list, read.len()) {
        (false, 1) => read.remove(0),
        _ => Value::List(read),
    };
    trawl_attributes::set(&opened(fd)?, &name, &wanted).map_err(raised)
}

/// Returns the values of an attribute of an open file, and whether they are a list.
#[pyfunction]
pub(crate) fn attr_get(fd: i32, name: String) -> PyResult<(Vec<Pair>, bool)> {
    let value = trawl_attributes::get(&opened(fd)?, &name).map_err(raised)?;
    Ok((pairs(&value), matches!(value, Value::List(_))))
}

/// Returns the attributes of an open file, each as [`attr_get`] does.
#[pyfunction]
pub(crate) fn attr_list(fd: i32) -> PyResult<Vec<(String, Vec<Pair>, bool)>> {
    let all = trawl_attributes::list(&opened(fd)?).map_err(raised)?;
    let each = all
        .iter()
        .map(|(name, value)| (name.clone(), pairs(value), matches!(value, Value::List(_))));
    Ok(each.collect())
}

/// Removes an attribute of an open file.
#[pyfunction]
pub(crate) fn attr_remove(fd: i32, name: String) -> PyResult<()> {
    trawl_attributes::remove(&opened(fd)?, &name).map_err(raised)
}
