//! The result of one run of a profiler: a profile with its timeline, and the values correlated with its
//! latency peaks.

use crate::{Correlated, Error, Fault, Profile, Sliced};

/// A profile with its timeline and the values correlated with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The profile.
    pub profile: Sliced,
    /// For each value, its histograms for each latency peak.
    pub correlated: Vec<Correlated>,
}

impl Capture {
    /// Checks the profile and the correlated values: each operation's counts add up, and what is
    /// correlated is in the profile.
    pub fn check(&self) -> Result<(), Error> {
        self.profile.whole().check()?;
        for one in &self.correlated {
            one.check()?;
            let mut names = one.operations().map(|(name, _)| name);
            if let Some(name) = names.find(|name| self.profile.whole().get(name).is_none()) {
                return Err(Fault::Unknown.of(name));
            }
        }
        Ok(())
    }
}

impl From<Sliced> for Capture {
    /// Returns a capture without correlated values.
    fn from(profile: Sliced) -> Capture {
        Capture {
            profile,
            correlated: Vec::new(),
        }
    }
}

impl From<Profile> for Capture {
    /// Returns a capture with a timeline of one slice, without correlated values.
    fn from(profile: Profile) -> Capture {
        Sliced::from(profile).into()
    }
}
