/* curl.c - finding libcurl's functions. */

#include "net/curl.h"

#include <dlfcn.h>

struct curl_functions libcurl;

static const struct {
	const char *name;
	size_t at;
} functions[] = {
#define FUNCTION(name) {"curl_" #name, offsetof(struct curl_functions, name)},
    CURL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

int
curl_load(struct err *e)
{
	static void *library;

	if (library)
		return 0;
	void *found = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!found)
		return err_set(e, E_UNAVAILABLE, "servers behind https need libcurl: %s",
			       dlerror());
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		void *function = dlsym(found, functions[i].name);
		if (!function) {
			err_set(e, E_UNAVAILABLE, "libcurl is too old: it has no %s",
				functions[i].name);
			dlclose(found);
			return E_UNAVAILABLE;
		}
		memcpy((char *)&libcurl + functions[i].at, &function, sizeof(function));
	}
	library = found;
	return 0;
}
