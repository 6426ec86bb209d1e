//! Depth beyond `PATH_MAX`, width, hard links, and a private folder.

use std::io;

use super::{Plan, Site};
use crate::folder::Folder;

pub(super) fn build(site: &mut Site<'_>, top: &Folder, plan: &Plan) -> io::Result<()> {
    chain(site, top, b"deep", b"d", plan.deep_levels)?;
    chain(site, top, b"long", &[b'l'; 250], plan.long_levels)?;
    wide(&top.make_folder(b"wide")?, plan.wide_files)?;
    hard_links(site, top)?;
    private(top)
}

/// Makes a chain of folders, with one open descriptor at a time, a file at its end and one in the
/// middle.
fn chain(
    site: &mut Site<'_>,
    top: &Folder,
    start: &[u8],
    name: &[u8],
    levels: usize,
) -> io::Result<()> {
    let mut here = top.make_folder(start)?;
    for level in 0..levels {
        if level == levels / 2 {
            here.make_file(b"middle", b"half way")?;
        }
        match here.make_folder(name) {
            Ok(next) => here = next,
            Err(error) => {
                let what = format!("level {level} of {levels} in {}", start.escape_ascii());
                site.attempt(what, Err(error));
                break;
            }
        }
    }
    here.make_file(b"bottom", b"all the way down")
}

fn wide(wide: &Folder, files: usize) -> io::Result<()> {
    for number in 0..files {
        wide.make_file(format!("file-{number:07}").as_bytes(), b"")?;
    }
    Ok(())
}

/// Makes one file under three names in two folders, one under a hundred names, a link with two
/// names, and a file whose two names are apart in every order.
fn hard_links(site: &mut Site<'_>, top: &Folder) -> io::Result<()> {
    let links = top.make_folder(b"hard-links")?;
    let (a, b) = (links.make_folder(b"a")?, links.make_folder(b"b")?);
    a.make_file(b"one", &[1; 10_000])?;
    site.attempt("a hard link", a.make_hard_link(b"one", &a, b"two"));
    site.attempt(
        "a hard link into another folder",
        a.make_hard_link(b"one", &b, b"three"),
    );
    b.make_file(b"zz", &[2; 5_000])?;
    site.attempt(
        "a hard link upwards",
        b.make_hard_link(b"zz", &links, b"aa"),
    );
    let many = links.make_folder(b"many")?;
    many.make_file(b"000", b"shared")?;
    let linked =
        (1..100).try_for_each(|n| many.make_hard_link(b"000", &many, format!("{n:03}").as_bytes()));
    site.attempt("a hundred hard links", linked);
    links.make_symlink(b"symlink", b"a/one")?;
    site.attempt(
        "a hard link to a symbolic link",
        links.make_hard_link(b"symlink", &b, b"same-symlink"),
    );
    Ok(())
}

/// Makes `private` (0700) with a public folder inside, and `passage` (0711), whose content can be
/// reached by users who know its name.
fn private(top: &Folder) -> io::Result<()> {
    let private = top.make_folder(b"private")?;
    private.make_file(b"secret", b"secret")?;
    private
        .make_folder(b"public-inside")?
        .make_file(b"file", b"still private")?;
    top.set_mode(b"private", 0o700)?;
    let passage = top.make_folder(b"passage")?;
    passage
        .make_folder(b"known-name")?
        .make_file(b"file", b"for those who know")?;
    top.set_mode(b"passage", 0o711)
}
