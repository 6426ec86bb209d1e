/* usage: residence evict|count FILE...
   evict: writes each file out and has the kernel forget its content.
   count: prints the number of files whose content is in the page cache (mincore(2)). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_resident(int fd, size_t length)
{
    unsigned char pages[256];
    void *at = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED || mincore(at, length, pages) != 0) {
        perror("mincore");
        exit(1);
    }
    int is = 1;
    for (size_t page = 0; page < (length + 4095) / 4096; page++) {
        is &= pages[page];
    }
    munmap(at, length);
    return is & 1;
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
            fsync(fd);
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        } else {
            resident += is_resident(fd, of.st_size);
        }
        close(fd);
    }
    if (strcmp(words[1], "count") == 0) {
        printf("%d\n", resident);
    }
    return 0;
}
