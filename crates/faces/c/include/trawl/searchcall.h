/*
 * trawl/searchcall.h: the functions and structures of the paper "Search Should Be a System Call"
 * under the paper's names, for those of <trawl.h>. Flags and numbers begin with SEARCH_;
 * <trawl/search.h> adds the paper's bare flags and search().
 *
 * SEARCH_R_OK, SEARCH_W_OK and SEARCH_X_OK have the values of R_OK, W_OK and X_OK in <unistd.h>,
 * so that either may be used. Flags of this header are for the functions of this header, flags that
 * begin with TRAWL_ for the functions that begin with trawl_. Programs that use these names for
 * anything else include <trawl.h> alone.
 */
#ifndef TRAWL_SEARCHCALL_H
#define TRAWL_SEARCHCALL_H

#include <trawl.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef TRAWL_SEARCH SEARCH;

#define searchent trawl_searchent
#define readsearch trawl_readsearch
#define closesearch trawl_closesearch

#define SEARCH_X_OK 1
#define SEARCH_W_OK 2
#define SEARCH_R_OK 4
#define SEARCH_STOPATFIRST (TRAWL_STOPATFIRST << 16)
#define SEARCH_METADATA (TRAWL_METADATA << 16)
#define SEARCH_INCLUDEROOT (TRAWL_INCLUDEROOT << 16)
#define SEARCH_PERIOD (TRAWL_PERIOD << 16)
#define SEARCH_NOFOLLOW (TRAWL_NOFOLLOW << 16)
#define SEARCH_FOLLOW (TRAWL_FOLLOW << 16)
#define SEARCH_XDEV (TRAWL_XDEV << 16)
#define SEARCH_FNMATCH (TRAWL_FNMATCH << 16)
#define SEARCH_INTR (TRAWL_INTR << 16)
#define SEARCH_DEPTH16 (TRAWL_DEPTH16 << 16)

#define SEARCH_ERR_OPEN TRAWL_ERR_OPEN
#define SEARCH_ERR_READ TRAWL_ERR_READ
#define SEARCH_ERR_CLOSE TRAWL_ERR_CLOSE
#define SEARCH_ERR_STAT TRAWL_ERR_STAT
#define SEARCH_ERR_DEPTH TRAWL_ERR_DEPTH
#define SEARCH_ERR_LOOP TRAWL_ERR_LOOP

/* Converts flags to those of <trawl.h>; unknown flags stay unknown. */
TRAWL_INLINE int trawl_searchcall_flags(int flags) {
    const int access = SEARCH_R_OK | SEARCH_W_OK | SEARCH_X_OK;
    const int high = TRAWL_R_OK | TRAWL_W_OK | TRAWL_X_OK;
    int asked = 0;
    if ((flags & 0xffff & ~access) != 0 || (flags >> 16 & high) != 0)
        return 1 << 30;
    if ((flags & SEARCH_R_OK) != 0)
        asked |= TRAWL_R_OK;
    if ((flags & SEARCH_W_OK) != 0)
        asked |= TRAWL_W_OK;
    if ((flags & SEARCH_X_OK) != 0)
        asked |= TRAWL_X_OK;
    return flags >> 16 | asked;
}

/* As trawl_opensearch(3), with the flags of this header. */
TRAWL_INLINE SEARCH *opensearch(const char *paths, const char *pattern, int flags) {
    return trawl_opensearch(paths, pattern, trawl_searchcall_flags(flags));
}

#ifdef __cplusplus
}
#endif

#endif
