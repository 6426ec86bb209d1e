//! Damages files of an index. Queries must return either an error that names
//! the file or the right answer, and never panic.

mod support;

use std::path::PathBuf;
use support::answers::{answers, files_below};
use support::{Random, Shape, Tree};

/// Damages each file in turn, about `wanted` times in all.
fn damage_each(wanted: usize, mut damage: impl FnMut(&mut Vec<u8>, &mut Random)) -> (usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("index");
    let shape = Shape {
        dirs: 40,
        entries: 25,
    };
    let tree = Tree::random(77, "/r", shape);
    tree.write(&place, &mut Random(4));
    let child = tree.dirs[tree.dirs.len() / 2].path.clone();
    let packed = answers(&place, &tree.root, &child).unwrap();
    let mut files = Vec::new();
    files_below(&place, &mut files);
    files.sort();
    // The pack would replace the manifests and the list of shards.
    let is_pack = |file: &PathBuf| file.extension().is_some_and(|end| end == "pack");
    let pack = files.iter().position(is_pack).expect("a pack");
    std::fs::remove_file(files.remove(pack)).unwrap();
    let right = answers(&place, &tree.root, &child).unwrap();
    assert!(packed == right, "the pack says something else");
    let rounds = (wanted / files.len()).max(1);
    let mut random = Random(1);
    let (mut errors, mut tries) = (0, 0);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        if bytes.is_empty() {
            continue;
        }
        for _ in 0..rounds {
            let mut damaged = bytes.clone();
            damage(&mut damaged, &mut random);
            std::fs::write(&file, &damaged).unwrap();
            tries += 1;
            match answers(&place, &tree.root, &child) {
                Ok(answer) => {
                    let lines = answer.lines().zip(right.lines());
                    let other = lines.into_iter().find(|(a, b)| a != b);
                    let name = file.display();
                    assert!(answer == right, "{name} gave another answer: {other:?}");
                }
                Err(error) => {
                    errors += 1;
                    let name = file.file_name().unwrap().to_str().unwrap();
                    assert!(error.to_string().contains(name), "{name}: {error}");
                }
            }
        }
        std::fs::write(&file, &bytes).unwrap();
    }
    (errors, tries)
}

#[test]
fn a_flipped_bit_anywhere_is_named_or_harmless() {
    let (errors, tries) = damage_each(600, |bytes, random| {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
    });
    assert!(tries > 300 && errors > tries / 3, "{errors} of {tries}");
}

#[test]
fn a_cut_anywhere_is_named() {
    let (errors, tries) = damage_each(100, |bytes, random| {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
    });
    assert!(errors > tries / 2, "{errors} of {tries}");
}
