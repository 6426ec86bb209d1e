//! Files that commands will be run on, told in advance, so that their contents can be fetched.

/// Fetches the contents of files ahead of commands that are run on one file after the other.
///
/// What it does changes neither the commands nor their order; it reports nothing.
pub trait Foresight: Send + std::fmt::Debug {
    /// Returns whether this program may read the contents of files that it is given.
    fn may_read(&self, program: &[u8]) -> bool;

    /// Takes the paths of files, relative to the working directory, in the order in which commands
    /// will be run on them. They replace those of an earlier call.
    fn coming(&mut self, files: Vec<Vec<u8>>);

    /// Notes that a command will be run on the file at this position now.
    fn before(&mut self, position: usize);

    /// Notes that the commands on the file at this position have ended, or were not run.
    fn after(&mut self, position: usize);
}
