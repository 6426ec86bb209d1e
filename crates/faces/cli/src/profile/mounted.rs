//! `trawl profile mount`.

use trawl_profile::{Data, Mounting, StackableOptions, Visible};

use super::{MountArgs, StackingArgs, failed, recorded};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live;
use crate::output::say;

impl StackingArgs {
    pub(super) fn options(&self) -> StackableOptions {
        let data = match self.passthrough {
            true => Data::Kernel,
            false => Data::Server,
        };
        StackableOptions {
            cache: self.cache.unwrap_or_default(),
            data,
            ..StackableOptions::default()
        }
    }
}

/// Mounts, records until the mount is gone or somebody interrupts, and writes the file.
pub(super) fn run(args: &MountArgs) -> Result<Exit, Failure> {
    let mut options = args.stacking.options();
    options.resolution = args.resolution;
    if args.all_users {
        options.visible = Visible::All;
    }
    let mounting = Mounting {
        source: args.source.clone(),
        point: args.point.clone(),
        options,
        interval: args.slices,
        duration: args.duration,
    };
    live::outlive_signals().map_err(|why| Failure::Usage(why.to_string()))?;
    let interrupted = trawl_sys::signal::interrupted();
    let recording = trawl_profile::record_mount(&mounting, interrupted, |point| {
        if !args.quiet {
            let point = point.display();
            say(format_args!(
                "mounted on {point}; unmount it, or press Ctrl-C, to end the recording"
            ));
        }
    });
    let recording = recording.map_err(failed)?;
    for loss in &recording.losses {
        say(format_args!("the recording is incomplete: {loss}"));
    }
    recorded::write(&recording, &args.output)?;
    if !args.quiet {
        recorded::summarize(&recording, &args.output);
    }
    Ok(Exit::from_issues(recording.losses.len() as u64))
}
