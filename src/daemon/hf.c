/* hf.c - the life of a gateway behind the public header, and its doors. */

#include "daemon/hf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "db/db.h"

#define STOP_GRACE_MS 2000

static _Thread_local struct err open_error; /* of the last hf_open that failed */

int
hf__fail(struct hf *hf, const struct err *e)
{
	hf->err = *e;
	return e->code;
}

void
hf__open_failed(const struct err *e)
{
	open_error = *e;
}

const char *
hf_error(const struct hf *hf)
{
	return err_text(hf ? &hf->err : &open_error);
}

/* Whoever came too late is not kept waiting. */
static void
refuse_late(struct hf *hf)
{
	pthread_mutex_lock(&hf->lock);
	hf->closed = true;
	while (hf->fd_count > 0)
		close(hf->fds[--hf->fd_count]);
	pthread_mutex_unlock(&hf->lock);
}

/* The end, in order: calls, then servers, then doors, then the loop. */
static void
doors_closed(void *arg)
{
	struct hf *hf = arg;

	refuse_late(hf);
	hf->stopped = true;
	loop_stop(hf->loop);
}

static void
servers_over(void *arg)
{
	struct hf *hf = arg;

	hf->servers_over = true;
	front_stop(hf->front, STOP_GRACE_MS, doors_closed, hf);
}

static void
calls_over(void *arg)
{
	struct hf *hf = arg;

	upstreams_stop(hf->upstreams, servers_over, hf);
}

static void
stop_on_loop(struct hf *hf)
{
	if (hf->stopping)
		return;
	hf->stopping = true;
	gateway_stop(&hf->gw, calls_over, hf);
}

static void
letters(void *arg)
{
	struct hf *hf = arg;
	int fds[HF_WAITING_FDS];
	struct err e;

	pthread_mutex_lock(&hf->lock);
	size_t count = hf->fd_count;
	bool stop = hf->stop_asked, reload = hf->reload_asked;
	memcpy(fds, hf->fds, sizeof(fds));
	hf->fd_count = 0;
	hf->reload_asked = false;
	pthread_mutex_unlock(&hf->lock);

	for (size_t i = 0; i < count; i++)
		if (http_adopt(front_server(hf->front), fds[i], &e) < 0)
			log_line(LOG_ERROR, "a connection was not taken", "error", err_text(&e),
				 "inside", e.inside, NULL);
	hf__tell_progress(hf);
	hf__wake_calls(hf);
	if (reload)
		hf__reload(hf, true);
	if (stop)
		stop_on_loop(hf);
}

static void
servers_ended(void *arg)
{
	struct hf *hf = arg;

	hf->servers_over = true;
	loop_stop(hf->loop);
}

/* Nothing of a gateway that could not be opened goes on. */
static void
abandon(struct hf *hf)
{
	if (hf->upstreams) {
		upstreams_stop(hf->upstreams, servers_ended, hf);
		while (!hf->servers_over)
			loop_run(hf->loop);
	}
	hf->stopped = true;
	hf_close(hf);
}

int
hf_open(const struct hf_options *options, struct hf **ret)
{
	static const struct hf_options defaults;
	struct hf *hf = calloc(1, sizeof(*hf));
	int code;

	*ret = NULL;
	if (!hf)
		return err_plain(&open_error, E_NOMEM);
	pthread_mutex_init(&hf->lock, NULL);
	list_init(&hf->subscribers);
	list_init(&hf->change_readers);
	list_init(&hf->told);
	if (options && options->alone)
		db_alone();
	code = hf__wire(hf, options ? options : &defaults);
	if (code == 0)
		code = mailbox_init(hf->loop, &hf->mailbox, letters, hf, &hf->err);
	if (code < 0) {
		open_error = hf->err;
		abandon(hf);
		return code;
	}
	*ret = hf;
	return 0;
}

int
hf_run(struct hf *hf)
{
	loop_run(hf->loop);
	return 0;
}

