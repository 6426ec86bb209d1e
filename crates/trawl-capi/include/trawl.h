/*
 * trawl.h: the search call of libtrawl.
 *
 * One question, a pattern and some directories, for what programs otherwise find out directory
 * by directory; the call of the paper "Search Should Be a System Call". <trawl/search.h> has the
 * paper's own names, search() included. What patterns and flags mean: trawl_opensearch(3).
 *
 *     TRAWL_SEARCH *search = trawl_opensearch("/usr/src:/usr/include", "*.h", 0);
 *     struct trawl_searchent *entry;
 *     while ((entry = trawl_readsearch(search)) != NULL)
 *         if (entry->err == 0)
 *             puts(entry->path);
 *     if (errno != 0)
 *         fprintf(stderr, "%s\n", trawl_strerror(search));
 *     trawl_closesearch(search);
 *
 * Threads: any function may be called from any thread, and as many searches be open at once as
 * one likes. One search is used by one thread at a time: another that calls a function on it
 * meanwhile gets EBUSY. trawl_search_cancel alone may be called at any time until the search is
 * closed, also by signal handlers. Searches start threads of their own, which may run the
 * program's signal handlers; block signals before opening and reading if those must run elsewhere,
 * or ask for TRAWL_INTR: then all threads of the search block all signals.
 *
 * fork(2): a search belongs to the process that opened it. In a child all functions on it fail
 * with EINVAL but trawl_closesearch, which leaves its memory and descriptors (closed by exec) to
 * the child's end. Children that share memory (vfork, CLONE_VM) must not touch it. A child may
 * open searches of its own.
 *
 * Memory: what functions return belongs to the search, or to the library, and is never to be
 * freed. A search holds what waits to be read, bounded by the largest directory.
 *
 * Errors: functions that return a pointer return NULL, others -1, and set errno. They leave errno
 * alone where they succeed; the end of a search is NULL with errno 0.
 */
#ifndef TRAWL_H
#define TRAWL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifndef __LP64__
#error "libtrawl is for 64-bit systems"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Works in C89, too. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define TRAWL_INLINE static inline
#else
#define TRAWL_INLINE static __inline__
#endif

/* Flags. What each means: trawl_opensearch(3). Numbers that are not here are EINVAL. */
#define TRAWL_STOPATFIRST (1 << 0) /* one match, of the earliest directory that has one */
#define TRAWL_METADATA (1 << 2)    /* what stat(2) says, links followed */
#define TRAWL_INCLUDEROOT (1 << 3) /* paths begin with the directory as it was given */
#define TRAWL_PERIOD (1 << 4)      /* only a period matches one that begins a name */
#define TRAWL_R_OK (1 << 5)        /* what may be read */
#define TRAWL_W_OK (1 << 6)        /* what may be written */
#define TRAWL_X_OK (1 << 7)        /* what may be executed, directories: passed */
#define TRAWL_NOFOLLOW (1 << 8)    /* with METADATA: as lstat(2) says it */
#define TRAWL_FOLLOW (1 << 9)      /* goes into directories that links lead to */
#define TRAWL_XDEV (1 << 10)       /* does not go into other file systems */
#define TRAWL_FNMATCH (1 << 11)    /* patterns as in fnmatch(3): ? is one byte, [...] of a set */
#define TRAWL_INTR (1 << 12)       /* a signal that is handled ends a wait: EINTR */
#define TRAWL_DEPTH16 (1 << 13)    /* the paper's bound: below 16 levels it ends with EOVERFLOW */

/* What failed: trawl_searchent.errsource. */
#define TRAWL_ERR_OPEN 1  /* a directory could not be opened */
#define TRAWL_ERR_READ 2  /* a directory could not be read to its end */
#define TRAWL_ERR_CLOSE 3 /* a directory could not be closed */
#define TRAWL_ERR_STAT 4  /* what stat(2) says could not be had, as of a link to nothing */
#define TRAWL_ERR_DEPTH 5 /* a directory is too deep, and was not gone into */
#define TRAWL_ERR_LOOP 6  /* a directory that the path leads through was not gone into again */

/* Who answers. */
#define TRAWL_AUTO 0   /* the index where a daemon says that it is as of now, else as LIVE */
#define TRAWL_LIVE 1   /* the file system */
#define TRAWL_INDEX 2  /* the index as it is, of daemons asked for before */
#define TRAWL_REMOTE 3 /* a server elsewhere */

/* A search under way. */
typedef struct trawl_search_handle TRAWL_SEARCH;

/*
 * A record: a match, or something that could not be done. Later versions may add members at the
 * end, so do not copy it by its size or make arrays of it.
 */
