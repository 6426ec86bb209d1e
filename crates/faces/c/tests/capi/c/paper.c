/*
 * Written from the paper's text: searches directories for a pattern, with the paper's names.
 *
 * paper PATHS PATTERN FLAGS: prints paths to standard output, each followed by a NUL byte, and
 * errors to standard error. With SEARCH_METADATA, inode number, size and permissions precede each
 * path.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trawl/searchcall.h>
#include <unistd.h>

/* Either name may be used: the paper means the flags of access(2). */
_Static_assert(SEARCH_R_OK == R_OK && SEARCH_W_OK == W_OK && SEARCH_X_OK == X_OK, "flags");
/* Constants and member order of the first implementation. */
_Static_assert(SEARCH_ERR_OPEN == 1 && SEARCH_ERR_READ == 2, "errors");
_Static_assert(SEARCH_ERR_CLOSE == 3 && SEARCH_ERR_STAT == 4, "errors");
_Static_assert(offsetof(struct searchent, path) == 0, "order");
_Static_assert(offsetof(struct searchent, info) == sizeof(char *), "order");
_Static_assert(offsetof(struct searchent, errsource) == 2 * sizeof(char *), "order");
_Static_assert(offsetof(struct searchent, err) == 2 * sizeof(char *) + sizeof(int), "order");

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    SEARCH *search = opensearch(argv[1], argv[2], atoi(argv[3]));
    if (search == NULL) {
        perror("opensearch");
        return 2;
    }
    struct searchent *entry;
    errno = 0;
    while ((entry = readsearch(search)) != NULL) {
        if (entry->err != 0) {
            fprintf(stderr, "%d %d %u %s\n", entry->errsource, entry->err, entry->root, entry->path);
            continue;
        }
        if (entry->info != NULL)
            printf("%lu %ld %o ", entry->info->st_ino, entry->info->st_size,
                   entry->info->st_mode & 07777);
        fwrite(entry->path, 1, strlen(entry->path) + 1, stdout);
    }
    if (errno != 0) {
        perror("readsearch");
        return 2;
    }
    return closesearch(search) == 0 ? 0 : 2;
}
