/* Calls read(2) from three places, as often as its arguments say: from two functions of the program,
 * one of which may make its call as its last instruction, and from a library. Says where it lies. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

long from_library(int fd);

static char byte;

__attribute__((noinline)) long first(int fd)
{
    return read(fd, &byte, 1) + 1;
}

__attribute__((noinline)) long second(int fd)
{
    return read(fd, &byte, 0);
}

int main(int count, char **arguments)
{
    int fd = open("/dev/zero", O_RDONLY);
    long (*const all[])(int) = {first, second, from_library};
    for (int i = 0; i < 3 && i + 1 < count; i++)
        for (long times = atol(arguments[i + 1]); times > 0; times--)
            if (all[i](fd) < 0)
                return 3;
    printf("%p\n", (void *)main);
    return 0;
}
