//! The content of a report.

use trawl_analysis::layers::Calls;
use trawl_analysis::peaks::CharacteristicTime;
use trawl_histogram::{Capture, Profile};

/// The content of a report.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Title of the report.
    pub title: String,
    /// Captures of one run, one for each layer, the upper one first. The report describes each
    /// operation of the first one.
    pub captures: Vec<Capture>,
    /// Operations of the layer below that the operations of one layer call; an operation without an entry calls
    /// the operation of its own name.
    pub calls: Vec<Calls>,
    /// A second profile to compare the first capture with.
    pub second: Option<Second>,
    /// How long activities of the machine take, in the first capture's unit.
    pub times: Vec<CharacteristicTime>,
    /// Findings, in plain sentences.
    pub findings: Vec<String>,
}

/// A profile to compare with.
#[derive(Clone, Debug)]
pub struct Second {
    /// Name of the first capture beside it: "before".
    pub first_label: String,
    /// Name of this profile: "after".
    pub label: String,
    /// The profile.
    pub profile: Profile,
}
