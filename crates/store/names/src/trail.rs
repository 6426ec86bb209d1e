//! The state of a path test after each component of a directory's path.
//! Directories that follow each other share leading components, which are
//! tested only once.

/// The last directory entered, with the state of the test after each of its
/// components.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// The directory's path followed by a slash.
    text: Vec<u8>,
    /// Marks after the slashes in `text`, ascending.
    marks: Vec<Mark>,
}

/// An offset in the text, and the state of the test there.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: usize,
    place: u8,
}

impl Trail {
    /// Enters a directory, given as its path followed by a slash. The test
    /// starts in state `start`; `go` returns the state after another component.
    /// Returns the state after the whole path.
    pub fn enter(&mut self, start: u8, directory: &[u8], go: impl Fn(u8, &[u8]) -> u8) -> u8 {
        let pairs = self.text.iter().zip(directory);
        let common = pairs.take_while(|(a, b)| a == b).count();
        while self.marks.last().is_some_and(|mark| mark.at > common) {
            self.marks.pop();
        }
        let known = self.marks.last().copied();
        let mut mark = known.unwrap_or(Mark {
            at: 0,
            place: start,
        });
        self.text.truncate(mark.at);
        let rest = directory.get(mark.at..).unwrap_or_default();
        self.text.extend_from_slice(rest);
        for component in rest.split_inclusive(|byte| *byte == b'/') {
            mark = Mark {
                at: mark.at + component.len(),
                place: go(mark.place, component),
            };
            self.marks.push(mark);
        }
        mark.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn where_it_is_does_not_depend_on_the_way(
            directories in proptest::collection::vec("(/[ab]{1,2}){0,5}", 1..20),
        ) {
            let go = |place: u8, text: &[u8]| {
                text.iter().fold(place, |place, byte| place.wrapping_mul(31).wrapping_add(*byte))
            };
            let mut trail = Trail::default();
            for directory in directories {
                let text = format!("{directory}/");
                let wanted = go(7, text.as_bytes());
                prop_assert_eq!(trail.enter(7, text.as_bytes(), go), wanted);
            }
        }
    }
}
