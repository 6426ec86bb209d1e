"""The trees and programs of the search call's bench: those of the paper *Search Should Be a System Call* (2013).

All trees lie below one directory, so that a server can show it elsewhere. Programs write to another directory,
since a served tree is read-only.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

LEVELS = 11  # a complete binary tree of 2,047 directories
FLAT = 1024
FILES = 500
PLACES = 20  # directories of PATH, of the loader's path, and of headers
PARTS = 10  # source files of the project
#: Version of the layout: trees of another version are rebuilt.
LAYOUT = "2"

HEADERS = ("dirent.h", "pthread.h", "no/such.h")
FUNCTIONS = ("statx", "no_such_function")
#: Loops over one call and prints the nanoseconds per call.
CALLS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(int n, char **v) {
    if (n != 4) return 2;
    long count = atol(v[2]);
    struct stat found;
    struct timespec from, to;
    char byte;
    int fd = open(v[3], O_RDONLY);
    if (fd < 0) return 3;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long at = 0; at < count; at++) {
        if (!strcmp(v[1], "getpid")) syscall(SYS_getpid);
        else if (!strcmp(v[1], "read")) { if (pread(fd, &byte, 1, 0) != 1) return 4; }
        else if (!strcmp(v[1], "fstat")) { if (fstat(fd, &found)) return 4; }
        else if (!strcmp(v[1], "stat")) { if (stat(v[3], &found)) return 4; }
        else { int other = open(v[3], O_RDONLY); if (other < 0) return 4; close(other); }
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%.0f\n", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / count);
    return 0;
}
"""


@dataclass(frozen=True)
class Program:
    """An unmodified program and the question that it asks."""

    name: str
    argv: list[str]
    #: Arguments of `trawl search`; empty if the program asks several questions.
    question: list[str]
    #: Why it cannot run here; empty if it can.
    missing: str = ""


def binary_tree(top: Path, levels: int) -> None:
    """Makes a complete binary tree of directories."""
    top.mkdir(parents=True, exist_ok=True)
    if levels > 1:
        for name in ("a", "b"):
            binary_tree(top / name, levels - 1)


def make_trees(top: Path) -> None:
    """Makes all trees, once."""
    made = top / "made"
    if made.exists() and made.read_text() == LAYOUT:
        return
    shutil.rmtree(top, ignore_errors=True)
    for levels in range(1, LEVELS + 1):
        binary_tree(top / f"binary-{levels}", levels)
    for number in range(FLAT):
        (top / "flat" / f"d{number:04}").mkdir(parents=True)
    (top / "files").mkdir()
    for number in range(FILES):
        (top / "files" / f"file-{number:03}").write_bytes(b"x" * number)
    for number in range(PLACES):
        for kind in ("bin", "lib", "include"):
            (top / kind / f"{number:02}").mkdir(parents=True)
    programs_to_find(top)
    project(top / "project", Path(places(str(top), "include")[-1]))
    made.write_text(LAYOUT)


def compiler() -> str | None:
    """Returns the C compiler."""
    return shutil.which("cc") or shutil.which("gcc")


def programs_to_find(top: Path) -> None:
    """Makes a program in the last directory of PATH with a library in the last of the loader's directories,
    and a program that calls the kernel in a loop.
    """
    compile_with = compiler()
    if not compile_with:
        return
    (top / "lib.c").write_text("int answer(void) { return 0; }\n")
    (top / "prog.c").write_text("int answer(void);\nint main(void) { return answer(); }\n")
    (top / "calls.c").write_text(CALLS)
    library = Path(places(str(top), "lib")[-1]) / "libanswer.so"
    program = Path(places(str(top), "bin")[-1]) / "prog"
    for words in (
        ["-shared", "-fPIC", "-o", str(library), str(top / "lib.c")],
        ["-o", str(program), str(top / "prog.c"), f"-L{library.parent}", "-lanswer"],
        ["-O2", "-o", str(top / "calls"), str(top / "calls.c")],
    ):
        subprocess.run([compile_with, *words], check=True)


