/*
 * trawl/search.h: the call of the paper "Search Should Be a System Call" (Kokoszka, Donnelly and
 * Thain, TR-2013-03) under the paper's names:
 *
 *     s = opensearch("/bin:/usr/bin:/home/fred/bin", "/ch*", INCLUDEROOT|X_OK);
 *     while( e=readsearch(s) )
 *         printf("%s\n", e->path);
 *     closesearch(s);
 *
 * R_OK, W_OK and X_OK are those of <unistd.h>. The other flags of <trawl/searchcall.h> keep their
 * prefix SEARCH_, because they are not in the paper.
 */
#ifndef TRAWL_SEARCH_H
#define TRAWL_SEARCH_H

#include <limits.h>
#include <trawl/searchcall.h>
#include <unistd.h>

#if R_OK != SEARCH_R_OK || W_OK != SEARCH_W_OK || X_OK != SEARCH_X_OK
#error "the C library has other values for R_OK, W_OK or X_OK"
#endif

#define STOPATFIRST SEARCH_STOPATFIRST
#define METADATA SEARCH_METADATA
#define INCLUDEROOT SEARCH_INCLUDEROOT

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the whole answer in one call: packed records as in <trawl.h> (see trawl_record_path and
 * its neighbours). Returns their size in bytes, or -1 with errno: ERANGE if the answer does not fit
 * into the buffer, otherwise as opensearch and readsearch. trawl_search(3) returns an answer in
 * pieces.
 */
TRAWL_INLINE int search(const char *paths, const char *pattern, int flags, void *buffer,
                        size_t len) {
    const size_t most = len < (size_t)INT_MAX ? len : (size_t)INT_MAX;
    return (int)trawl_search(paths, pattern, trawl_searchcall_flags(flags), NULL, buffer, most,
                             NULL);
}

#ifdef __cplusplus
}
#endif

#endif
