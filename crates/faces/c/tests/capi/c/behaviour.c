/*
 * Checks the promises of the header: behaviour WHAT DIRECTORY [SIZE], or behaviour served DIRECTORY
 * WHO INDEX.
 *
 * Prints the records that it read if the caller compares them, and otherwise only exits with 0.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <trawl.h>
#include <unistd.h>

#define CHECK(what)                                                                               \
    do {                                                                                          \
        if (!(what)) {                                                                            \
            fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #what, errno);  \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

#define FAILS_WITH(number, what)                                                                  \
    do {                                                                                          \
        errno = 0;                                                                                \
        CHECK(what);                                                                              \
        CHECK(errno == (number));                                                                 \
    } while (0)

static const char *top;
static size_t size = 4096;

static void print(const char *path) { fwrite(path, 1, strlen(path) + 1, stdout); }

/* Every function with NULL and with invalid arguments. */
static void arguments(void) {
    const char *const one[] = {top};
    const char *const none[] = {NULL};
    FAILS_WITH(EINVAL, trawl_opensearch(NULL, "x", 0) == NULL);
    CHECK(strstr(trawl_strerror(NULL), "NULL") != NULL);
    FAILS_WITH(EINVAL, trawl_opensearch(top, NULL, 0) == NULL);
    FAILS_WITH(EINVAL, trawl_opensearch(top, "", 0) == NULL);
    FAILS_WITH(EINVAL, trawl_opensearch(top, "a/", 0) == NULL);
    FAILS_WITH(EINVAL, trawl_opensearch("a\\", "x", 0) == NULL);
    FAILS_WITH(EINVAL, trawl_opensearch(top, "x", -1) == NULL);
    FAILS_WITH(EINVAL, trawl_opensearch(top, "x", 1 << 1) == NULL);
    CHECK(strstr(trawl_strerror(NULL), "0x2") != NULL);
    FAILS_WITH(EINVAL, trawl_opensearch_array(NULL, 1, "x", 0, NULL) == NULL);
    FAILS_WITH(EINVAL, trawl_opensearch_array(none, 1, "x", 0, NULL) == NULL);
    FAILS_WITH(EINVAL, trawl_opensearch_array(one, (size_t)-1, "x", 0, NULL) == NULL);
    FAILS_WITH(EINVAL, trawl_readsearch(NULL) == NULL);
    FAILS_WITH(EINVAL, trawl_closesearch(NULL) == -1);
    FAILS_WITH(EINVAL, trawl_fillsearch(NULL, NULL, 0, NULL) == -1);
    FAILS_WITH(EINVAL, trawl_search_cancel(NULL) == -1);
    FAILS_WITH(EINVAL, trawl_searchfd(NULL) == -1);
    FAILS_WITH(EINVAL, trawl_search_served_by(NULL) == -1);
    FAILS_WITH(EINVAL, trawl_search_cookie(NULL, NULL, 0) == -1);
    FAILS_WITH(EINVAL, trawl_record_check(NULL, 32) == -1);
    FAILS_WITH(EBADMSG, trawl_record_check("nonsense nonsense nonsense nonsense", 32) == -1);
    FAILS_WITH(EBADMSG, trawl_record_check(NULL, 0) == -1);
    FAILS_WITH(EINVAL, trawl_search(top, "x", 0, NULL, NULL, 100, NULL) == -1);
    CHECK(trawl_version()[0] != '\0');

    TRAWL_SEARCH *search = trawl_opensearch(top, "*", 0);
    CHECK(search != NULL);
    FAILS_WITH(EINVAL, trawl_fillsearch(search, NULL, 10, NULL) == -1);
    FAILS_WITH(EINVAL, trawl_fillsearch(search, NULL, (size_t)-1, NULL) == -1);
    /* An invalid call does not end the search; success leaves errno unchanged. */
    errno = 77;
    CHECK(trawl_readsearch(search) != NULL && errno == 77);
    CHECK(trawl_closesearch(search) == 0 && errno == 77);
    /* A quoted colon is part of a name; a directory that cannot be opened is a record. */
    search = trawl_opensearch("\\:none:/dev/null", "x", TRAWL_INCLUDEROOT);
    struct trawl_searchent *entry = trawl_readsearch(search);
    CHECK(entry != NULL && entry->err == ENOENT && entry->errsource == TRAWL_ERR_OPEN);
    CHECK(entry->root == 0 && entry->info == NULL && strcmp(entry->path, ":none") == 0);
    entry = trawl_readsearch(search);
    CHECK(entry != NULL && entry->err == ENOTDIR && entry->root == 1);
    errno = 5;
    CHECK(trawl_readsearch(search) == NULL && errno == 0);
    trawl_closesearch(search);
    /* No directories, no records. */
    search = trawl_opensearch_array(NULL, 0, "x", 0, NULL);
    FAILS_WITH(0, trawl_readsearch(search) == NULL);
    FAILS_WITH(0, trawl_readsearch(search) == NULL);
    trawl_closesearch(search);
}

