//! Outputs that are closed, full or no longer read, inputs that are closed, a
//! signal that is ignored, a working directory that is gone, and what is
//! mounted on a name.

pub(crate) static TRAPS: &[&str] = &[
    // A full output; what has an effect goes on.
    r"$FIND a -print -delete > /dev/full; ls -R a",
    r"$FIND a -type f -print -exec rm {} ';' > /dev/full; ls -R a; : -delete",
    r"$FIND a -type f -exec rm {} ';' -print > /dev/full; ls -R a; : -delete",
    r"$FIND a -type f -printf '%p\n' -exec sh -c 'echo {} >&2' ';' > /dev/full",
    r"$FIND a -type f -print0 -exec sh -c 'echo $# >&2' sh {} + > /dev/full",
    r"$FIND a -fprint /dev/full -delete; ls",
    r"$FIND a -fprint /dev/full -print",
    r"$FIND a -fprintf /dev/full x -print",
    r"$FIND a -fprint0 /dev/full -quit",
    r"$FIND a -fls /dev/full -name one -print",
    r"$FIND a -name one -ls > /dev/full",
    r"$FIND a -name one -printf 'x\n' > /dev/full",
    r"$FIND a -name one -printf '' > /dev/full",
    r"$FIND a -exec echo {} ';' > /dev/full",
    r"$FIND --help > /dev/full",
    r"$FIND -help > /dev/full",
    r"$FIND --version > /dev/full",
    r"$FIND --help >&-",
    r"$FIND -version >&-",
    r"$FIND a -nonsense > /dev/full",
    r"$FIND a -name one -ls >&-",
    r"$FIND a -fprint /dev/stdout >&-",
    r"$FIND a -name one -exec echo {} ';' >&- 2> /dev/null",
    r"$FIND a -print -quit >&-",
    r"$FIND a -print > /dev/full 2>&1",
    // A pipe that nobody reads, with its signal ignored, as service managers
    // start programs; commands inherit that.
    r"trap '' PIPE; mkfifo $OUT/p$$; exec 8<> $OUT/p$$ 9> $OUT/p$$ 8<&-; rm $OUT/p$$; $FIND a >&9; echo $?",
    r"trap '' PIPE; mkfifo $OUT/p$$; exec 8<> $OUT/p$$ 9> $OUT/p$$ 8<&-; rm $OUT/p$$; $FIND a -type f -printf x -delete >&9; ls -R a",
    r"trap '' PIPE; mkfifo $OUT/p$$; exec 8<> $OUT/p$$ 9> $OUT/p$$ 8<&-; rm $OUT/p$$; $FIND --help >&9; echo $?",
    r"mkfifo $OUT/p$$; exec 8<> $OUT/p$$ 9> $OUT/p$$ 8<&-; rm $OUT/p$$; $FIND a >&9; echo $?",
    r"trap '' PIPE; $FIND a/one -exec grep SigIgn /proc/self/status ';'",
    r"trap '' PIPE; $FIND a/one -execdir grep SigIgn /proc/self/status ';'",
    r"trap '' PIPE; $FIND a/one -exec grep SigIgn /proc/self/status {} +",
    r"echo y | (trap '' PIPE; $FIND a/one -ok grep SigIgn /proc/self/status ';')",
    r"trap '' INT QUIT HUP TERM USR1; $FIND a/one -exec grep SigIgn /proc/self/status ';'",
    r"$FIND a/one -exec grep SigIgn /proc/self/status ';'",
    r"$FIND a/one -exec grep SigBlk /proc/self/status ';'",
    // Input.
    r"$FIND -files0-from - <&-",
    r"$FIND -files0-from - -print <&-",
    r"$FIND -files0-from - < a",
    r"$FIND -files0-from a",
    r"$FIND -files0-from - < /dev/null",
    r"$FIND a/one -exec cat ';' <&-",
    r"$FIND a/one -ok echo {} ';' <&-",
    r"$FIND a -name one <&- >&- 2>&-; echo $?",
    // A working directory that is gone.
    r"mkdir full/gone; cd full/gone; rmdir ../gone; $FIND; echo $?; $FIND .; echo $?; : -delete",
    r"mkdir full/gone; cd full/gone; rmdir ../gone; $FIND x; echo $?; $FIND . -printf '%p %y %n\n'; : -delete",
    r"there=$PWD; mkdir full/gone; cd full/gone; rmdir ../gone; $FIND $there/a -name one -printf '%f\n'; : -delete",
    r"mkdir full/gone; cd full/gone; rmdir ../gone; $FIND . -exec echo {} ';'; $FIND . -execdir echo {} ';'; : -delete",
    r"mkdir full/gone; cd full/gone; rmdir ../gone; $FIND . -delete; $FIND ..; : -delete",
    // What is mounted on a name.
    r"[ $(id -u) = 0 ] || exit 0; unshare -m sh -c 'mount --bind a a/b/c; $FIND a -name c; umount a/b/c'",
    r"[ $(id -u) = 0 ] || exit 0; unshare -m sh -c 'mount --bind pipe s1; $FIND . -maxdepth 1 -xtype p; $FIND . -maxdepth 1 -name s1 -xtype f; umount s1'",
];
