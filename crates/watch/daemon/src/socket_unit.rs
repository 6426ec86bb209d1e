//! A unit with which systemd listens for the daemon and starts it when
//! somebody asks. The index records that systemd listens, because questions look there first.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trawl_format::IndexDir;

use crate::error::{DaemonError, Result};

/// Size of a path in a socket's address, in bytes, including the terminating NUL.
const PATH_BYTES: usize = 108;

/// Returns the text of a unit with which systemd listens for the daemon of these sources, given by
/// their roots, and records in the index that systemd listens. `dir` is the index's absolute path.
///
/// # Errors
/// If the index cannot be read or written, a tree is not indexed, or a unit cannot name a socket.
pub fn socket_unit(dir: &Path, roots: &[Vec<u8>]) -> Result<String> {
    let index = IndexDir::open(dir)?;
    let mut unit = String::from(
        "[Unit]\nDescription=Trawl: start the daemon when somebody asks\n\n[Socket]\n",
    );
    let mut mode = 0;
    for root in roots {
        let source = index.source(root)?;
        let source = source.ok_or_else(|| DaemonError::NotIndexed { root: root.clone() })?;
        let (socket, permissions) = source.announce_manager(&index)?;
        unit.push_str(&format!("ListenStream={}\n", specified(&socket)?));
        mode = permissions.mode() & 0o777;
    }
    unit.push_str(&format!(
        "SocketMode={mode:04o}\nFileDescriptorName=trawld\nRemoveOnStop=yes\n\n\
         [Install]\nWantedBy=sockets.target\n"
    ));
    Ok(unit)
}

/// Returns a path as unit files spell it.
fn specified(socket: &Path) -> Result<String> {
    let text = socket
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    match text {
        Some(text) if socket.as_os_str().as_bytes().len() < PATH_BYTES => {
            Ok(text.replace('%', "%%"))
        }
        _ => Err(DaemonError::Socket {
            socket: socket.as_os_str().as_bytes().to_vec(),
        }),
    }
}