static TRAWL_SEARCH *open_with(const struct trawl_search_options *options) {
    return trawl_opensearch_array(&top, 1, "*", 0, options);
}

/* Options of earlier and later versions than this one. */
static void options(void) {
    struct {
        struct trawl_search_options known;
        long more;
    } later = {.known = {.size = sizeof later}};
    struct trawl_search_options options = {.size = 0};
    FAILS_WITH(EINVAL, open_with(&options) == NULL);
    options.size = sizeof options.size;
    options.served_by = 99; /* not read */
    CHECK(trawl_closesearch(open_with(&options)) == 0);
    options.size = sizeof options;
    FAILS_WITH(EINVAL, open_with(&options) == NULL);
    options.served_by = TRAWL_LIVE;
    CHECK(trawl_closesearch(open_with(&options)) == 0);
    options.reserved = 1;
    FAILS_WITH(EINVAL, open_with(&options) == NULL);
    options.reserved = 0;
    options.max_depth = 1 << 30;
    FAILS_WITH(EINVAL, open_with(&options) == NULL);
    options.max_depth = 0;
    options.wait_ms = -2;
    FAILS_WITH(EINVAL, open_with(&options) == NULL);
    options.wait_ms = -1;
    options.cookie = "nonsense";
    options.cookie_bytes = 8;
    FAILS_WITH(EINVAL, open_with(&options) == NULL);
    options.cookie = NULL;
    options.cookie_bytes = 0;
    options.served_by = TRAWL_INDEX;
    options.index = "/nonexistent";
    FAILS_WITH(ENOENT, open_with(&options) == NULL);
    CHECK(strstr(trawl_strerror(NULL), "/nonexistent") != NULL);
    CHECK(trawl_closesearch(open_with(&later.known)) == 0);
    later.more = 1;
    FAILS_WITH(E2BIG, open_with(&later.known) == NULL);
}

static void print_records(const char *buffer, ssize_t used) {
    for (const void *r = buffer; r != buffer + used; r = trawl_record_next(r)) {
        struct stat of_record, of_file;
        CHECK(trawl_record_check(r, (size_t)(buffer + used - (const char *)r)) ==
              (ssize_t)trawl_record_length(r));
        CHECK(trawl_record_err(r) == 0 && trawl_record_errsource(r) == 0);
        CHECK(trawl_record_root(r) == 0);
        CHECK(strlen(trawl_record_path(r)) == trawl_record_path_length(r));
        CHECK(trawl_record_stat(r, &of_record) == 1);
        CHECK(stat(trawl_record_path(r), &of_file) == 0);
        /* Listing a directory may change its access time. */
        of_record.st_atim = of_file.st_atim;
        CHECK(memcmp(&of_record, &of_file, sizeof of_file) == 0);
        print(trawl_record_path(r));
    }
}

