//! The sum of the profiles of a server's processes. Each serving process runs as its client's user,
//! who may make it tell anything: only known operations are taken, and only plausible counts.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use trawl_histogram::Profile;
use trawl_model::operation::{Layer, Operation};
use trawl_profile::Recording;
use trawl_profile::own::Own;
use trawl_remote::listen::Told;

/// More calls than a process can make in its life: others are lies, and would end in overflows.
const CALLS_MAX: u64 = 1 << 40;

/// What the processes of a server have told, and this process's own profile.
#[derive(Debug)]
pub(super) struct Processes {
    own: &'static Own,
    told: Mutex<Reports>,
}

#[derive(Debug, Default)]
struct Reports {
    /// The last report of each process that has not ended.
    live: BTreeMap<u64, Vec<Profile>>,
    /// The sum of the last reports of those that have.
    ended: Vec<Profile>,
}

impl Processes {
    pub(super) fn new(own: &'static Own) -> Processes {
        Processes {
            own,
            told: Mutex::default(),
        }
    }

    fn told(&self) -> MutexGuard<'_, Reports> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what a process told of itself.
    pub(super) fn learn(&self, told: &Told<'_>) {
        match told {
            Told::Profile { process, profile } => {
                if let Some(profiles) = plausible(profile) {
                    self.told().live.insert(*process, profiles);
                }
            }
            Told::Ended { process } => {
                let mut told = self.told();
                if let Some(last) = told.live.remove(process) {
                    add(&mut told.ended, &last);
                }
            }
        }
    }

    /// Returns the sum: a profile for each layer.
    pub(super) fn read(&self, title: &str) -> Result<Vec<Profile>, String> {
        let mut sum = self.own.read(title).map_err(|error| error.to_string())?;
        let told = self.told();
        add(&mut sum, &told.ended);
        told.live.values().for_each(|one| add(&mut sum, one));
        for profile in &mut sum {
            title.clone_into(&mut profile.title);
        }
        Ok(sum)
    }
}

/// Adds profiles to those of the same layer. What does not fit is left out.
fn add(sum: &mut Vec<Profile>, more: &[Profile]) {
    for profile in more {
        match sum.iter_mut().find(|one| one.layer == profile.layer) {
            Some(known) => {
                let _ = known.merge(profile);
            }
            None => sum.push(profile.clone()),
        }
    }
}

/// Returns a process's profiles, if they can be what it did.
fn plausible(bytes: &[u8]) -> Option<Vec<Profile>> {
    let recording = Recording::read(bytes).ok()?;
    let profiles = recording.captures.into_iter();
    let profiles: Vec<Profile> = profiles.map(|one| one.profile.into_whole()).collect();
    let is_operation = |layer: Layer, name: &str| {
        let mut all = Operation::ALL.iter();
        all.any(|one| one.layer() == layer && one.name() == name)
    };
    let is_known = |profile: &Profile| {
        let layer = Layer::ALL.iter().find(|one| one.name() == profile.layer);
        layer.is_some_and(|layer| {
            profile
                .operations()
                .all(|(name, one)| is_operation(*layer, name) && one.counts().entered <= CALLS_MAX)
        })
    };
    let is_like_ours = |profile: &Profile| {
        profile.unit() == trawl_profile::own::UNIT
            && profile.resolution() == trawl_profile::own::resolution()
    };
    (profiles
        .iter()
        .all(|one| is_known(one) && is_like_ours(one)))
    .then_some(profiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(operation: &str, calls: u64) -> String {
        format!(
            "{{\"recording\":1,\"subject\":\"\",\"cpus\":0,\"kernel\":\"\",\"times\":[],\"losses\":[]}}\n\
             {{\"version\":1,\"title\":\"\",\"layer\":\"trawl\",\"unit\":\"nanoseconds\",\
             \"resolution\":2,\"operations\":[{{\"operation\":\"{operation}\",\"histogram\":\
             {{\"entered\":{calls},\"left\":{calls},\"dropped\":0,\"total\":{calls},\"min\":1,\
             \"max\":1,\"buckets\":[{calls}]}}}}]}}\n"
        )
    }

    fn tell(processes: &Processes, process: u64, report: &str) {
        processes.learn(&Told::Profile {
            process,
            profile: report.as_bytes(),
        });
    }

    #[test]
    fn reports_are_summed_over_processes_that_run_and_that_have_ended() {
        let processes = Processes::new(trawl_profile::own::start().unwrap());
        let count = || {
            let profiles = processes.read("a server").unwrap();
            let layer = profiles.iter().find(|one| one.layer == "trawl");
            let scans = layer.and_then(|one| one.get("scan"));
            scans.map_or(0, |one| one.counts().entered)
        };
        assert_eq!(count(), 0);
        tell(&processes, 1, &report("scan", 3));
        tell(&processes, 2, &report("scan", 4));
        assert_eq!(count(), 7);
        tell(&processes, 1, &report("scan", 5));
        assert_eq!(count(), 9, "a report replaces the one before");
        processes.learn(&Told::Ended { process: 1 });
        processes.learn(&Told::Ended { process: 1 });
        tell(&processes, 3, &report("scan", 1));
        assert_eq!(count(), 10);
        let lies = [
            report("no-such-operation", 1),
            report("scan", u64::MAX),
            report("scan", 1).replace("\"left\":1", "\"left\":2"),
            report("scan", 1).replace("\"resolution\":2", "\"resolution\":3"),
            report("scan", 1).replace("\"trawl\"", "\"vfs\""),
            "x".into(),
        ];
        for lie in lies {
            tell(&processes, 9, &lie);
            assert_eq!(count(), 10, "{lie}");
        }
    }
}
