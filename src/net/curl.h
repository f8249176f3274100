/*
 * curl.h - libcurl, loaded when it is first needed; for src/net alone.
 *
 * It brings some thirty libraries along, and with them a fifth of our memory and start time. Who
 * has no server behind https does without.
 */

#ifndef NET_CURL_H
#define NET_CURL_H

#define CURL_DISABLE_TYPECHECK /* its macros know the functions by their names alone */
#include <curl/curl.h>

#include "base/err.h"

#define CURL_FUNCTIONS(X)                                                                          \
	X(easy_cleanup)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_init)                                                                               \
	X(easy_pause)                                                                              \
	X(easy_reset)                                                                              \
	X(easy_setopt)                                                                             \
	X(easy_strerror)                                                                           \
	X(free)                                                                                    \
	X(global_cleanup)                                                                          \
	X(global_init)                                                                             \
	X(multi_add_handle)                                                                        \
	X(multi_cleanup)                                                                           \
	X(multi_info_read)                                                                         \
	X(multi_init)                                                                              \
	X(multi_remove_handle)                                                                     \
	X(multi_setopt)                                                                            \
	X(multi_socket_action)                                                                     \
	X(slist_append)                                                                            \
	X(slist_free_all)                                                                          \
	X(url)                                                                                     \
	X(url_cleanup)                                                                             \
	X(url_get)                                                                                 \
	X(url_set)

struct curl_functions {
#define FUNCTION(name) __typeof__(&curl_##name) name;
	CURL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};
extern struct curl_functions libcurl; /* libcurl.easy_init() */

/* Once for the process; it stays. E_UNAVAILABLE says what is missing. Loop thread. */
int curl_load(struct err *e);

#endif
