//! The kernel's NFS server and client in an emulated machine.

/// The kernel's own NFS server, which for ten seconds lets nobody open files. What rpc.mountd(8) would
/// answer is written to the server's caches beforehand: every client may use the export, whose flags
/// are `insecure`, `async`, `no_subtree_check` and `fsid`; root stays root.
///
/// Source: <https://docs.kernel.org/filesystems/nfs/rpc-cache.html>
pub(crate) const SERVER: &str = "
ip link set lo up
mkdir -p /mnt/ext4/export
mount -t nfsd nfsd /proc/fs/nfsd
never=2147483647
echo \"nfsd 127.0.0.1 $never all\" > /proc/net/rpc/auth.unix.ip/channel
echo \"all /mnt/ext4/export $never $((0x2412)) 65534 65534 0\" > /proc/net/rpc/nfsd.export/channel
printf 'all 1 \\\\x00000000 %s /mnt/ext4/export\\n' $never > /proc/net/rpc/nfsd.fh/channel
echo '-3 +4 +4.1 +4.2' > /proc/fs/nfsd/versions
echo 10 > /proc/fs/nfsd/nfsv4gracetime
echo 'tcp 2049' > /proc/fs/nfsd/portlist
echo 2 > /proc/fs/nfsd/threads
";

/// Mounts the export.
pub(crate) const MOUNT: &str = "
mkdir -p /mnt/nfs4
mount -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ /mnt/nfs4
";
