//! The result of a run: a profile for each layer, and the facts about the machine that the analysis
//! needs.
//!
//! A recording is written as JSON lines: the first line describes it, each further line is a capture
//! in the format of [`trawl_histogram::json`].
//!
//! ```json
//! {"recording":1,"subject":"grep -r x /usr","cpus":2,"kernel":"6.1.0","times":[{"name":"page fault","ns":650}],"losses":[]}
//! {"version":1,"title":"grep -r x /usr","layer":"system-calls","unit":"nanoseconds", …}
//! ```

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use trawl_analysis::peaks::CharacteristicTime;
use trawl_histogram::{Capture, Unit, json};

use crate::error::ProfileError;
use crate::times;

/// The version that is written and read.
const VERSION: u64 = 1;

/// Maximum number of layers and parts in a recording.
pub const CAPTURES_MAX: usize = 1024;

/// A recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The command, the process or the group that was recorded.
    pub subject: String,
    /// The machine on which it was recorded.
    pub machine: Machine,
    /// Events that layers could not count, in words.
    pub losses: Vec<String>,
    /// The layers, the highest first.
    pub captures: Vec<Capture>,
}

/// Facts about a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Number of processors.
    pub cpus: u32,
    /// Release of the kernel.
    pub kernel: String,
    /// Characteristic times (§3.1.2), in nanoseconds.
    pub times: Vec<CharacteristicTime>,
}

impl Machine {
    /// Describes this machine, and measures its characteristic times, which takes some milliseconds.
    pub fn of_this() -> Machine {
        Machine {
            times: times::measure(),
            ..Machine::unmeasured()
        }
    }

    /// Describes this machine without measuring anything.
    pub fn unmeasured() -> Machine {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Machine {
            cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
            kernel: kernel.trim_end().to_owned(),
            times: Vec::new(),
        }
    }

    /// Returns the characteristic times in the unit of a profile.
    pub fn times_in(&self, unit: Unit) -> Vec<CharacteristicTime> {
        let scaled = |time: &CharacteristicTime| CharacteristicTime {
            name: time.name.clone(),
            time: time.time * unit.per_second() / 1e9,
        };
        self.times.iter().map(scaled).collect()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    recording: u64,
    subject: String,
    cpus: u32,
    kernel: String,
    times: Vec<Time>,
    losses: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Time {
    name: String,
    ns: f64,
}

impl Recording {
    /// Measures the characteristic times, if the recording has none and is of this machine: a command
    /// that records itself does not take the time to measure them.
    #[must_use]
    pub fn with_times(mut self) -> Recording {
        if self.machine.times.is_empty() && self.machine == Machine::unmeasured() {
            self.machine = Machine::of_this();
        }
        self
    }

    /// Returns the recording as JSON lines.
    ///
    /// # Errors
    /// Fails if a profile cannot be written.
    pub fn to_json(&self) -> Result<String, ProfileError> {
        let time = |time: &CharacteristicTime| Time {
            name: time.name.clone(),
            ns: time.time,
        };
        let head = Head {
            recording: VERSION,
            subject: self.subject.clone(),
            cpus: self.machine.cpus,
            kernel: self.machine.kernel.clone(),
            times: self.machine.times.iter().map(time).collect(),
            losses: self.losses.clone(),
        };
        let head = serde_json::to_string(&head).map_err(|cause| malformed(1, cause))?;
        let mut text = head + "\n";
        for capture in &self.captures {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", json::write(capture)?);
        }
        Ok(text)
    }

    /// Reads a recording. A file with one capture and nothing else is a recording of an unknown
    /// machine.
    ///
    /// # Errors
    /// Names the line that is malformed, or the profile that contradicts itself.
    pub fn read(bytes: &[u8]) -> Result<Recording, ProfileError> {
        let mut lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
        let mut recording = Recording {
            subject: String::new(),
            machine: Machine::default(),
            losses: Vec::new(),
            captures: Vec::new(),
        };
        let (_, first) = lines.next().unwrap_or((1, b""));
        match serde_json::from_slice::<Head>(first) {
            Ok(head) => recording.describe(head)?,
            Err(cause) => match json::read(first) {
                Ok(capture) => recording.captures.push(capture),
                Err(_) => return Err(malformed(1, cause)),
            },
        }
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let capture = json::read(line).map_err(|cause| malformed(number, cause))?;
            recording.captures.push(capture);
            if recording.captures.len() > CAPTURES_MAX {
                return Err(malformed(number, "it has too many layers"));
            }
        }
        Ok(recording)
    }

    fn describe(&mut self, head: Head) -> Result<(), ProfileError> {
        if head.recording != VERSION {
            let cause = format!("version {} is not {VERSION}", head.recording);
            return Err(malformed(1, cause));
        }
        let is_time = |time: &Time| time.ns.is_finite() && time.ns > 0.0;
        let times = head.times.into_iter().filter(is_time);
        self.machine = Machine {
            cpus: head.cpus,
            kernel: head.kernel,
            times: times
                .map(|Time { name, ns }| CharacteristicTime { name, time: ns })
                .collect(),
        };
        (self.subject, self.losses) = (head.subject, head.losses);
        Ok(())
    }
}

fn malformed(line: usize, cause: impl ToString) -> ProfileError {
    ProfileError::Malformed {
        line,
        cause: cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_histogram::{Histogram, Profile, Resolution};

    fn recording() -> Recording {
        let mut histogram = Histogram::new(Resolution::ONE);
        for latency in [3, 5, 900] {
            histogram.record(latency);
        }
        let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
        profile.layer = "system-calls".into();
        profile.insert("read", histogram).unwrap();
        Recording {
            subject: "grep -r \"x\"\n".into(),
            machine: Machine {
                cpus: 2,
                kernel: "6.1".into(),
                times: vec![CharacteristicTime {
                    name: "page fault".into(),
                    time: 650.0,
                }],
            },
            losses: vec!["3 events".into()],
            captures: vec![profile.clone().into(), profile.into()],
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        let recording = recording();
        let text = recording.to_json().unwrap();
        assert_eq!(text.lines().count(), 3);
        assert_eq!(Recording::read(text.as_bytes()).unwrap(), recording);
    }

    #[test]
    fn a_capture_alone_is_a_recording_and_damage_names_its_line() {
        let text = recording().to_json().unwrap();
        let capture = text.lines().nth(1).unwrap();
        let alone = Recording::read(capture.as_bytes()).unwrap();
        assert_eq!(alone.captures.len(), 1);
        let damaged = text.replacen("\"left\":3", "\"left\":9", 1);
        let error = Recording::read(damaged.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        for text in ["", "{}", "x", "{\"recording\":2}"] {
            assert!(Recording::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
