/* A child of vfork(2) makes the first call of a thread, and executes another program. Then this thread
 * and another one make CALLS calls each. All calls are lseek(2), which fails at once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long calls;

static void *work(void *unused)
{
    for (long i = 0; i < calls; i++)
        lseek(-1, 0, SEEK_CUR);
    return unused;
}

static void *vfork_and_work(void *other)
{
    pid_t child = vfork();
    if (child == 0) {
        lseek(-1, 0, SEEK_CUR);
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        _exit(3);
    lseek(-1, 0, SEEK_CUR);
    if (pthread_create(other, NULL, work, NULL) != 0)
        _exit(4);
    return work(NULL);
}

int main(int count, char **arguments)
{
    pthread_t first, other;
    if (count != 2)
        return 2;
    calls = atol(arguments[1]);
    if (pthread_create(&first, NULL, vfork_and_work, &other) != 0)
        return 4;
    pthread_join(first, NULL);
    pthread_join(other, NULL);
    return 0;
}