void
hf_stop(struct hf *hf)
{
	pthread_mutex_lock(&hf->lock);
	hf->stop_asked = true;
	pthread_mutex_unlock(&hf->lock);
	mailbox_post(&hf->mailbox);
}

void
hf_reload(struct hf *hf)
{
	pthread_mutex_lock(&hf->lock);
	hf->reload_asked = true;
	pthread_mutex_unlock(&hf->lock);
	mailbox_post(&hf->mailbox);
}

const char *
hf_config_schema(void)
{
	return config_schema().ptr;
}

int
hf_config_check(const char *file, void (*warn)(const char *sentence, void *arg), void *arg)
{
	struct config c = {0};
	struct buf line = BUF_INIT(2 * KIB);
	char here[LIMIT_PATH];
	struct config_source from = {.path = file, .workspace = getcwd(here, sizeof(here))};
	int code = config_load(&from, &c, &open_error);

	for (size_t i = 0; code == 0 && warn && i < c.warning_count; i++)
		warn(c.warnings[i], arg);
	for (size_t i = 0; code == 0 && warn && i < c.server_count; i++) {
		if (!c.servers[i].problem.len)
			continue;
		buf_reset(&line);
		buf_addf(&line, "%.*s: %.*s", STR_ARG(c.servers[i].name),
			 STR_ARG(c.servers[i].problem));
		warn(buf_z(&line), arg);
	}
	buf_done(&line);
	config_done(&c);
	return code;
}

void
hf_close(struct hf *hf)
{
	if (!hf)
		return;
	if (!hf->stopped) {
		stop_on_loop(hf);
		while (!hf->stopped)
			loop_run(hf->loop);
	}
	if (hf->mailbox.async)
		mailbox_done(&hf->mailbox);
	hf__unwire(hf);
	pthread_mutex_destroy(&hf->lock);
	free(hf);
}

int
hf_listen(struct hf *hf, const char *host, uint16_t port, uint16_t *ret_port)
{
	uint16_t bound = port;
	struct err e;
	int code = 0;

	if (!http_is_loopback(host) && !hf->token_required)
		code = err_set(&e, E_FORBIDDEN,
			       "%s can be reached by others: a token must be required first", host);
	if (code == 0)
		code = http_listen_tcp(front_server(hf->front), host, port, &bound, &e);
	if (code == 0 && (code = front_allow_host(hf->front, host)) < 0)
		err_plain(&e, code);
	if (code < 0)
		return hf__fail(hf, &e);
	hf->reachable = hf->reachable || !http_is_loopback(host);
	front_page_at(hf->front, host, bound);
	if (ret_port)
		*ret_port = bound;
	return 0;
}

int
hf_listen_unix(struct hf *hf, const char *path)
{
	struct err e;
	int code = http_listen_unix(front_server(hf->front), path, &e);

	return code < 0 ? hf__fail(hf, &e) : 0;
}

int
hf_require_token(struct hf *hf, const char *token)
{
	struct err e;
	int code = 0;

	if (!token && hf->reachable)
		code =
		    err_set(&e, E_FORBIDDEN, "others can reach this gateway: the token must stay");
	else if ((code = front_set_token(hf->front, token)) < 0)
		err_plain(&e, code);
	if (code < 0)
		return hf__fail(hf, &e);
	hf->token_required = token != NULL;
	return 0;
}

int
hf_connect(struct hf *hf, int *ret_fd)
{
	int pair[2], code = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return E_SYSTEM;
	pthread_mutex_lock(&hf->lock);
	if (hf->closed)
		code = E_STOPPING;
	else if (hf->fd_count == HF_WAITING_FDS)
		code = E_LIMIT;
	else
		hf->fds[hf->fd_count++] = pair[1];
	pthread_mutex_unlock(&hf->lock);
	if (code < 0) {
		close(pair[0]);
		close(pair[1]);
		return code;
	}
	mailbox_post(&hf->mailbox);
	*ret_fd = pair[0];
	return 0;
}
