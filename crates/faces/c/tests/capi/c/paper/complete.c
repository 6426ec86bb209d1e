/* A user enters "ch" and presses TAB (section 3.1). */
#include "example.h"

static SEARCH *example(void) {
SEARCH *s;
struct searchent *e;

s = opensearch(
    "/bin:/usr/bin:/home/fred/bin",
    "/ch*", INCLUDEROOT|X_OK);

while( e=readsearch(s) ) {
    printf("%s\n", e->path);
}

closesearch(s);
    return NULL;
}
