/* fetch_curl.h - one request that curl carries; for fetch_curl*.c alone. */

#ifndef NET_FETCH_CURL_H
#define NET_FETCH_CURL_H

#include "net/curl.h"

#include "net/fetch_inside.h"

struct curl_fetch {
	struct fetch fetch; /* first */
	CURL *easy;
	struct curl_slist *headers;
	char *body;
	unsigned attempts; /* to send it: curl tries again when a kept connection was dead */
	bool added;        /* curl has it */
	bool stopped;      /* curl has been told to pause */
	char problem[CURL_ERROR_SIZE];
};

/* What the request says and how it travels, told to curl: all but its callbacks. */
int fetch__curl_set(struct curl_fetch *f, struct err *e);

#endif
