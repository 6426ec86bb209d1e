/* "cat" of all C files in all directories: the shell completes the pattern (section 3.1). */
#include "example.h"

static SEARCH *example(void) {
    return
opensearch(".", "/*/*.c", INCLUDEROOT);
}
