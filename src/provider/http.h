/*
 * http.h - tools that are requests over HTTP: a definition's gateway_config becomes a plan, a job
 * becomes a request made after it, the answer becomes a result.
 *
 *	method              GET POST PUT PATCH DELETE HEAD; POST where nothing is said
 *	url                 https://api.example/orders/{order_id}; arguments stand behind the host
 *	query               name -> value, "{argument}", or {argument, style, explode}
 *	headers, cookies    name -> value with {argument} and ${VARIABLE} in it
 *	body                value with "{argument}" in it, or "{*}", all arguments that are not used
 *	                    elsewhere; that is also what there is where nothing is said
 *	body_type           json or form
 *	timeout             seconds
 *	max_bytes           of the answer
 *	status              "404" or "4xx" -> success, failed, retry, unknown
 *	follow_redirects    true unless said; GET and HEAD alone
 *	allow_private, allow   addresses beside the open network (net/guard.h)
 *	idempotency_header  its name, or false
 *
 *   http_plan.c     what gateway_config says, read strictly and once
 *   http_fill.c     a request after the plan, with the arguments of one job
 *   http_answer.c   what an answer means
 *   http.c          the job: sent, redirected, reported
 *
 * An argument never changes where a request goes: not the scheme, the host or the port, and in the
 * path it is one segment, percent-encoded, unless the template says {+argument}. Values of
 * variables are in the plan alone; where one comes back in an answer it is taken out.
 */

#ifndef PROVIDER_HTTP_H
#define PROVIDER_HTTP_H

#include "net/fetch.h"
#include "net/guard.h"
#include "provider/provider.h"

/* In a body: the object of all arguments that are not used elsewhere. */
#define HTTP_ALL_ARGUMENTS "{*}"

/* Fills one ${...} in; false: why is in *problem, without values. */
struct variables {
	bool (*fill)(void *arg, struct str reference, struct buf *out, struct buf *problem);
	void *arg;
};

/* What counts for all of them. */
struct http_settings {
	unsigned timeout_ms; /* 0: LIMIT_HTTP_TOOL_MS */
	unsigned attempts;   /* in all; 0: nothing is said */
	struct guard *guard; /* borrowed; NULL: the open network alone */
};

struct http_provider;

int http_provider_new(struct loop *l, struct http_provider **ret, struct err *e);
void http_provider_free(struct http_provider *p); /* no job may be running; takes NULL */

/*
 * Makes t a tool of it, after config. doc is what config stands in. E_VALIDATION names the field
 * ("gateway_config.url: ..."), E_NOMEM.
 */
int http_fit(struct http_provider *p, struct tool *t, struct json_doc *doc,
	     const struct json *config, const struct http_settings *settings,
	     const struct variables *vars, struct err *e);

/* Two that were fitted: would they send the same? */
bool http_same(const struct tool *a, const struct tool *b);

/* An answer that came whole, for those who speak HTTP and mean more by it. */
struct http_answer {
	int status;
	struct str type;         /* of its content; may be empty */
	struct str body;         /* without secrets of ours */
	unsigned retry_after_ms; /* 0: it says nothing */
	bool cut;                /* there was more of it */
};
/* Fills j->out. NULL: as it is. */
typedef void http_reader(struct job *j, const struct http_answer *a);
/* Behind http_fit: whoever reads the answers of this tool. */
void http_read_by(struct tool *t, http_reader *reader);
/* What http itself would make of it. */
void http_read(struct job *j, const struct http_answer *a);
/* The status alone: out.err, broke, refused, unknown. True: it is a success. */
bool http_judge(struct job *j, const struct http_answer *a);

#endif
