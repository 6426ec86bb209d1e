//! `mapped command`: a command line of somebody whose machine shows trees of the server at other
//! places.
//!
//! It is a message of its own, so that a server that knows nothing of mapped paths refuses it instead
//! of answering about other files. The program that answers maps the paths
//! ([`trawl_model::mapped`]); a mapping only renames, and gives nobody a right.

use trawl_model::mapped::{Mapping, Tree};
use trawl_model::path::normalize;

use super::CommandRequest;
use crate::messages::Body;
use crate::server::PATH_MAX_BYTES;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Maximum number of mapped trees.
const TREES_MAX: usize = 64;

/// A request to answer a command line whose paths are mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedCommand {
    /// The trees.
    pub trees: Vec<Tree>,
    /// The command line. Its working directory is the client's, and need not exist on the server.
    pub request: CommandRequest,
}

impl Body for MappedCommand {
    fn write(&self, out: &mut Fields) {
        out.count(self.trees.len());
        for tree in &self.trees {
            out.bytes(&tree.theirs).bytes(&tree.ours);
        }
        self.request.write(out);
    }

    fn read(body: &mut Reader<'_>) -> Result<MappedCommand, BadFrame> {
        let count = body.count(8, "number of trees")?;
        let trees = (0..count).map(|_| {
            Ok(Tree {
                theirs: body.bytes("path of a tree")?.to_vec(),
                ours: body.bytes("path of a tree")?.to_vec(),
            })
        });
        Ok(MappedCommand {
            trees: trees.collect::<Result<_, BadFrame>>()?,
            request: CommandRequest::read(body)?,
        })
    }
}

impl MappedCommand {
    /// Returns what is wrong with it, if anything is.
    pub(super) fn fault(&self) -> Option<String> {
        let count = self.trees.len();
        if !(1..=TREES_MAX).contains(&count) {
            return Some(format!("{count} trees are mapped: map 1 to {TREES_MAX}"));
        }
        let mut paths = self
            .trees
            .iter()
            .flat_map(|tree| [&tree.theirs, &tree.ours]);
        let is_bad = |path: &&Vec<u8>| {
            let shown = trawl_model::path::display(path);
            path.len() > PATH_MAX_BYTES || normalize(shown).as_ref() != Some(*path)
        };
        if let Some(path) = paths.find(is_bad) {
            let path = path.escape_ascii();
            return Some(format!(
                "{path} cannot be mapped: it is not an absolute path in its shortest form"
            ));
        }
        let line = &self.request.line;
        match Mapping::new(line.directory.clone(), self.trees.clone()) {
            None => Some("one mapped tree contains another".into()),
            Some(_) => line.fault(),
        }
    }

    /// Returns the words that tell the program about the mapping, before those of the command line.
    pub(super) fn words(&self) -> Vec<Vec<u8>> {
        let mut words = vec![MAPPED.to_vec(), self.trees.len().to_string().into_bytes()];
        words.push(self.request.line.directory.clone());
        for tree in &self.trees {
            words.extend([tree.theirs.clone(), tree.ours.clone()]);
        }
        words
    }
}

/// The word before a mapping. The number of trees follows, the working directory of the client, and
/// for each tree the client's path and the server's; `/` is the empty word.
pub const MAPPED: &[u8] = b"--mapped";

#[cfg(test)]
impl crate::messages::Sample for MappedCommand {
    fn example() -> MappedCommand {
        MappedCommand {
            trees: vec![Tree {
                theirs: b"/home".to_vec(),
                ours: b"/export/home".to_vec(),
            }],
            request: CommandRequest::example(),
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<MappedCommand> {
        use crate::messages::tests::bytes;
        use proptest::prelude::*;
        let tree = (bytes(), bytes()).prop_map(|(theirs, ours)| Tree { theirs, ours });
        let trees = proptest::collection::vec(tree, 0..3);
        (trees, CommandRequest::any())
            .prop_map(|(trees, request)| MappedCommand { trees, request })
            .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Sample;

    #[test]
    fn trees_have_limits_and_do_not_overlap() {
        let with = |trees: &[(&str, &str)]| {
            let tree = |(theirs, ours): &(&str, &str)| Tree {
                theirs: (*theirs).into(),
                ours: (*ours).into(),
            };
            MappedCommand {
                trees: trees.iter().map(tree).collect(),
                ..MappedCommand::example()
            }
        };
        assert_eq!(with(&[("/a", "/x"), ("/b", "/y")]).fault(), None);
        assert_eq!(with(&[("/a", "")]).fault(), None);
        for bad in [
            &[][..],
            &[("a", "/x")],
            &[("/a/", "/x")],
            &[("/a", "/x/../y")],
            &[("/a", "/")],
            &[("/a", "/x"), ("/a/b", "/y")],
            &[("/a", "/x\0")],
        ] {
            assert!(with(bad).fault().is_some(), "{bad:?}");
        }
        let many = vec![("/a", "/x"); TREES_MAX + 1];
        assert!(with(&many).fault().is_some());
    }
}
