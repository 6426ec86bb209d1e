/*
 * trawl/sets.h: dynamic sets. A set is a search result whose members are fetched ahead, in
 * parallel and in the cheapest order, while the first ones are being processed. It is the
 * abstraction of the paper "Using Dynamic Sets to Overcome High I/O Latencies During Search"
 * (Steere and Satyanarayanan, 1995). <trawl/setcall.h> provides the paper's own names, such as
 * setOpen() and setIterate(). trawl_set_open(3) explains set names, flags and promises.
 *
 *     TRAWL_SET *set = trawl_set_open("/usr/src/{linux,dpkg}/lib/?*.c", 0, NULL);
 *     struct trawl_setent *member;
 *     while ((member = trawl_set_iterate(set, 0)) != NULL) {
 *         if (member->err != 0)
 *             fprintf(stderr, "%s: %s\n", member->name, strerror(member->err));
 *         else
 *             process(member->fd);
 *     }
 *     if (errno != 0)
 *         fprintf(stderr, "%s\n", trawl_set_strerror(set));
 *     trawl_set_close(set);
 *
 * Promises: every member satisfied the query at some moment while it ran; once a member, always a
 * member. An iteration returns each member once, in any order, or the error in its place.
 *
 * Threads: any function may be called from any thread, and several threads may iterate one set;
 * each thread gets members of its own. A record that a function returns belongs to the thread that
 * called it. trawl_set_cancel may be called at any time until the set is closed, but not from signal
 * handlers. Sets start threads where members have to be fetched; they block all signals.
 *
 * fork(2): a set belongs to the process that opened it. In a child, all functions on it fail with
 * EINVAL, except trawl_set_close, which leaves the set's memory and descriptors (closed by exec)
 * allocated until the child ends. Descriptors that were delivered are the caller's, as after
 * open(2) with O_CLOEXEC.
 *
 * Errors: functions that return a pointer return NULL, others -1, and set errno. On success they
 * leave errno unchanged; the end of an iteration is NULL with errno 0.
 */
#ifndef TRAWL_SETS_H
#define TRAWL_SETS_H

#include <trawl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A dynamic set. */
typedef struct trawl_set_handle TRAWL_SET;

/* Flags of trawl_set_open, trawl_set_union and trawl_set_intersect. Unknown bits: EINVAL. */
#define TRAWL_SET_ORDERED (1 << 0)  /* members are returned in the order in which they are found */
#define TRAWL_SET_COMMANDS (1 << 1) /* names may run commands: prefix/%command% */
#define TRAWL_SET_METADATA (1 << 2) /* attributes come with names: trawl_setent.info */

/* Flags of trawl_set_iterate. */
#define TRAWL_SET_CALLER_CLOSES (1 << 0) /* the descriptor is the caller's to close */

/* What was being done when an error occurred: trawl_setent.errsource. */
#define TRAWL_SET_ERR_EXPAND 1 /* a part of the set's name was being expanded */
#define TRAWL_SET_ERR_OPEN 2   /* the member was being opened */
#define TRAWL_SET_ERR_FETCH 3  /* the member's first bytes were being fetched */

/*
 * A member, or the error in its place. It is valid until this thread's next call that returns a
 * record of the same set. Later versions may add members at the end.
 */
struct trawl_setent {
    char *name;         /* path or URL, NUL-terminated */
    size_t name_length; /* without the NUL */
    struct stat *info;  /* attributes as of when the member was found, or NULL if not known */
    int fd;             /* of iterate: a descriptor at offset 0 whose first bytes are there; else -1 */
    int is_stream;      /* 1: a pipe or a socket; fd cannot seek */
    int errsource;      /* TRAWL_SET_ERR_*, 0 for a member */
    int err;            /* an errno, 0 for a member */
};

/* Options of a set. Zeros are the defaults; size is sizeof(struct trawl_set_options). */
struct trawl_set_options {
    size_t size;
    int served_by;        /* who expands wildcards: TRAWL_AUTO, TRAWL_LIVE or TRAWL_INDEX */
    int wait_ms;          /* as in struct trawl_search_options */
    const char *index;    /* as in struct trawl_search_options */
    uint64_t ahead_bytes; /* bytes fetched ahead and not yet delivered, at most; 0: 64 MiB */
    unsigned descriptors; /* descriptors open ahead, at most; 0: 256 */
    unsigned in_flight;   /* requests in flight at one disk, mount or server, at most; 0: 32 */
};

