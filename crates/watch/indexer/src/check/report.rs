//! Report about the permissions of one source.

use trawl_model::Subtrees;
use trawl_query::SnapshotInfo;
use trawl_writer::verify::Finding;

use super::compare::{Kind, Tally};
use super::people::Person;

/// Origin of what users may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// The kernel, which was asked about the live source as each user.
    Kernel,
    /// The rows and the permission algebra, because the tree does not exist on this host.
    Recorded,
    /// The rows and the permission algebra, because the file system's ids are not this host's.
    Mapped,
}

/// Report about one source.
#[derive(Clone, Debug)]
pub struct Report {
    /// Root of the source.
    pub root: Vec<u8>,
    /// Directory at and below which the source was checked.
    pub top: Vec<u8>,
    /// The snapshot that was checked.
    pub info: SnapshotInfo,
    /// Origin of what users may see.
    pub derivation: Derivation,
    /// Number of directories that were looked at.
    pub looked_at: u64,
    /// Number of all directories at and below `top`.
    pub of: u64,
    /// Seed with which the directories were chosen.
    pub seed: u64,
    /// Number of directories of the index whose permissions were checked.
    pub guards: u64,
    /// Directories of the index whose permissions are not as they must be.
    pub findings: Vec<Finding>,
    /// The users, each with what was compared.
    pub users: Vec<(Person, Tally)>,
}

impl Report {
    /// Returns the number of differences of a kind, over all users.
    pub fn count(&self, kind: Kind) -> u64 {
        self.users.iter().map(|(_, tally)| tally.count(kind)).sum()
    }

    /// Returns the number of directories that were closed since the scan, without those within
    /// another.
    pub fn closed(&self) -> u64 {
        let differences = self.users.iter().flat_map(|(_, tally)| &tally.differences);
        let closed = differences.filter(|found| found.kind == Kind::Closed);
        let closed: Subtrees = closed.map(|found| found.path.clone()).collect();
        closed.len() as u64
    }

    /// Returns the number of things that are not as they must be; changes of the source since the
    /// snapshot began are none.
    pub fn problems(&self) -> u64 {
        let kinds = [
            Kind::Leak,
            Kind::Missing,
            Kind::Differs,
            Kind::Closed,
            Kind::Withdrawn,
        ];
        let found: u64 = kinds.iter().map(|kind| self.count(*kind)).sum();
        found + self.findings.len() as u64
    }
}
