/* The contents of two directories, one behind the other (section 3.1). */
#include "example.h"

static SEARCH *example(void) {
    return
opensearch("/foo:/bar", "/", INCLUDEROOT);
}
