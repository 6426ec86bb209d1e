/* The call itself (section 3), in a buffer that is too small and in one that is not. */
#include "example.h"

static SEARCH *example(void) {
    static char buffer[1 << 16];
    const void *record;
    /* As the paper declares it. */
    int (*const paper)(const char *paths,
           const char *pattern,
           int flags,
           void *buffer,
           size_t len) = search;
    int used = paper("/foo:/bar", "/", INCLUDEROOT | METADATA, buffer, 40);
    if (used != -1 || errno != ERANGE)
        return NULL;
    errno = 0;
    used = paper("/foo:/bar", "/", INCLUDEROOT | METADATA, buffer, sizeof buffer);
    if (used < 0)
        return NULL;
    for (record = buffer; record != buffer + used; record = trawl_record_next(record)) {
        struct stat info = {0};
        if (!trawl_record_stat(record, &info))
            printf("none ");
        printf("%lu %ld %o %s\n", (unsigned long)info.st_ino, (long)info.st_size,
               (unsigned)info.st_mode & 07777, trawl_record_path(record));
    }
    return NULL;
}
