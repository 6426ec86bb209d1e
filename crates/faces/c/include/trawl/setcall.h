/*
 * trawl/setcall.h: the system call interface of the paper "Using Dynamic Sets to Overcome High I/O
 * Latencies During Search" (Figure 1) under the paper's names, for those of <trawl/sets.h>:
 *
 *     handle = setOpen(argv[1]);
 *     while ((fd = setIterate(handle)) != -1) {
 *         process(fd);
 *         close(fd);
 *     }
 *     setClose(handle);
 *
 * setIterate skips members that cannot be read, so that this loop sees every member that can.
 * Nothing is lost silently: at the end, setIterate returns -1 with errno 0 only if every member was
 * returned, otherwise with the errno of the first member that was not; setClose then returns that
 * errno, too. <trawl/sets.h> names each of them.
 */
#ifndef TRAWL_SETCALL_H
#define TRAWL_SETCALL_H

#include <errno.h>
#include <limits.h>
#include <trawl/sets.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef TRAWL_SET *setHandle; /* NULL: the set could not be opened; errno says why */
typedef int errorCode;        /* 0, or an errno */
typedef int fileDesc;         /* -1: the end */

/* Opens a set: returns its handle at once, and expands the name later. */
TRAWL_INLINE setHandle setOpen(const char *setPathname) {
    return trawl_set_open(setPathname, 0, NULL);
}

/* Ends the use of a set. Returns 0, or the errno of the first member that could not be read. */
TRAWL_INLINE errorCode setClose(setHandle set) {
    const int problem = trawl_set_problem(set);
    if (trawl_set_close(set) != 0)
        return errno;
    return problem;
}

/*
 * setIterate(set) and setIterate(set, flags) return the descriptor of a member that was not
 * processed yet, which the caller closes; -1 at the end. No flags are defined: pass 0.
 */
TRAWL_INLINE fileDesc trawl_setcall_iterate(setHandle set, int flags, ...) {
    struct trawl_setent *member;
    if (flags != 0) {
        errno = EINVAL;
        return -1;
    }
    while ((member = trawl_set_iterate(set, TRAWL_SET_CALLER_CLOSES)) != NULL)
        if (member->err == 0)
            return member->fd;
    if (errno == 0)
        errno = trawl_set_problem(set);
    return -1;
}
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define setIterate(...) trawl_setcall_iterate(__VA_ARGS__, 0, 0)
#else
#define setIterate trawl_setcall_iterate /* with both arguments */
#endif

/*
 * Writes the NUL-terminated names of further members to a buffer of count bytes, as many as fit.
 * Returns the number of bytes written; 0 at the end; -1 with errno, which is ERANGE if the next
 * name does not fit into the whole buffer. Nothing is fetched.
 */
TRAWL_INLINE errorCode setDigest(setHandle set, char *buf, int count) {
    return (int)trawl_set_digest_names(set, buf, count > 0 ? (size_t)count : 0);
}

/* Return sets of the members of either, and of both. No flags are defined: pass 0. */
TRAWL_INLINE setHandle setUnion(setHandle set1, setHandle set2, int flags) {
    return trawl_set_union(set1, set2, flags);
}
TRAWL_INLINE setHandle setIntersect(setHandle set1, setHandle set2, int flags) {
    return trawl_set_intersect(set1, set2, flags);
}

/* Begin again with the first member. */
TRAWL_INLINE errorCode setRewindIterator(setHandle set) {
    return trawl_set_rewind_iterator(set) == 0 ? 0 : errno;
}
TRAWL_INLINE errorCode setRewindDigest(setHandle set) {
    return trawl_set_rewind_digest(set) == 0 ? 0 : errno;
}

/* Returns the number of members, or -1 with errno. */
TRAWL_INLINE int setSize(setHandle set) {
    const ssize_t size = trawl_set_size(set);
    return size > INT_MAX ? INT_MAX : (int)size;
}

/* Returns whether this name is a member. */
TRAWL_INLINE bool setMember(setHandle set, const char *elem) {
    return trawl_set_member(set, elem) == 1;
}

/*
 * Calls f with the descriptor of each member that is left to iterate, and closes the descriptor
 * afterwards. Returns as setClose.
 */
TRAWL_INLINE errorCode setApply(setHandle set, void (*f)(int fd)) {
    struct trawl_setent *member;
    while ((member = trawl_set_iterate(set, 0)) != NULL)
        if (member->err == 0)
            f(member->fd);
    return errno != 0 ? errno : trawl_set_problem(set);
}

#ifdef __cplusplus
}
#endif

#endif
