/* rest_page.c - the status page, from inside the program. */

#include "base/embedded.h"
#include "front/visit.h"

#define PAGE_HEADERS                                                                               \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; connect-src 'self'; "     \
	"style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "        \
	"form-action 'none'\r\n"                                                                   \
	"X-Frame-Options: DENY\r\n"                                                                \
	"Cross-Origin-Opener-Policy: same-origin\r\n"                                              \
	"Cross-Origin-Resource-Policy: same-origin\r\n"

static const struct {
	const char *ending;
	const char *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
};

static const char *
type_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_ends(str_of(name), str_of(types[i].ending)))
			return types[i].type;
	return "application/octet-stream";
}

static void
reply_page(const struct visit *v, struct str name)
{
	for (const struct embedded *f = embedded_pages; f->name; f++)
		if (str_is(name, f->name)) {
			http_reply(v->http, 200, type_of(f->name), f->bytes, PAGE_HEADERS);
			return;
		}
	reply_code(v->http, E_NO_ROUTE);
}

void
route_page_index(const struct visit *v)
{
	reply_page(v, S("index.html"));
}

void
route_page_asset(const struct visit *v)
{
	reply_page(v, visit_param(v, "name"));
}
