//! Tells whether published listings lie where the current rows say they belong.

use super::writer::Round;
use trawl_format::manifest::GuardStep;
use trawl_format::snapshot::Shard;
use trawl_model::guard::Guard;
use trawl_model::{DirAccess, DirId};

/// Whether a listing lies where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Belonging {
    /// It lies where it belongs.
    There,
    /// It belonged there by the access that its directory's row had before.
    ThereBefore,
    /// It belongs there by neither row: it was read while the directory had other permissions.
    Never,
}

impl Round<'_> {
    /// Tells whether the listing of the directory at `path` belongs in `shard`, where it lies.
    /// `above` is the directory that contains it. `now` and `before` are the present and the
    /// previous access in the directory's row, as the index has them. Differences due to
    /// directories above it are ignored.
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
        // A directory above, or this one, may have gained or lost a barrier because of its size.
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

    /// Returns the guards, below the source's root, of the listing of the directory at `path`,
    /// which lies in `above` and has this access. The second guard applies if its size gives the
    /// directory a barrier, or takes one away.
    pub fn guards_of(&mut self, above: DirId, path: &[u8], access: &DirAccess) -> [Guard; 2] {
        let length = self.writer.above.0.len();
        let guards = self.writer.placer.guards_of(above, path, access);
        guards.map(|guard| Guard(guard.0.get(length..).unwrap_or_default().to_vec()))
    }

    /// True if everybody who reaches the source's root may list `dir`, which the scan has read or
    /// passed.
    pub fn is_for_all(&self, dir: DirId) -> bool {
        self.writer.placer.is_for_all(dir)
    }

    /// Like [`Round::guards_of`], but returns the guards as steps.
    fn steps_of(&mut self, above: DirId, path: &[u8], access: &DirAccess) -> [Vec<GuardStep>; 2] {
        let guards = self.guards_of(above, path, access);
        guards.each_ref().map(GuardStep::of_guard)
    }
}
