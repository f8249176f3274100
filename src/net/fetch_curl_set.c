/* fetch_curl_set.c - a request told to curl: checked first, and with nothing of the environment in
 * it.
 */

#include "net/fetch_curl.h"

#include <stdlib.h>

static int
header_append(struct curl_fetch *f, const char *line, struct err *e)
{
	struct curl_slist *more = libcurl.slist_append(f->headers, line);

	if (!more)
		return err_plain(e, E_NOMEM);
	f->headers = more;
	return 0;
}

/* With an empty value curl would leave the header out; a semicolon says that it is meant. */
static int
header_add(struct curl_fetch *f, const char *line, bool *typed, struct err *e)
{
	struct buf empty = BUF_INIT(LIMIT_HTTP_FIELD);
	struct str name, value;
	int r = fetch__header_check(line, &name, &value, e);

	if (r < 0)
		return r;
	if (str_eq_nocase(name, S("Content-Type")))
		*typed = true;
	if (value.len)
		return header_append(f, line, e);
	buf_addf(&empty, "%.*s;", STR_ARG(name));
	const char *z = buf_z(&empty);
	r = z ? header_append(f, z, e) : err_plain(e, E_TOO_LARGE);
	buf_done(&empty);
	return r;
}

static int
headers_set(struct curl_fetch *f, const char *const *lines, struct err *e)
{
	bool typed = false;
	int r = header_append(f, "Expect:", e);

	for (; r == 0 && lines && *lines; lines++)
		r = header_add(f, *lines, &typed, e);
	if (r == 0 && !typed) /* else curl would say it is a form */
		r = header_append(f, "Content-Type:", e);
	if (r == 0)
		libcurl.easy_setopt(f->easy, CURLOPT_HTTPHEADER, f->headers);
	return r;
}

static int
url_set(struct curl_fetch *f, const char *url, struct err *e)
{
	CURLU *u = libcurl.url();
	char *scheme = NULL;
	bool good;

	if (!u)
		return err_plain(e, E_NOMEM);
	good = libcurl.url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	       libcurl.url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	       (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
	libcurl.free(scheme);
	libcurl.url_cleanup(u);
	if (!good)
		return err_set(e, E_VALIDATION, "this is not an address of http or https");
	if (libcurl.easy_setopt(f->easy, CURLOPT_URL, url) != CURLE_OK)
		return err_plain(e, E_NOMEM);
	return 0;
}

static int
body_set(struct curl_fetch *f, struct str body, struct err *e)
{
	f->body = malloc(body.len + 1);
	if (!f->body)
		return err_plain(e, E_NOMEM);
	if (body.len)
		memcpy(f->body, body.ptr, body.len);
	libcurl.easy_setopt(f->easy, CURLOPT_POSTFIELDS, f->body);
	libcurl.easy_setopt(f->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
	return 0;
}

static int
method_set(struct curl_fetch *f, const struct fetch_spec *spec, struct err *e)
{
	bool post = strcmp(spec->method, "POST") == 0;
	int r = 0;

	if (post || spec->body.ptr)
		r = body_set(f, spec->body, e);
	else if (strcmp(spec->method, "HEAD") == 0)
		libcurl.easy_setopt(f->easy, CURLOPT_NOBODY, 1L);
	if (r == 0 && !post &&
	    libcurl.easy_setopt(f->easy, CURLOPT_CUSTOMREQUEST, spec->method) != CURLE_OK)
		r = err_plain(e, E_NOMEM);
	return r;
}

static const struct {
	CURLoption option;
	long value;
} figures[] = {
    {CURLOPT_NOSIGNAL, 1},
    {CURLOPT_FOLLOWLOCATION, 0},
    {CURLOPT_NETRC, CURL_NETRC_IGNORED},
    {CURLOPT_TCP_NODELAY, 1},
    {CURLOPT_TCP_KEEPALIVE, 1},
    /* A stream has a connection of its own: what another does on it cannot hold it up. */
    {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
    {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
    {CURLOPT_MAXAGE_CONN, LIMIT_FETCH_KEPT_S},
#if LIBCURL_VERSION_NUM >= 0x075700
    /* A cancelled request does not wait for the resolver: its thread is left to itself. */
    {CURLOPT_QUICK_EXIT, 1},
#endif
};

int
fetch__curl_set(struct curl_fetch *f, struct err *e)
{
	const struct fetch_spec *spec = &f->fetch.spec;
	unsigned connect_ms = spec->connect_ms ? spec->connect_ms : LIMIT_FETCH_CONNECT_MS;
	CURLcode rc = CURLE_OK;

	for (size_t i = 0; i < ARRAY_LEN(figures) && rc == CURLE_OK; i++)
		rc = libcurl.easy_setopt(f->easy, figures[i].option, figures[i].value);
	if (rc == CURLE_OK)
		rc = libcurl.easy_setopt(f->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (rc == CURLE_OK)
		rc = libcurl.easy_setopt(f->easy, CURLOPT_PROXY, "");
	if (rc == CURLE_OK)
		rc = libcurl.easy_setopt(f->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	if (rc == CURLE_OK)
		rc = libcurl.easy_setopt(f->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	if (rc != CURLE_OK) {
		err_plain(e, E_SYSTEM);
		err_inside(e, "libcurl: %s", libcurl.easy_strerror(rc));
		return E_SYSTEM;
	}
	int r = url_set(f, spec->url, e);
	if (r == 0)
		r = method_set(f, spec, e);
	if (r == 0)
		r = headers_set(f, spec->headers, e);
	return r;
}
