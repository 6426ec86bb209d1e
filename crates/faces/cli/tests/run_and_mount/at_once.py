"""Looks at what other programs of the run change, at once.

    at_once.py TREE CASE [WORD...]

A table of TREE is believed for minutes here: whatever is seen is seen for what was done, not for
the time that it took.
"""

import os
import resource
import subprocess
import sys
import time

TREE, CASE, WORDS = sys.argv[1], sys.argv[2], sys.argv[3:]
HERE = TREE + "/here"
NEW = HERE + "/new"
LEAST = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1024) - 64
UNTIL = time.monotonic() + 120


def has_table():
    """Whether a table answers now: then a directory is opened with a number of the last."""
    fd = os.open(HERE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.close(fd)
    return fd >= LEAST


def warm():
    """Waits until a table says that nothing is there."""
    while True:
        looks()
        if has_table():
            return
        if time.monotonic() > UNTIL:
            sys.exit("no table answers")
        time.sleep(0.03)


def looks():
    """How a file can be seen."""
    try:
        with open(NEW, "rb") as file:
            size = len(file.read())
    except FileNotFoundError:
        size = None
    return os.path.exists(NEW), "new" in os.listdir(HERE), os.access(NEW, os.F_OK), size


def expect(what, wanted):
    if what != wanted:
        sys.exit(f"{CASE} {WORDS}: {what}, not {wanted}")


def line(child):
    expect(child.stdout.readline(), b"done\n")


def shell(words, script):
    """A shell, started by other words, that does the next thing when it is told to."""
    script = f"echo done; read line; {script}; echo done; read line; rm $1; echo done; read line"
    command = [*words, "/bin/sh", "-c", script, "sh", NEW]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(command, bufsize=0, **pipes)


def go_on(child):
    """Lets a shell do the next thing."""
    child.stdin.write(b"\n")
    line(child)


def foreign():
    """A child that does not tell of its changes, or does if WORDS let it."""
    warm()
    expect(looks(), (False, False, False, None))
    child = shell(WORDS, ": > $1")
    line(child)
    # Its start may count as a change: tables are asked for again after it.
    time.sleep(0.05)
    for _ in range(3):
        expect(looks(), (False, False, False, None))
    go_on(child)
    for _ in range(3):
        expect(looks(), (True, True, True, 0))
    go_on(child)
    expect(looks(), (False, False, False, None))
    child.stdin.write(b"\n")
    expect(child.wait(), 0)
    # It is forgotten with its end.
    warm()


def with_library():
    """A child that tells of its changes: tables are believed while it lives."""
    child = shell([], ": > $1")
    line(child)
    go_on(child)
    warm()
    # There is no change while another is started and lives.
    other = shell([], ":")
    line(other)
    expect(has_table(), True)
    expect(looks(), (True, True, True, 0))
    for of in (child, other):
        of.kill()
        expect(of.wait(), -9)


def between():
    """A program without the library that becomes one with it, in one process."""
    warm()
    names = [name for name in os.environ if name.startswith(("LD_", "TRAWL_"))]
    again = " ".join(f"{name}='{os.environ[name]}'" for name in names)
    script = f": > {NEW}; exec env {again} /bin/sh -c 'echo done; read line'"
    command = ["env", "-i", "/bin/sh", "-c", script]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    line(child)
    expect(looks(), (True, True, True, 0))
    warm()
    child.kill()
    child.wait()


def left():
    """A program without the library that nobody waits for."""
    script = "env -i /bin/sleep 0.2 > /dev/null 2>&1 &"
    subprocess.run(["/bin/sh", "-c", script], check=True)
    warm()


def by_shell():
    """popen(3) in an environment without the library."""
    warm()
    library = os.environ.pop("LD_PRELOAD")
    os.unsetenv("LD_PRELOAD")
    import ctypes

    libc = ctypes.CDLL(None)
    libc.popen.restype = ctypes.c_void_p
    libc.fgets.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
    libc.pclose.argtypes = [ctypes.c_void_p]
    room = ctypes.create_string_buffer(100)
    script = f": > {NEW}; echo done; exec sleep 100 < /dev/null > /dev/null 2>&1 & echo $!"
    stream = libc.popen(script.encode(), b"r")
    said = []
    while len(said) < 2:
        libc.fgets(room, 100, stream)
        said.append(room.value)
    child = next(int(word) for word in said if word != b"done\n")
    expect(looks(), (True, True, True, 0))
    os.kill(child, 9)
    libc.pclose(stream)
    os.environ["LD_PRELOAD"] = library
    warm()


def spawned():
    """A file that is made for a child, and that the child writes to."""
    warm()
    reader, writer = os.pipe()
    back, go = os.pipe()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [(os.POSIX_SPAWN_OPEN, 1, NEW, flags, 0o600), (os.POSIX_SPAWN_DUP2, writer, 8),
               (os.POSIX_SPAWN_DUP2, back, 9)]
    script = "read line <&9; echo text; echo done >&8; read line <&9"
    child = os.posix_spawn("/bin/sh", ["sh", "-c", script], os.environ, file_actions=actions)
    expect(looks(), (True, True, True, 0))
    warm()
    os.write(go, b"\n")
    expect(os.read(reader, 100), b"done\n")
    expect(os.stat(NEW).st_size, 5)
    expect(has_table(), True)
    os.write(go, b"\n")
    os.waitpid(child, 0)


def reads():
    """Reading moves the time of access: of this program, of a file that it opened long before, and
    of another program that lives on. Times are those of the kernel at once."""
    def plant(number):
        path = f"{HERE}/file {number}"
        # Read before it was written: the next read moves the time, also with relatime.
        os.utime(path, (1_000_000_000, 1_100_000_000))
        return path, os.open(path, os.O_PATH)

    def is_read(planted):
        """Whether the time of access is the kernel's, which has moved."""
        path, of = planted
        now = os.fstat(of).st_atime_ns
        expect(os.stat(path).st_atime_ns, now)
        expect(os.stat(path, follow_symlinks=False).st_atime_ns, now)
        return now > 1_050_000_000_000_000_000

    # From the first table on, what is opened is marked.
    warm()
    own, held, stream, others = [plant(name) for name in range(4)]
    opened = os.open(held[0], os.O_RDONLY)
    child = subprocess.Popen(
        ["sh", "-c", 'echo done; read line; read word < "$1"; echo done; read line', "sh", others[0]],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    line(child)
    warm()
    for planted in (own, held, stream, others):
        expect(is_read(planted), False)
    fd = os.open(own[0], os.O_RDONLY)
    os.read(fd, 10)
    if os.fstat(own[1]).st_atime_ns < 1_050_000_000_000_000_000:
        sys.exit("seen\nskipped, because reading moves no time of access on this file system")
    expect(is_read(own), True)
    os.read(opened, 10)
    expect(is_read(held), True)
    go_on(child)
    expect(is_read(others), True)
    import ctypes

    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    libc.fgetc.argtypes = [ctypes.c_void_p]
    expect(libc.fgetc(libc.fopen(stream[0].encode(), b"r")), ord("t"))
    expect(is_read(stream), True)
    # None of that was a change.
    expect(has_table(), True)
    child.kill()
    child.wait()


globals()[CASE]()
print("seen")
