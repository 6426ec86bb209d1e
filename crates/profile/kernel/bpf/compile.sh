#!/bin/sh
# Compiles `NAME.c`: `sh compile.sh NAME OUTPUT`, in this directory, with the compiler of `compiler`.
# The result is committed beside the source, so that a build needs no clang.
set -eu
cd "$(dirname "$0")"
name=$1 output=$2
clang -O2 -g -target bpfel -mcpu=v3 -Wall -Wextra -Werror \
    -Wno-unused-parameter -Wno-unused-const-variable \
    "-fdebug-prefix-map=$PWD=." -c "$name.c" -o "$output"
# Line numbers and DWARF go; type information (BTF) stays.
llvm-strip -g "$output"