/* The caller's buffers: no byte beyond their ends is written. */
static void fill(void) {
    char *buffer = malloc(size + 16);
    size_t next = 0, room = size;
    ssize_t used;
    TRAWL_SEARCH *search = trawl_opensearch(top, "*", TRAWL_METADATA | TRAWL_INCLUDEROOT);
    CHECK(search != NULL);
    for (;;) {
        memset(buffer, 0x5a, room + 16);
        used = trawl_fillsearch(search, buffer, room, &next);
        CHECK(used >= 0 && (size_t)used <= room);
        for (size_t at = room; at < room + 16; at++)
            CHECK(buffer[at] == 0x5a);
        print_records(buffer, used);
        if (next == 0)
            break;
        CHECK(next >= TRAWL_RECORD_MIN);
        if (used == 0) {
            CHECK(next > room);
            room = next;
            buffer = realloc(buffer, room + 16);
        }
    }
    CHECK(trawl_fillsearch(search, buffer, room, &next) == 0 && next == 0);
    CHECK(trawl_search_served_by(search) == TRAWL_LIVE);
    trawl_closesearch(search);
    free(buffer);
}

/* As above, in single calls that keep no search open. */
static void call(void) {
    char *buffer = malloc(size);
    char cookie[TRAWL_COOKIE_ROOM];
    struct trawl_search_place place = {.cookie = cookie, .room = 4};
    const int flags = TRAWL_METADATA | TRAWL_INCLUDEROOT;
    FAILS_WITH(ERANGE, trawl_search(top, "*", flags, NULL, buffer, size, &place) == -1);
    CHECK(place.used == 0 && place.needed > 4);
    FAILS_WITH(ERANGE, trawl_search(top, "*", flags, NULL, NULL, 0, NULL) == -1);
    place.room = sizeof cookie;
    do {
        ssize_t used = trawl_search(top, "*", flags, NULL, buffer, size, &place);
        CHECK(used >= 0 && (size_t)used <= size);
        CHECK(place.used == place.needed);
        print_records(buffer, used);
        if (used == 0 && place.next_bytes > size) {
            size = place.next_bytes;
            buffer = realloc(buffer, size);
        }
    } while (place.next_bytes > 0);
    free(buffer);
}

/* Resumes in a new search after every third record. */
static void resume(void) {
    char cookie[TRAWL_COOKIE_ROOM];
    struct trawl_search_options options = {.size = sizeof options, .cookie = cookie};
    for (int is_over = 0; !is_over;) {
        TRAWL_SEARCH *search = open_with(&options);
        CHECK(search != NULL);
        for (int left = 3; left > 0 && !is_over; left--) {
            struct trawl_searchent *entry = trawl_readsearch(search);
            if (entry == NULL) {
                CHECK(errno == 0);
                is_over = 1;
            } else {
                print(entry->path);
            }
        }
        CHECK(trawl_search_cookie(search, NULL, 0) > 1);
        FAILS_WITH(ERANGE, trawl_search_cookie(search, cookie, 1) == -1);
        CHECK(strstr(trawl_strerror(search), "bytes of room") != NULL);
        options.cookie_bytes = (size_t)trawl_search_cookie(search, cookie, sizeof cookie);
        trawl_closesearch(search);
    }
}

static unsigned long count_and_sum(unsigned long *sum) {
    unsigned long count = 0;
    TRAWL_SEARCH *search = trawl_opensearch(top, "*", TRAWL_METADATA | TRAWL_NOFOLLOW);
    struct trawl_searchent *entry;
    CHECK(search != NULL);
    *sum = 0;
    while ((entry = trawl_readsearch(search)) != NULL) {
        CHECK(entry->err == 0 && entry->info != NULL);
        CHECK(strlen(entry->path) == entry->path_length);
        for (const char *byte = entry->path; *byte != '\0'; byte++)
            *sum = *sum * 31 + (unsigned char)*byte;
        count++;
    }
    CHECK(errno == 0);
    trawl_closesearch(search);
    return count;
}

static unsigned long expected, expected_sum;

static void *one_thread(void *nothing) {
    (void)nothing;
    for (int round = 0; round < 5; round++) {
        unsigned long sum;
        CHECK(count_and_sum(&sum) == expected && sum == expected_sum);
        FAILS_WITH(EINVAL, trawl_opensearch(top, "[", 1 << 20) == NULL);
        CHECK(strstr(trawl_strerror(NULL), "0x100000") != NULL);
    }
    return NULL;
}

