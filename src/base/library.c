/* library.c - finding the functions of a shared library. */

#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

static void
put(const struct library_function *f, void *ret, void *function)
{
	memcpy((char *)ret + f->at, &function, sizeof(function));
}

void *
library_load(const char *const *names, const struct library_function *functions, size_t count,
	     void *ret, struct err *e)
{
	const char *name = *names, *missing = NULL;
	void *library = NULL;

	for (; *names && !library; names++)
		library = dlopen(name = *names, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		err_set(e, E_UNAVAILABLE, "%s", dlerror());
	for (size_t i = 0; i < count; i++) {
		void *function = library ? dlsym(library, functions[i].name) : NULL;
		missing = function ? missing : functions[i].name;
		put(&functions[i], ret, function);
	}
	if (!library || !missing)
		return library;
	err_set(e, E_UNAVAILABLE, "%s is too old: it has no %s", name, missing);
	for (size_t i = 0; i < count; i++)
		put(&functions[i], ret, NULL);
	dlclose(library);
	return NULL;
}
