// Ends walks of the C library by exceptions.
#include <cstdio>
#include <dirent.h>
#include <ftw.h>
#include <stdexcept>

static int told, gone;

struct Witness {
	~Witness() { gone++; }
};

static int tell(const char *, const struct stat *, int, struct FTW *)
{
	Witness witness;
	if (++told == 50)
		throw std::runtime_error("enough");
	return 0;
}

static int refuse(const struct dirent *)
{
	throw 5;
}

int main(int, char **words)
{
	const int all[] = {FTW_PHYS, 0, FTW_PHYS | FTW_DEPTH};
	for (int flags : all) {
		told = gone = 0;
		try {
			nftw(words[1], tell, 3, flags);
		} catch (const std::exception &caught) {
			std::printf("%s %d %d\n", caught.what(), told, gone);
		}
	}
	try {
		struct dirent **entries;
		scandir(words[1], &entries, refuse, alphasort);
	} catch (int caught) {
		std::printf("%d\n", caught);
	}
	nftw(words[1], tell, 3, FTW_PHYS);
	std::printf("%d\n", told > 60);
}
