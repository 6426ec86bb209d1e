/* find -name with all C files (section 3.1). */
#include "example.h"

static SEARCH *example(void) {
    return
opensearch(".", "*.c", INCLUDEROOT);
}