static void threads(void) {
    pthread_t all[8];
    expected = count_and_sum(&expected_sum);
    CHECK(expected > 100);
    for (int at = 0; at < 8; at++)
        CHECK(pthread_create(&all[at], NULL, one_thread, NULL) == 0);
    for (int at = 0; at < 8; at++)
        pthread_join(all[at], NULL);
}

static TRAWL_SEARCH *shared;
static atomic_long wins, refusals;

static void *use_shared(void *nothing) {
    (void)nothing;
    size_t next = 1;
    char buffer[64 * 1024];
    while (next != 0) {
        if (trawl_fillsearch(shared, buffer, sizeof buffer, &next) >= 0) {
            wins++;
        } else {
            CHECK(errno == EBUSY);
            refusals++;
            poll(NULL, 0, 1);
        }
    }
    return NULL;
}

/* Eight threads on one search: each call succeeds completely or is refused. */
static void busy(void) {
    pthread_t all[8];
    shared = trawl_opensearch(top, "*", 0);
    for (int at = 0; at < 8; at++)
        CHECK(pthread_create(&all[at], NULL, use_shared, NULL) == 0);
    for (int at = 0; at < 8; at++)
        pthread_join(all[at], NULL);
    CHECK(wins > 0);
    trawl_closesearch(shared);
}

static void *cancel_it(void *search) {
    CHECK(trawl_search_cancel(search) == 0);
    return NULL;
}

/* Cancels from another thread: between records, during a wait, and before the search begins. */
static void cancel(void) {
    for (int round = 0; round < 60; round++) {
        pthread_t other;
        struct trawl_searchent *entry;
        TRAWL_SEARCH *search = trawl_opensearch(top, "*", TRAWL_METADATA);
        CHECK(search != NULL);
        if (round % 2 == 1)
            CHECK(trawl_searchfd(search) >= 0);
        if (round % 3 == 1)
            CHECK(trawl_readsearch(search) != NULL);
        CHECK(pthread_create(&other, NULL, cancel_it, search) == 0);
        if (round % 3 == 2)
            pthread_join(other, NULL);
        while ((entry = trawl_readsearch(search)) != NULL)
            CHECK(entry->path != NULL);
        /* If the cancellation came too late, the search was complete. */
        CHECK(errno == ECANCELED || (errno == 0 && round % 3 != 2));
        if (errno == ECANCELED) {
            struct pollfd wait = {.fd = trawl_searchfd(search), .events = POLLIN};
            CHECK(strstr(trawl_strerror(search), "cancelled") != NULL);
            FAILS_WITH(ECANCELED, trawl_readsearch(search) == NULL);
            CHECK(poll(&wait, 1, -1) == 1 && wait.revents == POLLIN);
            CHECK(trawl_search_cookie(search, NULL, 0) > 0);
        }
        if (round % 3 != 2)
            pthread_join(other, NULL);
        trawl_closesearch(search);
    }
}

/* Reads only when the descriptor is readable; then, as far as can be observed, no read waits. */
static void polled(void) {
    TRAWL_SEARCH *search = trawl_opensearch(top, "*", 0);
    struct trawl_searchent *entry;
    struct pollfd wait = {.fd = trawl_searchfd(search), .events = POLLIN};
    CHECK(wait.fd >= 0 && trawl_searchfd(search) == wait.fd);
    do {
        CHECK(poll(&wait, 1, -1) == 1 && wait.revents == POLLIN);
        entry = trawl_readsearch(search);
        if (entry != NULL)
            print(entry->path);
    } while (entry != NULL);
    CHECK(errno == 0);
    CHECK(poll(&wait, 1, 0) == 1 && wait.revents == POLLIN);
    FAILS_WITH(0, trawl_readsearch(search) == NULL);
    trawl_closesearch(search);
}

