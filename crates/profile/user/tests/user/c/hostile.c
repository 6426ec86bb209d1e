/* Overwrites the memory shared with the profiler: with a pattern, or with pseudo-random bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int fd = open(getenv("TRAWL_PROFILE"), O_RDWR);
    struct stat status;
    if (count < 2 || fstat(fd, &status) != 0)
        return 2;
    /* Readers would get SIGBUS. */
    if (ftruncate(fd, 0) == 0)
        return 3;
    uint64_t *words = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t state = 88172645463325252ULL;
    for (off_t i = 0; i < status.st_size / 8; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if (strcmp(arguments[1], "ones") == 0)
            words[i] = ~0ULL;
        else if (strcmp(arguments[1], "small") == 0)
            words[i] = state % 4;
        else
            words[i] = state;
    }
    _exit(0);
}