def project(top: Path, headers: Path) -> None:
    """Makes a C project with an autoconf configure script, whose headers are in the last of many directories."""
    top.mkdir()
    for number in range(PARTS):
        (headers / f"part{number}.h").write_text(f"int part{number}(void);\n")
        (top / f"part{number}.c").write_text(
            f'#include <stdio.h>\n#include "part{number}.h"\nint part{number}(void) {{ return {number}; }}\n'
        )
    sums = " + ".join(f"part{number}()" for number in range(PARTS))
    includes = "".join(f'#include "part{number}.h"\n' for number in range(PARTS))
    (top / "main.c").write_text(f"{includes}int main(void) {{ return {sums} != {sum(range(PARTS))}; }}\n")
    (top / "Makefile.in").write_text(
        "srcdir = @srcdir@\nCC = @CC@\nVPATH = @srcdir@\n"
        f"INCLUDES = {' '.join(f'-I$(srcdir)/../include/{number:02}' for number in range(PLACES))}\n"
        f"OBJECTS = main.o {' '.join(f'part{number}.o' for number in range(PARTS))}\n"
        "all: prog\nprog: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n\t./prog\n"
        ".c.o:\n\t$(CC) -O0 $(INCLUDES) -c -o $@ $<\n"
    )
    (top / "configure.ac").write_text(
        "AC_INIT([parts], [1])\nAC_CONFIG_SRCDIR([main.c])\nAC_PROG_CC\nAC_PROG_INSTALL\nAC_PATH_PROG([PROG], [prog])\n"
        f"AC_CHECK_HEADERS([{' '.join(HEADERS)}])\nAC_CHECK_FUNCS([{' '.join(FUNCTIONS)}])\n"
        "AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n"
    )
    for name in ("install-sh", "config.guess", "config.sub"):
        (top / name).write_text("#!/bin/sh\nexit 0\n")
        os.chmod(top / name, 0o755)
    if shutil.which("autoconf"):
        subprocess.run(["autoconf"], cwd=top, check=True, capture_output=True)


def places(top: str, kind: str) -> list[str]:
    """Returns the directories of a path."""
    return [f"{top}/{kind}/{number:02}" for number in range(PLACES)]


def programs(top: Path, build: Path) -> list[Program]:
    """Returns the paper's programs on the trees in one directory; they write to another one."""
    binary, bins, libs = f"{top}/binary-{LEVELS}", places(str(top), "bin"), places(str(top), "lib")
    path, library_path = ":".join(bins), ":".join(libs)
    found = f"{bins[-1]}/prog"
    # Each build starts from nothing.
    anew = f"rm -rf {shlex.quote(str(build))} && mkdir -p {shlex.quote(str(build))} && cd {shlex.quote(str(build))}"
    linked = f"PATH={shlex.quote(path)}:$PATH LD_LIBRARY_PATH={shlex.quote(libs[-1])}"
    configure = f"{anew} && {linked} {shlex.quote(str(top))}/project/configure -q"
    makefile = f"sed 's:@srcdir@:{top}/project:; s:@CC@:cc:' {shlex.quote(str(top))}/project/Makefile.in > Makefile"
    no_compiler = "" if compiler() else "there is no C compiler"
    no_autoconf = no_compiler or ("" if shutil.which("autoconf") else "autoconf is not installed")
    return [
        Program("bash glob */*/*/*", ["bash", "-c", f"cd {shlex.quote(binary)} && echo */*/*/*"],
                ["--period", "/*/*/*/*", binary]),
        Program(f"bash, {PLACES} directories of PATH", ["bash", "-c", f"PATH={path}; hash prog"],
                ["-f", "-x", "/prog", *bins], no_compiler),
        Program(f"ls -l of {FILES} files", ["ls", "-l", f"{top}/files"], ["-m", "-P", "/*", f"{top}/files"]),
        Program("ls -lR of 2,047 directories", ["ls", "-lR", binary], ["-m", "-P", "*|/.", binary]),
        Program("find -name in 2,047 directories", ["find", binary, "-name", "b"], ["-r", "b", binary]),
        Program(f"find of {FLAT:,} directories, flat", ["find", f"{top}/flat"], ["-r", "*|/.", f"{top}/flat"]),
        Program("execvp along PATH", ["env", f"PATH={path}", f"LD_LIBRARY_PATH={libs[-1]}", "prog"],
                ["-f", "-x", "/prog", *bins], no_compiler),
        Program(f"ld.so, {PLACES} directories", ["env", f"LD_LIBRARY_PATH={library_path}", found],
                ["-f", "--readable", "/libanswer.so", *libs], no_compiler),
        Program("configure, made by autoconf", ["sh", "-c", configure], [], no_autoconf),
        Program(f"make of {PARTS + 1} C files", ["sh", "-c", f"{anew} && {makefile} && {linked} make -s"], [],
                no_compiler or ("" if shutil.which("make") else "make is not installed")),
    ]
