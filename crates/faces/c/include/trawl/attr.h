/*
 * trawl/attr.h: attributes that a program pushes to a file it holds open for writing, so that
 * searches find the file by them: the inline search hooks of the paper "Propeller: A Scalable
 * Metadata Organization for A Versatile Searchable File System". trawl_attr_set(3) has more.
 *
 *     int fd = open("song.flac", O_WRONLY);
 *     if (trawl_attr_set_text(fd, "artist", "Bach") != 0)
 *         fprintf(stderr, "%s\n", trawl_strerror(NULL));
 *
 *     $ trawl find . -attr artist=bach
 *
 * An attribute is the extended attribute user.trawl.NAME of the file. Searches that begin after a
 * call see what it did. Any function may be called from any thread.
 *
 * Errors: functions return -1 and set errno: EBADF if the descriptor is not open for writing,
 * EINVAL for an invalid name or value, ENOSPC, E2BIG or ERANGE if the file system has no room,
 * ENOTSUP if it has no such attributes, EACCES or EPERM if the process may not write the file (any
 * more), and other errors of fsetxattr(2). trawl_strerror(NULL) returns the reason as text.
 */
#ifndef TRAWL_ATTR_H
#define TRAWL_ATTR_H

#include <trawl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of values. */
#define TRAWL_ATTR_TEXT 1    /* UTF-8, at most 1024 bytes */
#define TRAWL_ATTR_INTEGER 2 /* 64 bits with a sign */
#define TRAWL_ATTR_REAL 3    /* a finite number */
#define TRAWL_ATTR_TIME 4    /* nanoseconds since 1970 */

/* A value. */
struct trawl_attr_value {
    int type;     /* TRAWL_ATTR_* */
    int reserved; /* 0 */
    union {
        const char *text; /* NUL-terminated */
        int64_t integer;
        double real;
        int64_t time_ns;
    } of;
};

/*
 * Sets an attribute of a file that is open for writing; an attribute of that name is replaced. One
 * value is a value, more are a list, of at most 256 values and 4096 bytes. A name is a letter a-z,
 * followed by a-z, 0-9, '_', '-' and '.', at most 64 bytes.
 */
int trawl_attr_set(int fd, const char *name, const struct trawl_attr_value *values, size_t count);

/* Removes an attribute of a file that is open for writing. Fails with ENODATA if there is none. */
int trawl_attr_remove(int fd, const char *name);

TRAWL_INLINE int trawl_attr_set_text(int fd, const char *name, const char *text) {
    struct trawl_attr_value value;
    memset(&value, 0, sizeof value);
    value.type = TRAWL_ATTR_TEXT;
    value.of.text = text;
    return trawl_attr_set(fd, name, &value, 1);
}

TRAWL_INLINE int trawl_attr_set_integer(int fd, const char *name, int64_t number) {
    struct trawl_attr_value value;
    memset(&value, 0, sizeof value);
    value.type = TRAWL_ATTR_INTEGER;
    value.of.integer = number;
    return trawl_attr_set(fd, name, &value, 1);
}

TRAWL_INLINE int trawl_attr_set_real(int fd, const char *name, double number) {
    struct trawl_attr_value value;
    memset(&value, 0, sizeof value);
    value.type = TRAWL_ATTR_REAL;
    value.of.real = number;
    return trawl_attr_set(fd, name, &value, 1);
}

TRAWL_INLINE int trawl_attr_set_time(int fd, const char *name, int64_t time_ns) {
    struct trawl_attr_value value;
    memset(&value, 0, sizeof value);
    value.type = TRAWL_ATTR_TIME;
    value.of.time_ns = time_ns;
    return trawl_attr_set(fd, name, &value, 1);
}

#ifdef __cplusplus
}
#endif

#endif