struct trawl_searchent {
    char *path;        /* NUL-ended; as TRAWL_INCLUDEROOT says, "." is the directory itself */
    struct stat *info; /* with TRAWL_METADATA of a match, else NULL */
    int errsource;     /* TRAWL_ERR_*, 0 for a match */
    int err;           /* an errno, 0 for a match */
    unsigned root;     /* which directory of the list, from 0 */
    unsigned reserved;
    size_t path_length; /* without the NUL */
};

/* What is asked besides. Zeros are the defaults; size is sizeof(struct trawl_search_options). */
struct trawl_search_options {
    size_t size;
    int served_by;       /* TRAWL_AUTO, TRAWL_LIVE or TRAWL_INDEX; TRAWL_REMOTE: see remote */
    unsigned max_depth;  /* levels below a directory; 0: 8192, at most 32768 */
    const char *index;   /* the index's directory; NULL: as the trawl command chooses it */
    const void *cookie;  /* where to go on from: trawl_search_cookie; NULL: the beginning */
    size_t cookie_bytes; /* its length */
    int wait_ms;         /* how long daemons are waited for; 0: 10 seconds, -1: not asked */
    int reserved;        /* 0 */
    const char *remote;  /* a server that answers, as trawl search --remote takes it, or NULL */
};

/*
 * Begins a search in directories that are separated by ':' (a '\' quotes one in a name, an empty
 * one is the working directory). NULL with errno: EINVAL for what makes no sense, EOPNOTSUPP if
 * the index that was asked for cannot answer, and what else there is; trawl_strerror(NULL) says it
 * in words. A directory that cannot be opened is a record.
 */
TRAWL_SEARCH *trawl_opensearch(const char *paths, const char *pattern, int flags);

/* The same with an array of directories, in which no character is special. Options may be NULL. */
TRAWL_SEARCH *trawl_opensearch_array(const char *const *paths, size_t count, const char *pattern,
                                     int flags, const struct trawl_search_options *options);

/*
 * The next record, which is there until the next call on this search. NULL at the end, with errno
 * 0, and where the search ended early, with another: ECANCELED after trawl_search_cancel. From
 * then on it says the same. With TRAWL_INTR a wait that a signal handler interrupts is NULL with
 * EINTR, whatever sigaction(2) says of restarting; the next call goes on.
 */
struct trawl_searchent *trawl_readsearch(TRAWL_SEARCH *search);

/* Ends and closes a search, at any place. 0, or -1 for NULL. */
int trawl_closesearch(TRAWL_SEARCH *search);

/*
 * Puts whole packed records into a buffer, as many as there is room for; how many bytes that is.
 * next_bytes (may be NULL) becomes 0 at the end, else what the next record needs at least. So 0
 * is returned at the end, and where the buffer has no room for the next record, which is not lost.
 * Where trawl_searchfd was called before, it waits for the first record alone.
 */
ssize_t trawl_fillsearch(TRAWL_SEARCH *search, void *buffer, size_t size, size_t *next_bytes);

/* Where a search in one call goes on, and where it ended. Begin with used 0. */
struct trawl_search_place {
    void *cookie;      /* memory for the cookie */
    size_t room;       /* how much; TRAWL_COOKIE_ROOM is enough but for very long paths */
    size_t used;       /* of it, the cookie: where the next call goes on */
    size_t needed;     /* room that this cookie needed */
    size_t next_bytes; /* as of trawl_fillsearch */
};
#define TRAWL_COOKIE_ROOM 8192

/*
 * A search in one call: opens, goes to the place, fills the buffer, says where it is, closes. Call
 * it again with the same arguments until place->next_bytes is 0. ERANGE, with nothing lost: the
 * cookie has no room (place->needed says how much), or place is NULL and the answer does not fit.
 */
ssize_t trawl_search(const char *paths, const char *pattern, int flags,
                     const struct trawl_search_options *options, void *buffer, size_t size,
                     struct trawl_search_place *place);

/*
 * Writes the cookie of the place behind the last record that was given, also after an error; how
 * long it is. ERANGE if there is no room for it; with size 0 only the length is returned. It holds
 * for the same directories, pattern, flags and depth, in any process, whoever answers.
 */
ssize_t trawl_search_cookie(TRAWL_SEARCH *search, void *buffer, size_t size);

/*
 * Ends a search soon, whoever waits for it, from any thread and from signal handlers
 * (async-signal-safe). errno is left alone but for a NULL.
 */
int trawl_search_cancel(TRAWL_SEARCH *search);

/*
 * A descriptor that poll(2) calls readable (POLLIN) while a record, the end or an error can be
 * read without waiting. It belongs to the search: neither read nor close it. Starts a thread.
 */
int trawl_searchfd(TRAWL_SEARCH *search);

/* Who gave the last record: TRAWL_LIVE, TRAWL_INDEX or TRAWL_REMOTE; 0 before the first one. */
int trawl_search_served_by(TRAWL_SEARCH *search);