/* As above, into a buffer; a call may return no record while none is ready. */
static void polled_fill(void) {
    TRAWL_SEARCH *search = trawl_opensearch(top, "*", TRAWL_METADATA | TRAWL_INCLUDEROOT);
    struct pollfd wait = {.fd = trawl_searchfd(search), .events = POLLIN};
    char *buffer = malloc(size);
    size_t next;
    do {
        CHECK(poll(&wait, 1, -1) == 1);
        ssize_t used = trawl_fillsearch(search, buffer, size, &next);
        CHECK(used >= 0);
        print_records(buffer, used);
    } while (next != 0);
    free(buffer);
    trawl_closesearch(search);
}

/* A search belongs to its process; a child opens its own. */
static void forked(void) {
    TRAWL_SEARCH *search = trawl_opensearch(top, "*", 0);
    unsigned long sum, count = count_and_sum(&sum), left = 0;
    int status;
    CHECK(trawl_searchfd(search) >= 0 && trawl_readsearch(search) != NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        unsigned long in_child;
        FAILS_WITH(EINVAL, trawl_readsearch(search) == NULL);
        CHECK(strstr(trawl_strerror(search), "forked") != NULL);
        FAILS_WITH(EINVAL, trawl_searchfd(search) == -1);
        CHECK(trawl_closesearch(search) == 0);
        CHECK(count_and_sum(&in_child) == count && in_child == sum);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    while (trawl_readsearch(search) != NULL)
        left++;
    CHECK(errno == 0 && left + 1 == count);
    trawl_closesearch(search);
}

/* Closes a search at every position of the answer: no descriptor or memory is left behind. */
static void closed_early(void) {
    for (int records = 0; records < 200; records++) {
        TRAWL_SEARCH *search = trawl_opensearch(top, "*", 0);
        if (records % 2 == 1)
            CHECK(trawl_searchfd(search) >= 0);
        for (int left = records; left > 0; left--)
            CHECK(trawl_readsearch(search) != NULL);
        CHECK(trawl_closesearch(search) == 0);
    }
    CHECK(dup(0) < 10);
}

/* Checks who answers, and that the library reports it. */
static void served(int who, const char *index) {
    struct trawl_search_options options = {.size = sizeof options, .served_by = who, .index = index};
    TRAWL_SEARCH *search = open_with(&options);
    struct trawl_searchent *entry;
    CHECK(search != NULL && trawl_search_served_by(search) == 0);
    while ((entry = trawl_readsearch(search)) != NULL) {
        CHECK(entry->err == 0);
        CHECK(trawl_search_served_by(search) == (who == TRAWL_AUTO ? TRAWL_LIVE : who));
        print(entry->path);
    }
    CHECK(errno == 0);
    trawl_closesearch(search);
}

/* A search of a server that never responds. */
static struct trawl_search_options silent_options(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "silent"};
    struct trawl_search_options options = {.size = sizeof options, .remote = "unix:silent"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(chdir(top) == 0);
    unlink("silent");
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 100) == 0);
    return options;
}

static volatile sig_atomic_t ticks;
static TRAWL_SEARCH *volatile to_cancel;

static void on_tick(int number) {
    const int before = errno;
    (void)number;
    ticks++;
    if (to_cancel != NULL) {
        errno = 77;
        if (trawl_search_cancel(to_cancel) != 0 || errno != 77)
            _exit(3);
        to_cancel = NULL;
    }
    errno = before;
}

/* A handler installed with SA_RESTART, again and again. */
static void tick(void) {
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 3000}, {0, 3000}};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

