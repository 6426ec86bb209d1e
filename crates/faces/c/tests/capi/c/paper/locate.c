/* The shell then locates the executable (section 3.1). */
#include "example.h"

static SEARCH *example(void) {
    return
opensearch(
    "/bin:/usr/bin:/home/fred/bin",
    "/chmod", INCLUDEROOT|STOPATFIRST|X_OK);
}
