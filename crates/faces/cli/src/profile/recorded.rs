//! `trawl profile record`.

use std::fs;
use std::path::{Path, PathBuf};

use trawl_profile::{
    Ended, LAYERS, Layer, ProfileError, Recording, Subject, USUAL, Wishes, layer, stackable,
};

use super::{RecordArgs, failed, words};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live;
use crate::output::say;

/// Records, and writes the file.
pub(super) fn run(args: &RecordArgs) -> Result<Exit, Failure> {
    let subject = subject(args)?;
    let wishes = Wishes {
        layers: layers(args)?,
        resolution: args.resolution,
        interval: args.slices,
        duration: args.duration,
    };
    live::outlive_signals().map_err(|why| Failure::Usage(why.to_string()))?;
    crate::again::note_begun();
    let recorded = trawl_profile::record(&subject, &wishes, trawl_sys::signal::interrupted());
    let (recording, ended) = match recorded {
        Err(ProfileError::Start { program, source }) => {
            say(ProfileError::Start {
                program,
                source: again(&source),
            });
            return Ok(Exit::Command(match source.kind() {
                std::io::ErrorKind::NotFound => 127,
                _ => 126,
            }));
        }
        other => other.map_err(failed)?,
    };
    write(&recording, &args.output, args.quiet)?;
    Ok(match ended {
        Ended::Command(status) => Exit::Command(code(status)),
        Ended::Over | Ended::Cancelled if recording.losses.is_empty() => Exit::Complete,
        Ended::Over | Ended::Cancelled => Exit::Issues,
    })
}

/// Writes the file, and says what it contains.
pub(super) fn write(recording: &Recording, output: &Path, is_quiet: bool) -> Result<(), Failure> {
    let text = recording.to_json().map_err(failed)?;
    fs::write(output, text).map_err(|source| Failure::File {
        action: "write",
        path: output.to_owned(),
        source,
    })?;
    for loss in &recording.losses {
        say(format_args!("the recording is incomplete: {loss}"));
    }
    if !is_quiet {
        summarize(recording, output);
    }
    Ok(())
}

fn again(error: &std::io::Error) -> std::io::Error {
    match error.raw_os_error() {
        Some(errno) => std::io::Error::from_raw_os_error(errno),
        None => error.kind().into(),
    }
}

/// Returns the exit code that a shell would report.
fn code(status: std::process::ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code();
    let signal = status.signal().map(|signal| 128 + signal);
    u8::try_from(code.or(signal).unwrap_or(1)).unwrap_or(u8::MAX)
}

fn subject(args: &RecordArgs) -> Result<Subject, Failure> {
    Ok(match (args.pid, &args.cgroup, args.all) {
        (Some(process), _, _) => Subject::Process(process),
        (_, Some(group), _) => Subject::Group(group.clone()),
        (_, _, true) => Subject::Everything,
        _ if args.command.is_empty() => {
            let text = "name what to record: -- COMMAND, --pid, --cgroup or --all";
            return Err(Failure::Usage(text.into()));
        }
        _ => Subject::Command(args.command.clone()),
    })
}

/// Returns the layers that were named, or the usual one.
fn layers(args: &RecordArgs) -> Result<Vec<&'static dyn Layer>, Failure> {
    let over = |directory: &PathBuf| stackable::over(directory.clone(), args.stacking.options());
    let over = args.mount.as_ref().map(over);
    if args.layer.is_empty() {
        return Ok(vec![over.unwrap_or(USUAL)]);
    }
    let named = |name: &String| {
        if let Some(over) = over.filter(|over| over.name() == name) {
            return Ok(over);
        }
        layer::find(name).ok_or_else(|| {
            let names: Vec<&str> = LAYERS.iter().map(|layer| layer.name()).collect();
            let names = names.join(", ");
            Failure::Usage(format!("there is no layer {name}; there are: {names}"))
        })
    };
    let mut layers = args
        .layer
        .iter()
        .map(named)
        .collect::<Result<Vec<_>, _>>()?;
    let is_named = |over: &&dyn Layer| layers.iter().any(|one| one.name() == over.name());
    layers.extend(over.filter(|over| !is_named(over)));
    Ok(layers)
}

fn summarize(recording: &Recording, output: &Path) {
    for capture in &recording.captures {
        let profile = capture.profile.whole();
        let calls = profile.operations().map(|(_, one)| one.counts().entered);
        let calls = words::count(calls.sum());
        let lasted = profile.duration_ns.map_or(0.0, |ns| ns as f64 / 1e9);
        let lasted = words::time(lasted);
        say(format_args!(
            "{}: {calls} calls in {lasted}, written to {}; see them with: trawl profile report {}",
            profile.layer,
            output.display(),
            output.display(),
        ));
    }
}
