/*
 * api.h - the gateway as commands see it: REST, wherever it runs.
 *
 *	a daemon answers on the Unix socket   ->  that one
 *	none does                             ->  one in this process, on a second thread
 *
 * Each exchange has a connection of its own: a person may think for minutes between two, and
 * an idle connection would be gone. The socket is the one HOLDFAST_SOCKET names, else the one of
 * the gateway that holds the state directory (holder.h), else the usual one.
 */

#ifndef CLI_API_H
#define CLI_API_H

#include "base/paths.h"
#include "json/json.h"
#include "net/client.h"

struct api;

enum api_where {
	API_ANY,     /* the daemon, or else this process with the journal */
	API_DRY,     /* the daemon, or else this process with nothing kept */
	API_DAEMON,  /* the daemon only: E_STOPPING when there is none */
	API_PRIVATE, /* this process only */
	API_WHERE = 0xf,
	/* With one of them: the servers of the configuration are needed. Without it a gateway in
	 * this process starts none of them. */
	API_SERVERS = 0x10,
	API_ALONE = 0x20, /* with API_DRY: not the daemon, and what is logged is for a program */
};
int api_open(int where, const char *config, struct api **ret, struct err *e);
/* As api_open, but says what is wrong; EXIT_FINE or EXIT_NO_GATEWAY. */
int api_enter(int where, struct api **ret);
int api_enter_daemon(struct api **ret); /* of API_DAEMON, without a gateway in the program */
void api_close(struct api *api);        /* takes NULL */
struct hf;
struct api *api_around(struct hf *hf); /* of a gateway that runs already and stays the caller's */

bool api_is_daemon(const struct api *api);
int api_socket(struct path *out, bool make, struct err *e);
int api_connect(struct api *api, struct client **ret, struct err *e);

/* An answer, read. */
struct reply {
	int status;
	struct buf body;
	struct json_doc *doc;    /* NULL when there was no JSON */
	const struct json *root; /* inside doc */
};
void api_done(struct reply *r); /* zeroed memory too */

/*
 * One exchange. 0 when there was an answer of any status; a body {NULL,0} sends none.
 * The reply must be done with in both cases.
 */
int api_request(struct api *api, const char *method, const char *target, struct str body,
		struct reply *ret, struct err *e);
/*
 * The same for commands: EXIT_FINE with an answer of 2xx, otherwise what was wrong is on
 * standard error and an exit code comes back. `ret` is then already done with.
 */
int api_ask(struct api *api, const char *method, const char *target, struct str body,
	    struct reply *ret);
int api_get(struct api *api, struct reply *ret, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Says the "message" of an error body, or the status; EXIT_REFUSED. */
int api_refuse(const struct reply *r);

/*
 * Open a stream of events. EXIT_FINE; EXIT_NO_GATEWAY with the reason in e, not said yet, for
 * whoever wants to try again; or what the gateway refused, said.
 */
int api_events(struct api *api, const char *target, struct client **ret, struct err *e);

/* Percent-encoded, for a path segment or a query value. */
void url_add(struct buf *out, struct str text);

/* A member of an object as text: {NULL,0} when it is no string. */
struct str member(const struct json *object, const char *name);
int64_t member_int(const struct json *object, const char *name); /* 0 when it is none */

#endif
