/* Goes elsewhere and opens a library there.
 *
 * jail ROOT: "libjail.so" is not found; with ROOT as its root directory the same path leads to
 * another directory, in which it is. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **words)
{
	if (count != 2 || dlopen("libjail.so", RTLD_NOW))
		return 2;
	if (chroot(words[1]) != 0 || chdir("/") != 0)
		return 3;
	if (!dlopen("libjail.so", RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	puts("found");
	return 0;
}
