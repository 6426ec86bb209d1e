/* Makes calls while a timer's handler makes calls of the same kind, and says how many were made. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile long handled;

static void handler(int number)
{
    (void)number;
    lseek(-1, 0, SEEK_CUR);
    handled++;
}

int main(int count, char **arguments)
{
    long calls = count > 1 ? atol(arguments[1]) : 1000;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 20}, {0, 20}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < calls; i++)
        lseek(-1, 0, SEEK_CUR);
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    dprintf(1, "%ld %ld\n", calls, handled);
    return 0;
}