/* Signals end waits with TRAWL_INTR, and searches if the handler cancels them. */
static void interrupted(void) {
    static char buffer[1000];
    const char *const one[] = {"/"};
    const struct trawl_search_options options = silent_options();
    size_t next = 1;
    TRAWL_SEARCH *search = trawl_opensearch_array(one, 1, "*", TRAWL_INTR, &options);
    CHECK(search != NULL);
    tick();
    for (int round = 0; round < 3; round++) {
        FAILS_WITH(EINTR, trawl_readsearch(search) == NULL);
        CHECK(strstr(trawl_strerror(search), "signal") != NULL);
        FAILS_WITH(EINTR, trawl_fillsearch(search, buffer, sizeof buffer, &next) == -1);
    }
    CHECK(ticks >= 6);
    to_cancel = search;
    FAILS_WITH(ECANCELED, trawl_readsearch(search) == NULL);
    FAILS_WITH(ECANCELED, trawl_readsearch(search) == NULL);
    CHECK(trawl_closesearch(search) == 0);
    FAILS_WITH(EINTR, trawl_search("/", "*", TRAWL_INTR, &options, buffer, sizeof buffer, NULL) == -1);
    /* Without TRAWL_INTR a wait continues after signals, until a handler cancels the search. */
    search = trawl_opensearch_array(one, 1, "*", 0, &options);
    CHECK(search != NULL);
    to_cancel = search;
    FAILS_WITH(ECANCELED, trawl_readsearch(search) == NULL);
    CHECK(trawl_closesearch(search) == 0);
    unlink("silent");
}

/* Signals affect only the waits: the answer is complete. */
static void ticking(void) {
    TRAWL_SEARCH *search = trawl_opensearch(top, "*", TRAWL_INTR);
    struct trawl_searchent *entry;
    CHECK(search != NULL);
    tick();
    do {
        errno = 0;
        while ((entry = trawl_readsearch(search)) != NULL)
            print(entry->path);
    } while (errno == EINTR);
    CHECK(errno == 0);
    trawl_closesearch(search);
}

/* The paper's bound: a directory more than 16 levels down ends the search. */
static void bounded(void) {
    char path[100] = "levels";
    struct trawl_searchent *entry = NULL;
    CHECK(chdir(top) == 0 && mkdir(path, 0755) == 0);
    for (int level = 1; level <= 17; level++) {
        TRAWL_SEARCH *search = trawl_opensearch("levels", "x", TRAWL_DEPTH16);
        CHECK(search != NULL);
        FAILS_WITH(0, trawl_readsearch(search) == NULL);
        trawl_closesearch(search);
        snprintf(path + strlen(path), 10, "/%d", level);
        CHECK(mkdir(path, 0755) == 0);
    }
    TRAWL_SEARCH *search = trawl_opensearch("levels", "*", TRAWL_DEPTH16);
    for (int level = 1; level <= 17; level++) {
        entry = trawl_readsearch(search);
        CHECK(entry != NULL && entry->err == 0);
    }
    FAILS_WITH(EOVERFLOW, trawl_readsearch(search) == NULL);
    CHECK(strstr(trawl_strerror(search), "16 levels") != NULL);
    FAILS_WITH(EOVERFLOW, trawl_readsearch(search) == NULL);
    trawl_closesearch(search);
    /* Without the bound the answer is complete. */
    search = trawl_opensearch("levels", "17", 0);
    CHECK(trawl_readsearch(search) != NULL);
    trawl_closesearch(search);
}

static const struct {
    const char *name;
    void (*run)(void);
} ALL[] = {
    {"arguments", arguments}, {"options", options},         {"fill", fill},
    {"call", call},           {"resume", resume},           {"threads", threads},
    {"busy", busy},           {"cancel", cancel},           {"polled", polled},
    {"polled-fill", polled_fill}, {"forked", forked},       {"closed-early", closed_early},
    {"interrupted", interrupted}, {"bounded", bounded},     {"ticking", ticking},
};

int main(int argc, char **argv) {
    CHECK(argc >= 3);
    top = argv[2];
    if (strcmp(argv[1], "served") == 0) {
        CHECK(argc == 5);
        served(atoi(argv[3]), argv[4]);
        return 0;
    }
    if (argc > 3)
        size = strtoul(argv[3], NULL, 10);
    for (size_t at = 0; at < sizeof ALL / sizeof ALL[0]; at++) {
        if (strcmp(argv[1], ALL[at].name) == 0) {
            ALL[at].run();
            return 0;
        }
    }
    return 2;
}
