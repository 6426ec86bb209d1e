/* ls -l (section 3.1). */
#include "example.h"

static SEARCH *example(void) {
    return
opensearch(".", "/", METADATA);
}