/* What a set has done so far. Times are in nanoseconds, summed over members. */
struct trawl_set_stats {
    size_t size;             /* to be set by the caller: sizeof(struct trawl_set_stats) */
    uint64_t members;        /* members found */
    uint64_t delivered;      /* members returned by iterations */
    uint64_t problems;       /* errors returned in their place */
    uint64_t cached;         /* members returned that were in memory already */
    uint64_t fetched_bytes;  /* bytes fetched ahead */
    uint64_t unused_bytes;   /* bytes fetched of members that were never returned */
    uint64_t fetch_ns;       /* time that fetches took */
    uint64_t wait_ns;        /* time that callers waited in iterations */
    uint64_t processing_ns;  /* time that callers spent between them */
};

/*
 * Opens the set with this name, and returns at once: expansion, fetching and processing go on
 * together. options may be NULL. Returns NULL with EINVAL for a name that cannot be parsed;
 * trawl_set_strerror(NULL) returns the reason. A name that leads nowhere is an empty set.
 */
TRAWL_SET *trawl_set_open(const char *name, int flags, const struct trawl_set_options *options);

/* Opens one set of several names: the members of all, each once. */
TRAWL_SET *trawl_set_open_array(const char *const *names, size_t count, int flags,
                                const struct trawl_set_options *options);

/*
 * Closes a set at any point: cancels what is in flight and frees everything but descriptors that
 * belong to the caller. No other thread may be in a call on the set. Returns 0, or -1 for NULL.
 */
int trawl_set_close(TRAWL_SET *set);

/*
 * Returns a member that no iteration has returned since the last rewind, or the error in its place;
 * NULL with errno 0 at the end, with ECANCELED after trawl_set_cancel. Waits until the first bytes
 * of a member are there. The set closes the descriptor when this thread asks for the next member,
 * unless TRAWL_SET_CALLER_CLOSES is set.
 */
struct trawl_setent *trawl_set_iterate(TRAWL_SET *set, int flags);

/*
 * Returns the description of the next member (fd is -1), or an error; NULL with errno 0 at the end.
 * Nothing is fetched. All threads share one position.
 */
struct trawl_setent *trawl_set_digest(TRAWL_SET *set);

/*
 * Writes the NUL-terminated names of further members to a buffer, as many as fit, and returns their
 * length in bytes; 0 at the end; -1 with ERANGE if the next name does not fit. Errors in the place
 * of members are left out: trawl_set_problem.
 */
ssize_t trawl_set_digest_names(TRAWL_SET *set, char *buffer, size_t size);

/*
 * Return sets of the members of either operand, each once, and of the members of both. The operands
 * stay open, keep their positions, and may be closed at any time.
 */
TRAWL_SET *trawl_set_union(TRAWL_SET *set1, TRAWL_SET *set2, int flags);
TRAWL_SET *trawl_set_intersect(TRAWL_SET *set1, TRAWL_SET *set2, int flags);

/* Make the next iteration or digest begin again with the first member. */
int trawl_set_rewind_iterator(TRAWL_SET *set);
int trawl_set_rewind_digest(TRAWL_SET *set);

/* Returns the number of members, once expansion has ended. */
ssize_t trawl_set_size(TRAWL_SET *set);

/*
 * Returns 1 if this name is a member, as soon as it is found; 0 if it is not, once expansion has
 * ended.
 */
int trawl_set_member(TRAWL_SET *set, const char *name);

/*
 * Calls a function for each member or error that is left to iterate, until it returns anything but
 * 0. Returns that value, or 0 at the end. Descriptors are closed when the function returns.
 */
int trawl_set_apply(TRAWL_SET *set, int (*each)(const struct trawl_setent *member, void *context),
                    void *context);

/* Ends expansion and fetching soon; calls that wait return with ECANCELED. */
int trawl_set_cancel(TRAWL_SET *set);

/*
 * Returns the errno of the first error that was returned in the place of a member since the set was
 * opened; 0 if there was none.
 */
int trawl_set_problem(TRAWL_SET *set);

/* Fills *stats with what the set has done so far. Returns 0 or -1. */
int trawl_set_stats(TRAWL_SET *set, struct trawl_set_stats *stats);

/*
 * Returns the reason why this thread's last call on a set failed. Valid until its next such call.
 * Never returns NULL. The argument is for symmetry with trawl_strerror and may be NULL.
 */
const char *trawl_set_strerror(TRAWL_SET *set);

#ifdef __cplusplus
}
#endif

#endif
