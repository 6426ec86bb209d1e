//! Whether what was published lies where it belongs by what rows say now.

use super::writer::Round;
use crate::manifest::GuardStep;
use crate::snapshot::Shard;
use trawl_model::guard::Guard;
use trawl_model::{DirAccess, DirId};

/// Whether a listing is where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Belonging {
    /// It is.
    There,
    /// It was, by what its directory's row said before.
    ThereBefore,
    /// By no row: it was read while the directory was for others.
    Never,
}

impl Round<'_> {
    /// Whether the listing of the directory at `path`, which lies in `above`,
    /// belongs in `shard`, where it is; with the access that its row has `now`
    /// and that it had `before` (as the index has them). What directories above
    /// it decide is no matter.
    pub fn belonging(
        &mut self,
        shard: &Shard,
        (above, path): (DirId, &[u8]),
        before: &DirAccess,
        now: &DirAccess,
    ) -> Belonging {
        let there = &shard.manifest.guard;
        let before = self.steps_of(above, path, before);
        let now = self.steps_of(above, path, now);
        // One above may have got a barrier, or lost it, for its size; so may it itself.
        let others = |steps: &[GuardStep]| -> Vec<Vec<u8>> {
            let barriers = steps.iter().filter_map(|step| match step {
                GuardStep::Barrier { path, .. } => Some(path.clone()),
                GuardStep::Predicate { .. } => None,
            });
            barriers.filter(|barrier| barrier != path).collect()
        };
        let is_for_size = now[0] == before[0] && now[1] == *there;
        if now[0] == *there || is_for_size || others(&now[0]) != others(there) {
            Belonging::There
        } else if before.contains(there) {
            Belonging::ThereBefore
        } else {
            Belonging::Never
        }
    }

    /// The guards below the source's root behind which the listing of the directory at `path`, which
    /// lies in `above` and has this access, belongs now: the second if it gets a barrier for its
    /// size, or loses it.
    pub fn guards_of(&mut self, above: DirId, path: &[u8], access: &DirAccess) -> [Guard; 2] {
        let length = self.writer.above.0.len();
        let guards = self.writer.placer.guards_of(above, path, access);
        guards.map(|guard| Guard(guard.0.get(length..).unwrap_or_default().to_vec()))
    }

    /// True if everybody who reaches the source's root may list `dir`, which was read or passed.
    pub fn is_for_all(&self, dir: DirId) -> bool {
        self.writer.placer.is_for_all(dir)
    }

    /// The same guards, as steps.
    fn steps_of(&mut self, above: DirId, path: &[u8], access: &DirAccess) -> [Vec<GuardStep>; 2] {
        let guards = self.guards_of(above, path, access);
        guards.each_ref().map(GuardStep::of_guard)
    }
}
