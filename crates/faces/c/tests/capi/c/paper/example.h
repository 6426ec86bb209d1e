/*
 * Runs an example of the paper, word for word, in a root directory made for it: EXAMPLE ROOT.
 *
 * Prints each match, preceded by inode number, size and permissions if it has attributes. Errors go
 * to standard error and make the exit code 1.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdio.h>
#include <trawl/search.h>
#include <unistd.h>

/* Returns the search that the example opens, or NULL if it reads and prints the records itself. */
static SEARCH *example(void);

int main(int argc, char **argv) {
    SEARCH *s;
    struct searchent *e;
    int failed = 0;
    if (argc != 2 || chroot(argv[1]) != 0 || chdir("/work") != 0) {
        perror("the example's root");
        return 2;
    }
    errno = 0;
    s = example();
    if (s == NULL)
        return errno != 0;
    while ((e = readsearch(s)) != NULL) {
        if (e->err != 0) {
            fprintf(stderr, "%d %d %s\n", e->errsource, e->err, e->path);
            failed = 1;
            continue;
        }
        if (e->info != NULL)
            printf("%lu %ld %o ", (unsigned long)e->info->st_ino, (long)e->info->st_size,
                   (unsigned)e->info->st_mode & 07777);
        printf("%s\n", e->path);
    }
    failed |= errno != 0;
    return closesearch(s) != 0 || failed;
}
