/* curl.c - finding libcurl's functions. */

#include "net/curl.h"

#include "base/library.h"

struct curl_functions libcurl;

static const struct library_function functions[] = {
#define FUNCTION(name) {"curl_" #name, offsetof(struct curl_functions, name)},
    CURL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

int
curl_load(struct err *e)
{
	static const char *const names[] = {"libcurl.so.4", NULL};
	static void *library;
	struct err why = ERR_NONE;

	if (!library)
		library = library_load(names, functions, ARRAY_LEN(functions), &libcurl, &why);
	return library ? 0
		       : err_set(e, E_UNAVAILABLE, "servers behind https need libcurl: %s",
				 err_text(&why));
}
