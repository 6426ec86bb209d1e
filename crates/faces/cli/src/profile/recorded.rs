//! `trawl profile record`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use trawl_histogram::Profile;
use trawl_profile::detail::{Detail, split_part};
use trawl_profile::{
    Ended, ProfileError, Recorded, Recording, Streams, Subject, USUAL, Wishes, stackable,
};

use super::subject::{Detailed, Usual, named};
use super::{RecordArgs, failed};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live;
use crate::output::say;
use trawl_text::figures;

/// Records, and writes the file.
pub(super) fn run(args: &RecordArgs) -> Result<Exit, Failure> {
    let (subject, usual) = match &args.mount {
        Some(directory) if !args.subject.has_command() => {
            let subject = Subject::Mount(directory.clone());
            (subject, Usual::Instead(named("file-system")?))
        }
        Some(directory) => {
            let over = stackable::over(directory.clone(), args.stacking.options());
            (args.subject.subject()?, Usual::Always(over))
        }
        None => (args.subject.subject()?, Usual::Instead(USUAL)),
    };
    let plain = args.layers.layers(usual)?;
    let detail = Detail {
        by: args.by,
        values: args.correlate.clone(),
    };
    let detailed = Detailed::new(&plain, &detail)?;
    let wishes = Wishes {
        layers: detailed.layers(&plain),
        resolution: args.layers.resolution,
        interval: args.slices,
        duration: args.duration,
        streams: Streams::Own,
    };
    let recorded = match record(&subject, &wishes)? {
        Outcome::Done(recorded) => recorded,
        Outcome::NotStarted(exit) => return Ok(exit),
    };
    let recording = &recorded.recording;
    write(recording, &args.output)?;
    if !args.quiet {
        summarize(recording, &args.output);
    }
    Ok(exit(recording, &recorded.ended))
}

/// The outcome of a recording.
pub(super) enum Outcome {
    /// It was made.
    Done(Recorded),
    /// The command could not be started, as was said.
    NotStarted(Exit),
}

/// Records, and says what the recording lacks.
pub(super) fn record(subject: &Subject, wishes: &Wishes<'_>) -> Result<Outcome, Failure> {
    live::outlive_signals().map_err(|why| Failure::Usage(why.to_string()))?;
    crate::again::note_begun();
    let recorded = trawl_profile::record(subject, wishes, trawl_sys::signal::interrupted());
    let recorded = match recorded {
        Err(error @ ProfileError::Start { .. }) => {
            return Ok(Outcome::NotStarted(not_started(error)));
        }
        other => other.map_err(failed)?,
    };
    for loss in &recorded.recording.losses {
        say(format_args!("the recording is incomplete: {loss}"));
    }
    Ok(Outcome::Done(recorded))
}

/// Says that a command cannot be started; returns the exit code that a shell would return.
pub(super) fn not_started(error: ProfileError) -> Exit {
    let code = match &error {
        ProfileError::Start { source, .. } if source.kind() == ErrorKind::NotFound => 127,
        _ => 126,
    };
    say(error);
    Exit::Command(code)
}

/// Writes a recording.
pub(super) fn write(recording: &Recording, path: &Path) -> Result<(), Failure> {
    let text = recording.to_json().map_err(failed)?;
    fs::write(path, text).map_err(|source| Failure::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Returns the command's exit code, or whether the recording is complete.
pub(super) fn exit(recording: &Recording, ended: &Ended) -> Exit {
    match ended {
        Ended::Command(status) => Exit::Command(code(*status)),
        Ended::Over | Ended::Cancelled => Exit::from_issues(recording.losses.len() as u64),
    }
}

/// Returns the exit code that a shell would report.
pub(super) fn code(status: std::process::ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code();
    let signal = status.signal().map(|signal| 128 + signal);
    u8::try_from(code.or(signal).unwrap_or(1)).unwrap_or(u8::MAX)
}

/// Says what the file contains.
pub(super) fn summarize(recording: &Recording, output: &Path) {
    for profile in layers(recording) {
        let calls = profile.operations().map(|(_, one)| one.counts().entered);
        let calls = figures::count(calls.sum());
        let lasted = profile.duration_ns.map_or(0.0, |ns| ns as f64 / 1e9);
        let lasted = figures::time(lasted);
        say(format_args!(
            "{}: {calls} calls in {lasted}, written to {}; see them with: trawl profile report {}",
            profile.layer,
            output.display(),
            output.display(),
        ));
    }
}

/// Returns the layers of a recording, without their parts.
fn layers(recording: &Recording) -> impl Iterator<Item = &Profile> {
    let profiles = recording.captures.iter();
    let profiles = profiles.map(|capture| capture.profile.whole());
    profiles.filter(|profile| split_part(&profile.layer).is_none())
}
