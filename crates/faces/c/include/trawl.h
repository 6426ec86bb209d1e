/*
 * trawl.h: the search call of libtrawl.
 *
 * One call with a pattern and a list of directories replaces the system calls by which programs
 * otherwise open and list directory after directory. It is the call of the paper "Search Should
 * Be a System Call". <trawl/search.h> provides the paper's own names, including search().
 * trawl_opensearch(3) explains patterns and flags.
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
 * Threads: any function may be called from any thread, and any number of searches may be open at
 * the same time. One search may be used by one thread at a time; a second thread that calls a
 * function on it meanwhile gets EBUSY. Only trawl_search_cancel may be called at any time until the
 * search is closed, also from signal handlers. Searches start threads of their own, which may run
 * the program's signal handlers. If those must run elsewhere, block signals before you open and
 * read a search, or use TRAWL_INTR: then all threads of the search block all signals.
 *
 * fork(2): a search belongs to the process that opened it. In a child, all functions on it fail
 * with EINVAL, except trawl_closesearch, which leaves the search's memory and descriptors (closed
 * by exec) allocated until the child ends. Children that share memory (vfork, CLONE_VM) must not
 * touch the search. A child may open searches of its own.
 *
 * Memory: returned pointers belong to the search or to the library; the caller never frees them. A
 * search buffers records that wait to be read; the largest directory bounds its memory.
 *
 * Errors: functions that return a pointer return NULL, others -1, and set errno. On success they
 * leave errno unchanged; the end of a search is NULL with errno 0.
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

/* Flags; trawl_opensearch(3) explains them. Unknown bits fail with EINVAL. */
#define TRAWL_STOPATFIRST (1 << 0) /* the first match, of the earliest directory that has one */
#define TRAWL_METADATA (1 << 2)    /* attributes as of stat(2), links followed */
#define TRAWL_INCLUDEROOT (1 << 3) /* paths begin with the directory as it was given */
#define TRAWL_PERIOD (1 << 4)      /* a leading period is only matched by a period */
#define TRAWL_R_OK (1 << 5)        /* only entries that may be read */
#define TRAWL_W_OK (1 << 6)        /* only entries that may be written */
#define TRAWL_X_OK (1 << 7)        /* only files that may be executed, directories searched */
#define TRAWL_NOFOLLOW (1 << 8)    /* with METADATA: attributes as of lstat(2) */
#define TRAWL_FOLLOW (1 << 9)      /* enters directories through symbolic links */
#define TRAWL_XDEV (1 << 10)       /* does not enter other file systems */
#define TRAWL_FNMATCH (1 << 11)    /* patterns as in fnmatch(3): ? is one byte, [...] of a set */
#define TRAWL_INTR (1 << 12)       /* a handled signal ends a wait with EINTR */
#define TRAWL_DEPTH16 (1 << 13)    /* the paper's bound: EOVERFLOW below 16 levels */

/* The operation that failed: trawl_searchent.errsource. */
#define TRAWL_ERR_OPEN 1  /* a directory could not be opened */
#define TRAWL_ERR_READ 2  /* a directory could not be read to its end */
#define TRAWL_ERR_CLOSE 3 /* a directory could not be closed */
#define TRAWL_ERR_STAT 4  /* stat(2) failed, for example for a link that leads nowhere */
#define TRAWL_ERR_DEPTH 5 /* a directory is too deep, and was not entered */
#define TRAWL_ERR_LOOP 6  /* a directory that the path passes through was not entered again */

/* Who answers a search. */
#define TRAWL_AUTO 0   /* the index where a daemon says that it is as of now, else as LIVE */
#define TRAWL_LIVE 1   /* the file system */
#define TRAWL_INDEX 2  /* the index as it is, after daemons were asked to update it */
#define TRAWL_REMOTE 3 /* a server on another machine */

/* A running search. */
typedef struct trawl_search_handle TRAWL_SEARCH;

/*
 * A record: a match or an error. Later versions may add members at the end, so do not copy records
 * by size or make arrays of them.
 */
struct trawl_searchent {
    char *path;        /* NUL-terminated; form: see TRAWL_INCLUDEROOT; "." is the directory */
    struct stat *info; /* of a match with TRAWL_METADATA, else NULL */
    int errsource;     /* TRAWL_ERR_*, 0 for a match */
    int err;           /* an errno, 0 for a match */
    unsigned root;     /* index of the directory in the list, from 0 */
    unsigned reserved;
    size_t path_length; /* without the NUL */
};

/* Options of a search. Zeros are the defaults; size is sizeof(struct trawl_search_options). */
struct trawl_search_options {
    size_t size;
    int served_by;       /* TRAWL_AUTO, TRAWL_LIVE or TRAWL_INDEX; TRAWL_REMOTE: see remote */
    unsigned max_depth;  /* levels below a directory; 0: 8192, at most 32768 */
    const char *index;   /* directory of the index; NULL: as the trawl command chooses it */
    const void *cookie;  /* position to resume at: trawl_search_cookie; NULL: the beginning */
    size_t cookie_bytes; /* length of the cookie */
    int wait_ms;         /* how long to wait for daemons; 0: 10 seconds, -1: do not ask them */
    int reserved;        /* 0 */
    const char *remote;  /* server to ask, in the form of trawl search --remote, or NULL */
};

