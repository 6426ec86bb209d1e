/* Waits in read(2): "sleep MS" for a pipe that a child writes to after a time, and says how long it
 * took; "stay" for ever; "cancel" in a thread that is cancelled. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int ends[2];

static void *stay(void *unused)
{
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        return NULL;
    return unused;
}

int main(int count, char **arguments)
{
    if (count < 2 || pipe(ends) != 0)
        return 2;
    char byte;
    if (strcmp(arguments[1], "stay") == 0) {
        dprintf(1, "ready\n");
        return read(ends[0], &byte, 1) == 1 ? 0 : 1;
    }
    if (strcmp(arguments[1], "cancel") == 0) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, stay, NULL);
        usleep(20000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        return result == PTHREAD_CANCELED ? 0 : 1;
    }
    long ms = atol(arguments[2]);
    if (fork() == 0) {
        usleep(ms * 1000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    /* The first call finds memory for the thread. */
    lseek(-1, 0, SEEK_CUR);
    long long before = now_ns();
    if (read(ends[0], &byte, 1) != 1)
        return 1;
    dprintf(1, "%lld\n", now_ns() - before);
    return 0;
}