/*
 * Why the last call on this search failed, until the next one; with NULL, what failed last in this
 * thread where there was no search to keep it, as in opening one. Never NULL.
 */
const char *trawl_strerror(TRAWL_SEARCH *search);

/* The version of the library. */
const char *trawl_version(void);

/*
 * Packed records. Numbers are little-endian; a record's length is a multiple of 8:
 *
 *     0  4  length of the record
 *     4  1  kind: 0 match, 1 match with attributes, 2 error
 *     5  1  what failed (TRAWL_ERR_*), else 0
 *     6  2  0
 *     8  4  errno, else 0
 *    12  4  the directory's place in the list
 *    16  4  length of the path
 *    20  4  0
 *    24     with attributes, 104 bytes: dev, ino, nlink, rdev, size, blocks (8 each), mode, uid,
 *           gid, blksize (4 each), seconds of atime, mtime, ctime (8 each), their nanoseconds
 *           (4 each), 4 zeros
 *           the path, then 1 to 8 NUL bytes
 *
 * The functions below read records that the library wrote, at any address:
 *
 *     for (const void *r = buffer; r != end; r = trawl_record_next(r)) ...
 *
 * Bytes that come from elsewhere have to pass trawl_record_check first, which says how long the
 * record at their beginning is, or EBADMSG.
 */
ssize_t trawl_record_check(const void *record, size_t size);

#define TRAWL_RECORD_HEAD 24
#define TRAWL_RECORD_ATTRIBUTES 104
#define TRAWL_RECORD_MIN 32

TRAWL_INLINE uint32_t trawl_record_u32(const void *record, size_t at) {
    const unsigned char *b = (const unsigned char *)record + at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

TRAWL_INLINE uint64_t trawl_record_u64(const void *record, size_t at) {
    return trawl_record_u32(record, at) | (uint64_t)trawl_record_u32(record, at + 4) << 32;
}

TRAWL_INLINE size_t trawl_record_length(const void *record) { return trawl_record_u32(record, 0); }

TRAWL_INLINE const void *trawl_record_next(const void *record) {
    return (const unsigned char *)record + trawl_record_length(record);
}

/* TRAWL_ERR_*, 0 for a match. */
TRAWL_INLINE int trawl_record_errsource(const void *record) {
    return ((const unsigned char *)record)[5];
}

/* An errno, 0 for a match. */
TRAWL_INLINE int trawl_record_err(const void *record) { return (int)trawl_record_u32(record, 8); }

TRAWL_INLINE unsigned trawl_record_root(const void *record) {
    return trawl_record_u32(record, 12);
}

TRAWL_INLINE size_t trawl_record_path_length(const void *record) {
    return trawl_record_u32(record, 16);
}

TRAWL_INLINE int trawl_record_has_attributes(const void *record) {
    return ((const unsigned char *)record)[4] == 1;
}

/* NUL-ended; in the record. */
TRAWL_INLINE const char *trawl_record_path(const void *record) {
    size_t at = TRAWL_RECORD_HEAD;
    if (trawl_record_has_attributes(record))
        at += TRAWL_RECORD_ATTRIBUTES;
    return (const char *)record + at;
}

/* What stat(2) says, into *info: 1, or 0 if the record has no attributes. */
TRAWL_INLINE int trawl_record_stat(const void *record, struct stat *info) {
    const size_t at = TRAWL_RECORD_HEAD;
    if (!trawl_record_has_attributes(record))
        return 0;
    memset(info, 0, sizeof *info);
    info->st_dev = (dev_t)trawl_record_u64(record, at);
    info->st_ino = (ino_t)trawl_record_u64(record, at + 8);
    info->st_nlink = (nlink_t)trawl_record_u64(record, at + 16);
    info->st_rdev = (dev_t)trawl_record_u64(record, at + 24);
    info->st_size = (off_t)trawl_record_u64(record, at + 32);
    info->st_blocks = (long)trawl_record_u64(record, at + 40);
    info->st_mode = (mode_t)trawl_record_u32(record, at + 48);
    info->st_uid = (uid_t)trawl_record_u32(record, at + 52);
    info->st_gid = (gid_t)trawl_record_u32(record, at + 56);
    info->st_blksize = (int)trawl_record_u32(record, at + 60);
    info->st_atime = (time_t)trawl_record_u64(record, at + 64);
    info->st_mtime = (time_t)trawl_record_u64(record, at + 72);
    info->st_ctime = (time_t)trawl_record_u64(record, at + 80);
#ifdef st_atime /* else the C library was asked for what ISO C has alone */
    info->st_atim.tv_nsec = (long)trawl_record_u32(record, at + 88);
    info->st_mtim.tv_nsec = (long)trawl_record_u32(record, at + 92);
    info->st_ctim.tv_nsec = (long)trawl_record_u32(record, at + 96);
#endif
    return 1;
}

#ifdef __cplusplus
}
#endif

#endif