/*
 * Opens a search of directories that are separated by ':' (a '\' quotes a ':' in a name, an empty
 * element is the working directory). Returns NULL and sets errno on failure: EINVAL for invalid
 * arguments, EOPNOTSUPP if the requested index cannot answer, and others; trawl_strerror(NULL)
 * returns the reason as text. A directory that cannot be opened is a record, not a failure.
 */
TRAWL_SEARCH *trawl_opensearch(const char *paths, const char *pattern, int flags);

/*
 * As trawl_opensearch, with an array of directories, in which no character is special, and options,
 * which may be NULL.
 */
TRAWL_SEARCH *trawl_opensearch_array(const char *const *paths, size_t count, const char *pattern,
                                     int flags, const struct trawl_search_options *options);

/*
 * Returns the next record, which is valid until the next call on this search. Returns NULL with
 * errno 0 at the end, and NULL with another errno where the search ended early (ECANCELED after
 * trawl_search_cancel); further calls return the same. With TRAWL_INTR, a wait that a handler
 * interrupts returns NULL with EINTR, even if sigaction(2) set SA_RESTART; the next call resumes.
 */
struct trawl_searchent *trawl_readsearch(TRAWL_SEARCH *search);

/* Ends and closes a search, at any point. Returns 0, or -1 for NULL. */
int trawl_closesearch(TRAWL_SEARCH *search);

/*
 * Writes as many whole packed records to the buffer as fit, and returns their size in bytes. Sets
 * *next_bytes (next_bytes may be NULL) to 0 at the end, otherwise to the minimum size that the next
 * record needs. So 0 is returned at the end, and also if the buffer is too small for the next
 * record, which is not lost. If trawl_searchfd was called before, it waits for the first record
 * only.
 */
ssize_t trawl_fillsearch(TRAWL_SEARCH *search, void *buffer, size_t size, size_t *next_bytes);

/* The position of a search made in one call. Begin with used 0. */
struct trawl_search_place {
    void *cookie;      /* memory for the cookie */
    size_t room;       /* its size; TRAWL_COOKIE_ROOM suffices except for very long paths */
    size_t used;       /* length of the cookie in it: where the next call resumes */
    size_t needed;     /* room that this cookie needs */
    size_t next_bytes; /* as of trawl_fillsearch */
};
#define TRAWL_COOKIE_ROOM 8192

/*
 * A search in one call: opens it, goes to the place, fills the buffer, updates the place, closes.
 * Call it again with the same arguments until place->next_bytes is 0. Fails with ERANGE, and loses
 * nothing, if the cookie does not fit (place->needed is the room it needs), or if place is NULL and
 * the answer does not fit.
 */
ssize_t trawl_search(const char *paths, const char *pattern, int flags,
                     const struct trawl_search_options *options, void *buffer, size_t size,
                     struct trawl_search_place *place);

/*
 * Writes the cookie of the position after the last record returned, also after an error, and
 * returns its length. Fails with ERANGE if the buffer is too small; with size 0 it only returns the
 * length. A cookie is valid for the same directories, pattern, flags and depth, in any process, no
 * matter who answers.
 */
ssize_t trawl_search_cookie(TRAWL_SEARCH *search, void *buffer, size_t size);

/*
 * Cancels a search, including a wait in another thread, from any thread and from signal handlers
 * (async-signal-safe). Leaves errno unchanged unless search is NULL.
 */
int trawl_search_cancel(TRAWL_SEARCH *search);

/*
 * Returns a descriptor that poll(2) reports as readable (POLLIN) while a record, the end or an
 * error can be read without waiting. It belongs to the search: neither read nor close it. Starts a
 * thread.
 */
int trawl_searchfd(TRAWL_SEARCH *search);

/* Returns who gave the last record: TRAWL_LIVE, TRAWL_INDEX or TRAWL_REMOTE; 0 before the first. */
int trawl_search_served_by(TRAWL_SEARCH *search);

/*
 * Returns the reason why the last call on this search failed, valid until the next call on it. With
 * NULL: the last failure in this thread of a call without a search, such as opening one. Never
 * returns NULL.
 */
const char *trawl_strerror(TRAWL_SEARCH *search);

/* Returns the version of the library. */
const char *trawl_version(void);

/*
 * Packed records. Numbers are little-endian; a record's length is a multiple of 8:
 *
 *     0  4  length of the record
 *     4  1  kind: 0 match, 1 match with attributes, 2 error
 *     5  1  the operation that failed (TRAWL_ERR_*), else 0
 *     6  2  0
 *     8  4  errno, else 0
 *    12  4  index of the directory in the list
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
 * Check bytes from any other source with trawl_record_check first. It returns the length of the
 * record at their beginning, or fails with EBADMSG.
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

/* Returns TRAWL_ERR_*, 0 for a match. */
TRAWL_INLINE int trawl_record_errsource(const void *record) {
    return ((const unsigned char *)record)[5];
}

/* Returns an errno, 0 for a match. */
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

/* Returns the NUL-terminated path, which lies in the record. */
TRAWL_INLINE const char *trawl_record_path(const void *record) {
    size_t at = TRAWL_RECORD_HEAD;
    if (trawl_record_has_attributes(record))
        at += TRAWL_RECORD_ATTRIBUTES;
    return (const char *)record + at;
}

/* Writes the attributes to *info and returns 1; returns 0 if the record has no attributes. */
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
#ifdef st_atime /* undefined if the C library was restricted to ISO C */
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
