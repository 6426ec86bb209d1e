//! Every file type, sizes around the limits at which tools round, and links of every sort.

use std::io::{self, Seek, SeekFrom, Write};

use super::Site;
use crate::folder::{Device, Folder};

/// Sizes at which something rounds: blocks of 512 and 1,024 bytes, pages, MiB.
const SIZES_BYTES: &[u64] = &[
    0, 1, 511, 512, 513, 1_023, 1_024, 1_025, 4_095, 4_096, 4_097, 65_537,
];
/// Sizes of files without content: MiB, GiB, beyond 32 bits.
const SPARSE_SIZES_BYTES: &[u64] = &[
    (1 << 20) - 1,
    1 << 20,
    (1 << 20) + 1,
    (1 << 30) - 1,
    1 << 30,
    (1 << 30) + 1,
    (1 << 32) + 1,
];

pub(super) fn build(site: &mut Site<'_>, top: &Folder) -> io::Result<()> {
    let kinds = top.make_folder(b"kinds")?;
    kinds.make_file(b"regular", b"content\n")?;
    kinds.make_folder(b"empty-folder")?;
    let odd = kinds.make_folder(b"special")?;
    site.attempt("a FIFO", odd.make_fifo(b"fifo"));
    site.attempt("a socket", odd.make_socket(b"socket"));
    if site.needs_root("device files") {
        site.attempt(
            "a character device",
            odd.make_device(b"null", Device::Character(1, 3)),
        );
        site.attempt(
            "a block device",
            odd.make_device(b"loop", Device::Block(7, 99)),
        );
        site.attempt(
            "a large device number",
            odd.make_device(b"large", Device::Character(4_000, 1_000_000)),
        );
    }
    sizes(site, &top.make_folder(b"sizes")?)?;
    symlinks(site, &top.make_folder(b"symlinks")?)
}

fn sizes(site: &mut Site<'_>, sizes: &Folder) -> io::Result<()> {
    for &size_bytes in SIZES_BYTES {
        let content = vec![b'.'; usize::try_from(size_bytes).expect("small")];
        sizes.make_file(format!("{size_bytes}").as_bytes(), &content)?;
    }
    for &size_bytes in SPARSE_SIZES_BYTES {
        let name = format!("sparse-{size_bytes}");
        site.attempt(&name, sizes.make_sparse_file(name.as_bytes(), size_bytes));
    }
    // One block far inside: few blocks, a large size, and data at neither end.
    let island = sizes.create(b"island").and_then(|mut file| {
        file.seek(SeekFrom::Start(100 << 20))?;
        file.write_all(b"land")?;
        file.set_len(200 << 20)
    });
    site.attempt("a file with one block inside", island);
    Ok(())
}

fn symlinks(site: &mut Site<'_>, links: &Folder) -> io::Result<()> {
    links.make_file(b"target", b"0123456789")?;
    links.make_folder(b"folder")?.make_file(b"inside", b"")?;
    let absolute = site.root.join("symlinks/target").into_os_string();
    let targets: &[(&[u8], &[u8])] = &[
        (b"ok", b"target"),
        (b"to-folder", b"folder"),
        (b"to-folder-slash", b"folder/"),
        (b"dotted", b"./folder/../target"),
        (b"second", b"ok"),
        (b"broken", b"no such file"),
        (b"self", b"self"),
        (b"loop-a", b"loop-b"),
        (b"loop-b", b"loop-a"),
        (b"up", b".."),
        (b"root", b"/"),
        (b"absolute", absolute.as_encoded_bytes()),
        (b"newline", b"tar\nget"),
        (b"not-utf8", b"\xff\xfe"),
        (b"escape", b"\x1b[2J"),
        (b"through-file", b"target/x"),
    ];
    for (name, target) in targets {
        links.make_symlink(name, target)?;
    }
    // The longest possible target; some file systems have a lower limit.
    for length in [255, 1_023, 4_095] {
        let target: Vec<u8> = b"0123456789/"
            .iter()
            .copied()
            .cycle()
            .take(length)
            .collect();
        let name = format!("target-of-{length}");
        site.attempt(&name, links.make_symlink(name.as_bytes(), &target));
    }
    Ok(())
}
