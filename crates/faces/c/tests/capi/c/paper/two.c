/* The contents of two directories, one after the other (section 3.1). */
#include "example.h"

static SEARCH *example(void) {
    return
opensearch("/foo:/bar", "/", INCLUDEROOT);
}
