//! `trawl profile layers`.

use trawl_profile::LAYERS;
use trawl_report::{Field, Schema, Value, schema};

use super::LayersArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::rows;

const LAYER: Field = Field::text("layer", "name of the layer");
const ABOUT: Field = Field::text("about", "the operations that are measured");
const WORKS: Field = Field::flag("works", "whether the layer can be recorded here");
const WHY_NOT: Field = Field::text("why_not", "the reason if not; `null` if it works");

const COST: Field = Field::integer(
    "cost_ps",
    "time that recording a call takes; `null` if it is not measured",
)
.in_units("picoseconds");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a layer at which latencies are measured",
    fields: &[LAYER, ABOUT, WORKS, WHY_NOT, COST],
    forms: schema::OBJECTS,
    samples: &["profile layers {form}"],
};

/// Lists the layers.
pub(super) fn run(args: &LayersArgs) -> Result<Exit, Failure> {
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    for layer in LAYERS {
        let (cost, why_not) = match layer.availability() {
            Ok(cost) => (cost.each_ns, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let text = || match &why_not {
            None => {
                let cost = cost.map(|ns| format!("; {ns:.0} ns for each call"));
                let cost = cost.unwrap_or_default();
                format!("{}: {}{cost}\n", layer.name(), layer.about())
            }
            Some(why) => format!("{}: {}\n  not here: {why}\n", layer.name(), layer.about()),
        };
        report.line(text, |row| {
            row.put(&LAYER, layer.name())
                .put(&ABOUT, layer.about())
                .put(&WORKS, why_not.is_none());
            match &why_not {
                Some(why) => row.put(&WHY_NOT, why.as_str()),
                None => row.put(&WHY_NOT, Value::Null),
            };
            match cost {
                Some(ns) => row.put(&COST, (ns * 1000.0).round() as u64),
                None => row.put(&COST, Value::Null),
            };
        })?;
    }
    rows::finish(report)?;
    Ok(Exit::Complete)
}
