/* usage: residence evict|count FILE...
   evict: writes each file out and has the kernel forget its content, again until it has: it keeps
   pages that somebody is just reading or writing out. Gives up after some seconds, as in memory
   file systems.
   count: prints the number of files whose content is in the page cache (mincore(2)). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHOLE, PART };

/* Returns whether the whole content, or any part of it, is in the page cache. */
static int is_resident(int fd, size_t length, int what)
{
    unsigned char pages[256];
    void *at = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED || mincore(at, length, pages) != 0) {
        perror("mincore");
        exit(1);
    }
    int all = 1, some = 0;
    for (size_t page = 0; page < (length + 4095) / 4096; page++) {
        all &= pages[page] & 1;
        some |= pages[page] & 1;
    }
    munmap(at, length);
    return what == WHOLE ? all : some;
}

/* How often a content is to be forgotten, with pauses in between: some seconds. */
static int tries = 500;

static void evict(int fd, size_t length)
{
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    while (is_resident(fd, length, PART) && tries > 0) {
        tries--;
        usleep(10000);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    }
}

int main(int count, char **words)
{
    int resident = 0;
    for (int i = 2; i < count; i++) {
        struct stat of;
        int fd = open(words[i], O_RDONLY);
        if (fd < 0 || fstat(fd, &of) != 0 || of.st_size > 256 * 4096) {
            perror(words[i]);
            return 1;
        }
        if (strcmp(words[1], "evict") == 0) {
            evict(fd, of.st_size);
        } else {
            resident += is_resident(fd, of.st_size, WHOLE);
        }
        close(fd);
    }
    if (strcmp(words[1], "count") == 0) {
        printf("%d\n", resident);
    }
    return 0;
}
