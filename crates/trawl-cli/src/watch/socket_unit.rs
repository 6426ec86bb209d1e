//! `trawl watch --socket-unit`: a unit with which systemd listens for the daemon and starts it when
//! somebody asks. The index records that systemd listens, because questions look there first.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use trawl_format::IndexDir;

use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::Output;
use crate::settings;
use crate::watch::WatchArgs;
use crate::watch::status::wanted;

/// Size of a path in a socket's address, in bytes, including the terminating NUL.
const PATH_BYTES: usize = 108;

/// Prints the unit.
pub(crate) fn run(index: Option<PathBuf>, args: &WatchArgs) -> Result<Exit, Failure> {
    let dir = settings::index_dir(index)?;
    let dir = dir.canonicalize().map_err(|source| Failure::File {
        action: "open",
        path: dir,
        source,
    })?;
    let index = IndexDir::open(&dir)?;
    let mut unit = String::from(
        "[Unit]\nDescription=Trawl: start the daemon when somebody asks\n\n[Socket]\n",
    );
    let mut mode = 0;
    for root in wanted(&args.paths) {
        let source = index.source(&root)?.ok_or_else(|| {
            let root = shown(&root);
            Failure::Usage(format!(
                "{root} is not indexed: run trawl index {root} first"
            ))
        })?;
        let (socket, permissions) = source.announce_manager(&index)?;
        unit.push_str(&format!("ListenStream={}\n", specified(&socket)?));
        mode = permissions.mode() & 0o777;
    }
    unit.push_str(&format!(
        "SocketMode={mode:04o}\nFileDescriptorName=trawld\nRemoveOnStop=yes\n\n\
         [Install]\nWantedBy=sockets.target\n"
    ));
    let mut output = Output::stdout();
    output.put(unit)?;
    output.finish()?;
    Ok(Exit::Complete)
}

/// Returns a path as unit files spell it.
fn specified(socket: &Path) -> Result<String, Failure> {
    let text = socket
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    match text {
        Some(text) if socket.as_os_str().as_bytes().len() < PATH_BYTES => {
            Ok(text.replace('%', "%%"))
        }
        _ => {
            let path = shown(socket.as_os_str().as_bytes());
            let text =
                format!("a unit cannot name the socket {path}: use an index with a shorter path");
            Err(Failure::Usage(text))
        }
    }
}
