/*
 * All operations of the paper's Figure 1 on sets that arguments name: sets OPERATION NAME...
 * Prints what the operation returns; names end with a NUL byte.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trawl/setcall.h>
#include <unistd.h>

static void fail(const char *what) {
    fprintf(stderr, "%s: %s: %s\n", what, strerror(errno), trawl_set_strerror(NULL));
    exit(2);
}

static void print(const struct trawl_setent *member) {
    if (member->err != 0)
        fprintf(stderr, "%d %d %s\n", member->errsource, member->err, member->name);
    else
        fwrite(member->name, 1, member->name_length + 1, stdout);
}

static void iterate(TRAWL_SET *set) {
    struct trawl_setent *member;
    while ((member = trawl_set_iterate(set, 0)) != NULL) {
        char byte;
        /* The first bytes have arrived: reading does not wait, and the offset is 0. */
        if (member->err == 0 && !member->is_stream && lseek(member->fd, 0, SEEK_CUR) != 0)
            fail("offset");
        if (member->err == 0 && read(member->fd, &byte, 1) < 0)
            fail("read");
        print(member);
    }
    if (errno != 0)
        fail("iterate");
}

static void digest(TRAWL_SET *set) {
    struct trawl_setent *member;
    while ((member = trawl_set_digest(set)) != NULL)
        print(member);
    if (errno != 0)
        fail("digest");
}

static int count(const struct trawl_setent *member, void *context) {
    if (member->err == 0)
        ++*(size_t *)context;
    return 0;
}

static void *in_thread(void *set) {
    size_t members = 0;
    struct trawl_setent *member;
    while ((member = trawl_set_iterate(set, 0)) != NULL)
        members += member->err == 0;
    return (void *)members;
}

static size_t in_threads(TRAWL_SET *set) {
    pthread_t threads[4];
    size_t members = 0;
    for (int i = 0; i < 4; ++i)
        if (pthread_create(&threads[i], NULL, in_thread, set) != 0)
            fail("thread");
    for (int i = 0; i < 4; ++i) {
        void *found;
        pthread_join(threads[i], &found);
        members += (size_t)found;
    }
    return members;
}

/* In a child of fork(2) a set is the parent's: every call fails, none hangs. */
static void in_child(TRAWL_SET *set) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (trawl_set_iterate(set, 0) != NULL || errno != EINVAL)
            _exit(1);
        if (trawl_set_size(set) != -1 || errno != EINVAL)
            _exit(2);
        _exit(trawl_set_close(set) == 0 ? 0 : 3);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("child");
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const char *what = argv[1];
    TRAWL_SET *set = trawl_set_open(argv[2], 0, NULL);
    if (set == NULL)
        fail("open");
    if (strcmp(what, "iterate") == 0) {
        iterate(set);
    } else if (strcmp(what, "digest") == 0) {
        digest(set);
    } else if (strcmp(what, "names") == 0) {
        char buffer[64];
        int bytes;
        while ((bytes = setDigest(set, buffer, sizeof buffer)) > 0)
            fwrite(buffer, 1, (size_t)bytes, stdout);
        if (bytes < 0)
            fail("digest");
    } else if (strcmp(what, "rewind") == 0) {
        iterate(set);
        setRewindIterator(set);
        iterate(set);
        digest(set);
        setRewindDigest(set);
        digest(set);
    } else if (strcmp(what, "size") == 0) {
        printf("%d", setSize(set));
    } else if (strcmp(what, "member") == 0) {
        for (int i = 3; i < argc; ++i)
            printf("%d", setMember(set, argv[i]));
    } else if (strcmp(what, "apply") == 0) {
        size_t members = 0;
        if (trawl_set_apply(set, count, &members) != 0)
            fail("apply");
        printf("%zu", members);
    } else if (strcmp(what, "threads") == 0) {
        printf("%zu", in_threads(set));
    } else if (strcmp(what, "fork") == 0) {
        in_child(set);
        iterate(set);
    } else if (strcmp(what, "cancel") == 0) {
        if (trawl_set_cancel(set) != 0 || trawl_set_iterate(set, 0) != NULL || errno != ECANCELED)
            fail("cancel");
    } else if (strcmp(what, "union") == 0 || strcmp(what, "intersect") == 0) {
        TRAWL_SET *other = trawl_set_open(argv[3], 0, NULL);
        TRAWL_SET *both = what[0] == 'u' ? setUnion(set, other, 0) : setIntersect(set, other, 0);
        if (other == NULL || both == NULL)
            fail(what);
        /* The operands may be closed at any time. */
        if (setClose(set) != 0 || setClose(other) != 0)
            fail("close");
        set = both;
        iterate(set);
    } else {
        return 2;
    }
    struct trawl_set_stats stats = {.size = sizeof stats};
    if (trawl_set_stats(set, &stats) != 0)
        fail("stats");
    fflush(stdout);
    return setClose(set) == 0 ? 0 : 1;
}
