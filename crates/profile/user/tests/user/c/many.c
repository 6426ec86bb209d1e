/* Makes CALLS cheap calls in each of THREADS threads, after forking CHILDREN processes in several ways
 * that do the same. All calls are lseek(2), which fails at once. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long calls;
static int threads;

static void *work(void *unused)
{
    for (long i = 0; i < calls; i++)
        if (lseek(-1, 0, SEEK_CUR) != -1 || errno != EBADF)
            _exit(3);
    return unused;
}

static void work_in_threads(void)
{
    pthread_t all[64];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, work, NULL) != 0)
            _exit(4);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
}

int main(int count, char **arguments)
{
    if (count != 4)
        return 2;
    calls = atol(arguments[1]);
    threads = atoi(arguments[2]);
    int children = atoi(arguments[3]);
    /* This thread has a region before it forks. */
    lseek(-1, 0, SEEK_CUR);
    for (int i = 0; i < children; i++) {
        /* The system call itself, without the C library's handlers, every other time. */
        pid_t child = i % 2 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            work_in_threads();
            /* Every third ends without destructors. */
            if (i % 3 == 0)
                _exit(0);
            exit(0);
        }
    }
    work_in_threads();
    int status;
    while (wait(&status) > 0)
        if (status != 0)
            return 5;
    pid_t child = vfork();
    if (child == 0) {
        lseek(-1, 0, SEEK_CUR);
        _exit(0);
    }
    wait(NULL);
    lseek(-1, 0, SEEK_CUR);
    return 0;
}
