/* Sets attributes of the file that is named, and checks what the header promises about errors. */

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trawl/attr.h>
#include <unistd.h>

static void check(int is_so, const char *what) {
    if (!is_so) {
        fprintf(stderr, "%s: errno %d, %s\n", what, errno, trawl_strerror(NULL));
        exit(1);
    }
}

static void fails(int result, int expected, const char *what) {
    check(result == -1 && errno == expected, what);
    check(trawl_strerror(NULL)[0] != '\0', what);
    errno = 0;
}

int main(int argc, char **argv) {
    struct trawl_attr_value list[2];
    int fd, reader, saved;
    if (argc != 2)
        return 2;
    fd = open(argv[1], O_WRONLY);
    reader = open(argv[1], O_RDONLY);
    check(fd >= 0 && reader >= 0, "open");
    errno = 4711;
    if (trawl_attr_set_text(fd, "artist", "Bach") != 0)
        return 77;
    check(errno == 4711, "errno stays");
    errno = 0;
    check(trawl_attr_set_integer(fd, "rating", INT64_MIN) == 0, "integer");
    check(trawl_attr_set_real(fd, "exposure", 0.01) == 0, "real");
    check(trawl_attr_set_time(fd, "taken", INT64_C(1767323045500000000)) == 0, "time");
    memset(list, 0, sizeof list);
    list[0].type = TRAWL_ATTR_TEXT;
    list[0].of.text = "red";
    list[1].type = TRAWL_ATTR_INTEGER;
    list[1].of.integer = 7;
    check(trawl_attr_set(fd, "tag", list, 2) == 0, "list");
    check(trawl_attr_set_text(fd, "gone", "x") == 0, "text");
    check(trawl_attr_remove(fd, "gone") == 0, "remove");
    fails(trawl_attr_remove(fd, "gone"), ENODATA, "removed twice");

    /* The kernel says the same about writing to it. */
    saved = (int)write(reader, "", 0);
    fails(saved, EBADF, "write");
    fails(trawl_attr_set_text(reader, "a", "b"), EBADF, "open for reading");
    fails(trawl_attr_remove(reader, "artist"), EBADF, "open for reading");
    fails(trawl_attr_set_text(-1, "a", "b"), EBADF, "no descriptor");
    close(reader);
    fails(trawl_attr_set_text(reader, "a", "b"), EBADF, "closed");
    fails(trawl_attr_set_text(fd, "A", "b"), EINVAL, "name");
    fails(trawl_attr_set_text(fd, NULL, "b"), EINVAL, "no name");
    fails(trawl_attr_set_text(fd, "a", NULL), EINVAL, "no text");
    fails(trawl_attr_set_text(fd, "a", "\xff"), EINVAL, "not UTF-8");
    fails(trawl_attr_set_real(fd, "a", (double)NAN), EINVAL, "not a number");
    fails(trawl_attr_set(fd, "a", NULL, 1), EINVAL, "no values");
    fails(trawl_attr_set(fd, "a", list, 0), EINVAL, "no values");
    fails(trawl_attr_set(fd, "a", list, (size_t)-1), EINVAL, "too many values");
    list[0].type = 5;
    fails(trawl_attr_set(fd, "a", list, 1), EINVAL, "type");
    list[0].type = TRAWL_ATTR_TEXT;
    list[0].reserved = 1;
    fails(trawl_attr_set(fd, "a", list, 1), EINVAL, "reserved");
    return 0;
}
