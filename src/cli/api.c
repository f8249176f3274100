/* api.c - finding the daemon, and exchanges with a gateway, wherever it is. */

#include "cli/api_inside.h"

#include <stdlib.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/holder.h"

int
api_socket(struct path *out, bool make, struct err *e)
{
	const char *named = getenv("HOLDFAST_SOCKET");
	struct holder holder;

	if (!named || !named[0]) {
		if (make || holder_find(&holder) != HOLDER_LIVES || !holder.socket.text[0])
			return path_socket(out, make, e);
		*out = holder.socket;
		return 0;
	}
	if (strlen(named) >= sizeof(out->text))
		return err_set(e, E_CONFIG, "HOLDFAST_SOCKET is too long");
	memcpy(out->text, named, strlen(named) + 1);
	return 0;
}

/* Somebody must answer there. */
static int
daemon_try(const struct path *socket, struct err *e)
{
	struct client *c;
	int code = client_connect_unix(socket->text, &c, e);

	if (code == 0)
		client_free(c);
	return code;
}

int
api__daemon(struct api **ret, struct err *e)
{
	struct api *api = calloc(1, sizeof(*api));
	int code;

	if (!api)
		return err_plain(e, E_NOMEM);
	if ((code = api_socket(&api->socket, false, e)) < 0 ||
	    (code = daemon_try(&api->socket, e)) < 0) {
		free(api);
		return code;
	}
	*ret = api;
	return 0;
}

int
api_enter_daemon(struct api **ret)
{
	struct err e;
	int code = api__daemon(ret, &e);

	if (code == 0)
		return EXIT_FINE;
	if (code == E_STOPPING)
		refuse("no gateway is running; `holdfast serve` starts one");
	else
		refuse("%s", err_text(&e));
	return EXIT_NO_GATEWAY;
}

void
api_close(struct api *api)
{
	if (api && api->ops)
		api->ops->close(api);
	free(api);
}

bool
api_is_daemon(const struct api *api)
{
	return api->ops == NULL;
}

int
api_connect(struct api *api, struct client **ret, struct err *e)
{
	int fd;

	if (!api->ops)
		return client_connect_unix(api->socket.text, ret, e);
	int code = api->ops->connect(api, &fd);
	return code < 0 ? err_plain(e, code) : client_adopt(fd, ret, e);
}

static const struct json_limits answer_limits = {LIMIT_CLIENT_ANSWER, LIMIT_JSON_DEPTH};

static void
reply_parse(struct reply *r)
{
	if (json_parse(buf_str(&r->body), &answer_limits, &r->doc, NULL) == 0)
		r->root = json_root(r->doc);
}

int
api_request(struct api *api, const char *method, const char *target, struct str body,
	    struct reply *ret, struct err *e)
{
	struct client *c = NULL;
	int code;

	*ret = (struct reply){.body = BUF_INIT(LIMIT_CLIENT_ANSWER)};
	if ((code = api_connect(api, &c, e)) < 0)
		return code;
	code = client_request(c, method, target, body, &ret->status, &ret->body, e);
	client_free(c);
	if (code < 0)
		return code;
	reply_parse(ret);
	return 0;
}

void
api_done(struct reply *r)
{
	json_doc_unref(r->doc);
	buf_done(&r->body);
	*r = (struct reply){0};
}

int
api_refuse(const struct reply *r)
{
	struct str message = member(json_get(r->root, S("error")), "message");

	return message.len ? refuse("%.*s", STR_ARG(message))
			   : refuse("the gateway answered with HTTP status %d", r->status);
}

int
api_ask(struct api *api, const char *method, const char *target, struct str body, struct reply *ret)
{
	struct err e;
	int code = EXIT_FINE;

	if (api_request(api, method, target, body, ret, &e) < 0) {
		refuse("%s", err_text(&e));
		code = EXIT_NO_GATEWAY;
	} else if (ret->status < 200 || ret->status > 299) {
		code = api_refuse(ret);
	} else if (!ret->root) {
		code = refuse("the gateway's answer cannot be read");
	}
	if (code != EXIT_FINE)
		api_done(ret);
	return code;
}

int
api_get(struct api *api, struct reply *ret, const char *fmt, ...)
{
	struct buf target = BUF_INIT(LIMIT_HTTP_FIELD);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&target, fmt, ap);
	va_end(ap);
	const char *z = buf_z(&target);
	int code =
	    z ? api_ask(api, "GET", z, (struct str){NULL, 0}, ret) : refuse("that is too long");
	buf_done(&target);
	return code;
}

int
api_events(struct api *api, const char *target, struct client **ret, struct err *e)
{
	struct reply answer = {.body = BUF_INIT(64 * KIB)};
	struct client *c = NULL;
	int code = EXIT_NO_GATEWAY;

	if (api_connect(api, &c, e) == 0 &&
	    client_events(c, target, &answer.status, &answer.body, e) == 0) {
		reply_parse(&answer);
		code = answer.status == 200 ? EXIT_FINE : api_refuse(&answer);
	}
	if (code == EXIT_FINE)
		*ret = c;
	else
		client_free(c);
	api_done(&answer);
	return code;
}

void
url_add(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			     (c >= 'a' && c <= 'z') || (c && strchr("-._~", c));
		if (plain)
			buf_addc(out, (char)c);
		else
			buf_addf(out, "%%%02X", c);
	}
}

struct str
member(const struct json *object, const char *name)
{
	return json_str(json_get(object, str_of(name)));
}

int64_t
member_int(const struct json *object, const char *name)
{
	int64_t n = 0;

	json_int(json_get(object, str_of(name)), &n);
	return n;
}
