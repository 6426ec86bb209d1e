//! `trawl profile -- COMMAND`: records a command, and prints the report at once.

use trawl_histogram::Resolution;
use trawl_profile::detail::Detail;
use trawl_profile::{Layer, Streams, Subject, USUAL, Wishes};

use super::recorded::{self, Outcome};
use super::report::{self, Shown};
use super::subject::Detailed;
use super::{ShortArgs, subject};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::tell;

/// The layer that is recorded unless another is named: it needs no rights.
const LAYER: &str = "user";

/// Operations with less than this share of the total latency are left out, in percent.
const LEAST: f64 = 0.1;

/// Returns the layer that needs no rights; the usual one where only that one works.
fn usual() -> Result<&'static dyn Layer, Failure> {
    let layer = subject::named(LAYER)?;
    let works = |layer: &dyn Layer| layer.availability().is_ok();
    Ok(match !works(layer) && works(USUAL) {
        true => USUAL,
        false => layer,
    })
}

/// Records, and prints the report on standard error: standard output is the command's.
pub(super) fn run(args: &ShortArgs) -> Result<Exit, Failure> {
    if args.command.is_empty() {
        let text = "name a command: trawl profile -- COMMAND, or see trawl profile --help";
        return Err(Failure::Usage(text.into()));
    }
    let layer = match &args.layer {
        Some(name) => subject::named(name)?,
        None => usual()?,
    };
    let detail = Detail {
        by: args.by,
        ..Detail::default()
    };
    let plain = [layer];
    let detailed = Detailed::new(&plain, &detail)?;
    let wishes = Wishes {
        layers: detailed.layers(&plain),
        resolution: Resolution::ONE,
        interval: None,
        duration: None,
        streams: Streams::Own,
    };
    let subject = Subject::Command(args.command.clone());
    let recorded = match recorded::record(&subject, &wishes)? {
        Outcome::Done(recorded) => recorded,
        Outcome::NotStarted(exit) => return Ok(exit),
    };
    let recording = &recorded.recording;
    if let Some(path) = &args.output {
        recorded::write(recording, path)?;
    }
    let shown = Shown {
        layer: None,
        operations: &[],
        least: LEAST,
    };
    for line in report::text(recording, &shown).lines() {
        tell(line);
    }
    Ok(recorded::exit(recording, &recorded.ended))
}
