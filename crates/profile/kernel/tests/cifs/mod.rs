//! Samba's server of SMB and the kernel's client (CIFS) in an emulated machine.

/// Program of the server, of Debian's package samba.
pub(crate) const PROGRAM: &str = "smbd";

/// Modules of the client, which asks for the ciphers by their names when it needs them.
pub(crate) const MODULES: [&str; 11] = [
    "sha512_generic",
    "cmac",
    "ccm",
    "ctr",
    "seqiv",
    "ghash-generic",
    "gcm",
    "ecb",
    "md4",
    "nls_utf8",
    "cifs",
];

/// Configuration of the machine and the server: everybody may do everything.
pub(crate) const FILES: [(&str, &str); 3] = [
    (
        "/etc/passwd",
        "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    ),
    ("/etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    (
        "/etc/samba/smb.conf",
        "
[global]
    server role = standalone server
    server min protocol = SMB3_11
    map to guest = Bad User
    guest account = root
    smb ports = 445
    interfaces = lo
    bind interfaces only = yes
    disable spoolss = yes
    load printers = no
    rpc start on demand helpers = no

[share]
    path = /mnt/ext4/share
    guest ok = yes
    read only = no
    store dos attributes = no
",
    ),
];

/// Serves a directory and mounts it. Symbolic links are files to the server. The client closes files at
/// once: while it kept handles for later (`closetimeo`), opening a file again failed with `EINVAL` on a
/// slow machine.
pub(crate) const MOUNT: &str = "
mkdir -p /mnt/ext4/share /mnt/cifs /var/lib/samba/private /var/cache/samba /var/log/samba /run/samba
smbd -D
options=ip=127.0.0.1,username=guest,password=,vers=3.1.1,mfsymlinks,closetimeo=0
for attempt in $(seq 120); do
    mount -t cifs -o $options //127.0.0.1/share /mnt/cifs && break
    sleep 1
done
grep -q '^//127.0.0.1/share' /proc/mounts
";
