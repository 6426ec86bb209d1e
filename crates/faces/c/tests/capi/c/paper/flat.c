/* A flattened representation of a tree (section 3.1). */
#include "example.h"

static SEARCH *example(void) {
    return
opensearch("/foo", "*", INCLUDEROOT);
}
