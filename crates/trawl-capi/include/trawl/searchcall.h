/*
 * trawl/searchcall.h: the names of the paper "Search Should Be a System Call" for what <trawl.h>
 * has. Programs that use these names for something else include <trawl.h> alone.
 */
#ifndef TRAWL_SEARCHCALL_H
#define TRAWL_SEARCHCALL_H

#include <trawl.h>

typedef TRAWL_SEARCH SEARCH;

#define searchent trawl_searchent
#define opensearch trawl_opensearch
#define readsearch trawl_readsearch
#define closesearch trawl_closesearch

#define SEARCH_STOPATFIRST TRAWL_STOPATFIRST
#define SEARCH_METADATA TRAWL_METADATA
#define SEARCH_INCLUDEROOT TRAWL_INCLUDEROOT
#define SEARCH_PERIOD TRAWL_PERIOD
#define SEARCH_R_OK TRAWL_R_OK
#define SEARCH_W_OK TRAWL_W_OK
#define SEARCH_X_OK TRAWL_X_OK
#define SEARCH_NOFOLLOW TRAWL_NOFOLLOW
#define SEARCH_FOLLOW TRAWL_FOLLOW
#define SEARCH_XDEV TRAWL_XDEV
#define SEARCH_FNMATCH TRAWL_FNMATCH

#define SEARCH_ERR_OPEN TRAWL_ERR_OPEN
#define SEARCH_ERR_READ TRAWL_ERR_READ
#define SEARCH_ERR_CLOSE TRAWL_ERR_CLOSE
#define SEARCH_ERR_STAT TRAWL_ERR_STAT
#define SEARCH_ERR_DEPTH TRAWL_ERR_DEPTH
#define SEARCH_ERR_LOOP TRAWL_ERR_LOOP

#endif
