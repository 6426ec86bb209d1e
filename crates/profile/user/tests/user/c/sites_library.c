/* A library that calls read(2) from a function that no symbol table names once it is stripped. */
#include <unistd.h>

static char byte;

__attribute__((noinline)) static long hidden(int fd)
{
    return read(fd, &byte, 1) + 1;
}

long from_library(int fd)
{
    return hidden(fd) + 1;
}
