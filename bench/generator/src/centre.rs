//! Models a computing centre: the areas of its file system, and their owners.

use std::io::{self, Write};

use crate::pattern::Vocabulary;
use crate::people::{self, Owner, ROOT};
use crate::plan::shares;
use crate::random::Random;
use crate::themes::Themes;
use crate::tree::{Above, DAY, Grower, NOW, Wanted, World};

/// Who may see people's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Openness {
    /// As each owner chooses.
    Mixed,
    /// Only the owner.
    Closed,
}

/// The file system to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Centre {
    /// Number of entries, including the root.
    pub(crate) rows: u64,
    pub(crate) seed: u64,
    pub(crate) openness: Openness,
}

/// The kind of owners of an area's directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tenants {
    Users,
    Projects,
    Packages,
}

/// A top-level directory.
struct Area {
    name: &'static str,
    tenants: Tenants,
    theme: &'static str,
    /// Percentage of all entries.
    part: u64,
    /// Permissions, each with the percentage of tenants that choose them.
    modes: &'static [(u32, u64)],
}

/// In the order of their names.
#[rustfmt::skip]
const AREAS: &[Area] = &[
    Area { name: "archive", tenants: Tenants::Projects, theme: "dataset", part: 8, modes: &[(0o2750, 70), (0o2755, 20)] },
    Area { name: "home", tenants: Tenants::Users, theme: "home", part: 32, modes: &[(0o700, 55), (0o750, 20), (0o755, 15), (0o711, 10)] },
    Area { name: "projects", tenants: Tenants::Projects, theme: "work", part: 28, modes: &[(0o2770, 55), (0o2750, 20), (0o2755, 20)] },
    Area { name: "scratch", tenants: Tenants::Users, theme: "run", part: 27, modes: &[(0o755, 45), (0o750, 25), (0o700, 25)] },
    Area { name: "sw", tenants: Tenants::Packages, theme: "package", part: 5, modes: &[(0o755, 100)] },
];

/// A tenant's directory.
struct Top {
    name: String,
    owner: Owner,
}

impl Centre {
    /// Writes the trace.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub(crate) fn write(&self, out: impl Write) -> io::Result<()> {
        let themes = Themes::new().map_err(io::Error::other)?;
        let vocabulary = Vocabulary::new();
        let mut random = Random::new(self.seed);
        let count = (self.rows / 40_000).clamp(12, 2_500);
        let users = people::users(count, &vocabulary, &mut random);
        let world = World {
            members: people::members(&users),
            users,
            themes,
            vocabulary,
        };
        let mut grower = Grower::new(&world, out, random);
        let start = Above {
            ino: 1,
            depth: 0,
            since: NOW - (3650.0 * DAY) as i64,
        };
        let areas = AREAS.len().min(self.rows as usize - 1);
        let root = grower.enter(b"", ROOT, start, areas as u64)?;
        // The last area takes the remainder of rounding.
        let inside = self.rows - 1;
        let mut left = inside;
        for (at, area) in AREAS.iter().enumerate().take(areas) {
            let last = at + 1 == areas;
            let after = (areas - at - 1) as u64;
            let part = (inside * area.part / 100).clamp(1, left - after);
            let rows = if last { left } else { part };
            left -= rows;
            self.area(&world, &mut grower, area, rows, root)?;
        }
        grower.finish().map(drop)
    }

    fn area<W: Write>(
        &self,
        world: &World,
        grower: &mut Grower<'_, W>,
        area: &Area,
        rows: u64,
        root: Above,
    ) -> io::Result<()> {
        let mut tops = self.tops(world, grower, area);
        let parts = shares(rows - 1, tops.len() as u64, &mut grower.random);
        tops.truncate(parts.len());
        tops.sort_by(|a, b| a.name.cmp(&b.name));
        let theme = world.themes.named(area.theme).map_err(io::Error::other)?;
        let above = grower.enter(area.name.as_bytes(), ROOT, root, tops.len() as u64)?;
        for (top, rows) in tops.iter().zip(parts) {
            let wanted = Wanted {
                name: top.name.as_bytes(),
                theme,
                owner: top.owner,
                rows,
            };
            // People come and go over time.
            let since = above.since + grower.random.below((NOW - above.since) as u64 + 1) as i64;
            grower.grow(&wanted, Above { since, ..above })?;
        }
        grower.leave(area.name.as_bytes());
        Ok(())
    }

    fn tops<W: Write>(&self, world: &World, grower: &mut Grower<'_, W>, area: &Area) -> Vec<Top> {
        let random = &mut grower.random;
        let modes = match self.openness {
            Openness::Closed if area.tenants != Tenants::Packages => &[(0o700, 100)],
            _ => area.modes,
        };
        match area.tenants {
            Tenants::Users => world
                .users
                .iter()
                .map(|user| Top {
                    name: user.login.clone(),
                    owner: user.owner(modes, random),
                })
                .collect(),
            Tenants::Projects => world
                .users
                .iter()
                .step_by(3)
                .enumerate()
                .map(|(number, user)| Top {
                    name: format!("{}{number:03}", world.vocabulary.word(random)),
                    owner: user.owner(modes, random),
                })
                .collect(),
            Tenants::Packages => world
                .vocabulary
                .packages()
                .iter()
                .map(|name| Top {
                    name: (*name).to_owned(),
                    owner: ROOT,
                })
                .collect(),
        }
    }
}
