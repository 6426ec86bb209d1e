/* Executes a program that is searched in PATH.
 *
 * exec HOW NAME: with the words "NAME", "1" to "9" and the variable ONLY=x where that is possible.
 * Prints how it ended, or why it was not executed. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *only[] = { "ONLY=x", NULL };

static void execute(const char *how, char *name)
{
	char *words[] = { name, "1", "2", "3", "4", "5", "6", "7", "8", "9", NULL };
	char *none[] = { NULL };
	if (!strcmp(how, "execvp") || !strcmp(how, "vfork"))
		execvp(name, words);
	else if (!strcmp(how, "execvpe"))
		execvpe(name, words, only);
	else if (!strcmp(how, "execlp"))
		execlp(name, name, "1", "2", "3", "4", "5", "6", "7", "8", "9", NULL);
	else if (!strcmp(how, "execlp few"))
		execlp(name, name, "1", NULL);
	else if (!strcmp(how, "no words"))
		execvp(name, none);
	else if (!strcmp(how, "no PATH"))
		unsetenv("PATH"), execvp(name, words);
}

int main(int count, char **words)
{
	int status, error = 0;
	pid_t child;
	if (count != 3)
		return 2;
	char *how = words[1], *name = words[2];
	fflush(stdout);
	if (!strncmp(how, "spawnp", 6)) {
		char *all[] = { name, "1", "2", NULL };
		posix_spawn_file_actions_t actions;
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, 1, 2);
		error = posix_spawnp(&child, name, strcmp(how, "spawnp") ? &actions : NULL, NULL,
				     all, only);
	} else if (!strcmp(how, "vfork")) {
		volatile int seen = 0;
		child = vfork();
		if (child == 0) {
			execute(how, name);
			seen = errno;
			_exit(99);
		}
		error = seen;
	} else {
		child = fork();
		if (child == 0) {
			errno = 0;
			execute(how, name);
			printf("not executed: %s\n", strerror(errno));
			fflush(stdout);
			_exit(99);
		}
	}
	if (error) {
		printf("not executed: %s\n", strerror(error));
		return 1;
	}
	if (waitpid(child, &status, 0) != child)
		return 3;
	printf("ended: %d\n", WEXITSTATUS(status));
	return 0;
}
