/* http_inside.h - what http*.c share: the plan of a tool, and a request made after it. */

#ifndef PROVIDER_HTTP_INSIDE_H
#define PROVIDER_HTTP_INSIDE_H

#include "base/limits.h"
#include "base/sha256.h"
#include "net/url.h"
#include "provider/http.h"

/* A piece of a template: text, or an argument. */
struct http_part {
	struct str text;
	struct str argument; /* {NULL,0}: it is text */
	bool slashes;        /* {+argument}: those in it stay */
};

struct http_template {
	struct http_part *parts;
	size_t count;
};

enum http_style { STYLE_FORM, STYLE_SPACE, STYLE_PIPE, STYLE_DEEP };

/* Of the query, the headers, or the cookies. */
struct http_field {
	struct str name;
	struct http_template value;
	enum http_style style;
	bool explode; /* an array becomes several of it */
	bool whole;   /* the value is one argument and nothing else */
};

struct http_fields {
	struct http_field *at;
	size_t count;
};

enum http_meaning { MEANS_NOTHING, MEANS_SUCCESS, MEANS_FAILED, MEANS_RETRY, MEANS_UNKNOWN };

struct http_rule {
	int from, to; /* status */
	enum http_meaning meaning;
};

struct http_plan {
	struct arena *arena;
	struct json_doc *doc;    /* a reference: templates stand in it */
	struct json_doc *filled; /* the body, its variables filled in; or NULL */
	char method[8];
	bool looks;   /* GET or HEAD */
	bool carries; /* what is not used elsewhere goes into the body, else into the query */
	struct http_template url;
	struct str host; /* for people: without secrets */
	struct http_fields query, headers, cookies;
	const struct json *body; /* NULL: all that is left */
	bool bodyless;           /* it was said that there is none */
	bool form;
	bool follows;
	size_t max_bytes;
	struct http_rule *rules;
	size_t rule_count;
	struct guard *guard;
	const char *key_header; /* NULL: none */
	struct str *used;       /* arguments that url, query, headers and cookies have */
	size_t used_count;
	struct str *secrets; /* values of variables */
	size_t secret_count;
	http_reader *reader; /* NULL: http_read */
	struct sha256 seal;  /* over the values of variables */
};

/* timeout_ms: 0 where config says nothing. */
int http__plan_new(struct json_doc *doc, const struct json *config, const struct json *schema,
		   const struct http_settings *settings, const struct variables *vars,
		   struct http_plan **ret, unsigned *timeout_ms, struct err *e);
void http__plan_free(void *plan);

/* One request. */
struct http_request {
	struct buf url;
	struct buf lines; /* headers, each with a NUL behind it */
	size_t line_count;
	struct buf body;
	bool has_body;
};
void http__request_init(struct http_request *r);
void http__request_done(struct http_request *r);
/* key: of the effect, or {NULL,0}. E_VALIDATION names the argument. E_TOO_LARGE, E_NOMEM. */
int http__request_fill(const struct http_plan *p, const struct json *args, struct str key,
		       struct http_request *r, struct err *e);
/* NULL-terminated, into `to`, which has room for LIMIT_HTTP_HEADERS. */
void http__request_lines(const struct http_request *r, const char **to);

/* Taken out of text: what variables of the plan have for values. */
void http__redact(const struct http_plan *p, struct buf *text);

#endif
