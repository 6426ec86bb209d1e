/* Opens libraries that were not there a moment before.
 *
 * opens FROM TO: "libnew.so" is not found; FROM is copied to TO, by this process, and it is. The
 * same with "libchild.so", which a child copies to TO with that name in place of "libnew.so", and
 * with libraries that a thread's sibling makes while nothing else is told of it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *from, *to;

static void copy(const char *name)
{
	char path[4096], bytes[65536];
	snprintf(path, sizeof path, "%s/%s", to, name);
	int in = open(from, O_RDONLY), out = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
	ssize_t got;
	if (in < 0 || out < 0)
		perror(path), exit(3);
	while ((got = read(in, bytes, sizeof bytes)) > 0)
		if (write(out, bytes, got) != got)
			exit(3);
	close(in);
	close(out);
}

static int is_there(const char *name)
{
	void *library = dlopen(name, RTLD_NOW);
	if (!library)
		return 0;
	int (*answer)(void) = (int (*)(void))dlsym(library, "answer");
	int is_right = answer && answer() == 42;
	dlclose(library);
	return is_right;
}

static void *other(void *name)
{
	copy(name);
	return NULL;
}

static void expect(int is_right, const char *what)
{
	if (!is_right)
		fprintf(stderr, "%s\n", what), exit(1);
}

int main(int count, char **words)
{
	if (count != 3)
		return 2;
	from = words[1], to = words[2];
	for (int round = 0; round < 20; round++) {
		char name[64];
		snprintf(name, sizeof name, "libself%d.so", round);
		expect(!is_there(name), "found before it is there");
		copy(name);
		expect(is_there(name), "what the process made is not found");

		snprintf(name, sizeof name, "libchild%d.so", round);
		expect(!is_there(name), "found before it is there");
		pid_t child = fork();
		if (child == 0) {
			char path[4096];
			snprintf(path, sizeof path, "%s/%s", to, name);
			execlp("cp", "cp", from, path, NULL);
			_exit(3);
		}
		int status;
		expect(waitpid(child, &status, 0) == child && status == 0, "no child");
		expect(is_there(name), "what a child made is not found");

		snprintf(name, sizeof name, "libthread%d.so", round);
		expect(!is_there(name), "found before it is there");
		pthread_t thread;
		expect(pthread_create(&thread, NULL, other, name) == 0, "no thread");
		pthread_join(thread, NULL);
		expect(is_there(name), "what a thread made is not found");

		char old[4096], new[4096];
		snprintf(old, sizeof old, "%s/libself%d.so", to, round);
		snprintf(new, sizeof new, "%s/libmoved%d.so", to, round);
		expect(rename(old, new) == 0, "no move");
		snprintf(name, sizeof name, "libmoved%d.so", round);
		expect(is_there(name), "what was moved there is not found");
	}
	puts("found");
	return 0;
}
