/*
 * cmd_serve.c - the daemon: opens the gateway, its doors, and stays until it is told to stop.
 *
 * Signals are taken by a thread of their own: the first asks the gateway to stop, the second (or
 * ten seconds of waiting) ends the process at once, until the gateway is closed. SIGHUP has the
 * configuration read again.
 */

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "cli/api.h"
#include "cli/args.h"
#include "cli/find.h"
#include "cli/holder.h"
#include "cli/serve.h"
#include "cli/term.h"
#include "holdfast.h"
#include "loop/child.h"
#include "net/http.h"

#define STOP_MS 10000
#define LOOK_SECONDS 1
#define LOOK_MS 20
#define FILES_WANTED 16384
#define NUDGE SIGUSR1 /* from our own main thread: look what has changed */

struct daemon {
	const struct args *args;
	struct listen listen;
	struct path socket;
	struct path token_file;
	struct path workspace;
	int hold;               /* on the state directory; -1 = it keeps nothing there */
	char token[TOKEN_TEXT]; /* "" = none is asked for */
	uint64_t idle_seconds;  /* 0 = for ever */
	struct hf *hf;
	pthread_t watch;
	atomic_bool over;   /* hf_run has returned */
	sem_t let_go;       /* the watch does not touch hf any more */
	atomic_bool closed; /* hf is gone */
};

/* What was asked for */

static int
read_idle(struct daemon *d)
{
	const char *idle = args_value(d->args, "idle-exit");

	if (idle && (!str_to_u64(str_of(idle), &d->idle_seconds) || d->idle_seconds == 0))
		return usage_error(d->args, "--idle-exit takes a number of seconds");
	return EXIT_FINE;
}

static int
read_log_level(const struct args *a)
{
	const char *name = args_value(a, "log-level");
	enum log_level level;

	if (!name)
		return EXIT_FINE;
	if (!log_level_parse(name, &level))
		return usage_error(a, "--log-level: '%s' is not one of debug, info, warn, error",
				   name);
	log_set_level(level);
	log_set_calls(level <= LOG_INFO);
	return EXIT_FINE;
}

/* Where one is started by hand is where its tools work; one that the system starts is nowhere. */
static int
read_workspace(struct daemon *d)
{
	if (args_given(d->args, "workspace"))
		return find_workspace(d->args, &d->workspace);
	if (!realpath(".", d->workspace.text) || strcmp(d->workspace.text, "/") == 0)
		d->workspace.text[0] = '\0';
	return EXIT_FINE;
}

static int
read_options(struct daemon *d)
{
	struct err e;
	int code;

	if (listen_parse(args_value(d->args, "listen"), &d->listen, &e) < 0)
		return usage_error(d->args, "--listen: %s", err_text(&e));
	if (args_given(d->args, "no-auth") && d->listen.tcp && !http_is_loopback(d->listen.host))
		return usage_error(
		    d->args,
		    "--no-auth is for loopback addresses only: anybody who reaches %s could run "
		    "commands here",
		    d->listen.host);
	if ((code = read_idle(d)) != EXIT_FINE || (code = read_log_level(d->args)) != EXIT_FINE)
		return code;
	return read_workspace(d);
}

static int
read_token(struct daemon *d, struct err *e)
{
	int code;

	if (!d->listen.tcp || args_given(d->args, "no-auth"))
		return 0;
	if (args_given(d->args, "ephemeral")) {
		token_make(d->token);
		return 0;
	}
	if ((code = path_in_state(&d->token_file, TOKEN_FILE, e)) < 0)
		return code;
	return token_load(d->token_file.text, d->token, e);
}

static int
find_socket(struct daemon *d, struct err *e)
{
	const char *given = args_value(d->args, "socket");

	if (!given)
		return api_socket(&d->socket, true, e);
	if (strlen(given) >= sizeof(d->socket.text))
		return err_set(e, E_CONFIG, "--socket is too long");
	memcpy(d->socket.text, given, strlen(given) + 1);
	return 0;
}

/* As a shell takes it: quoted where it must be. */
static void
shell_word(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+:@%,=";
	bool quote = word[strspn(word, plain)] != '\0';

	buf_addz(out, quote ? "'" : "");
	for (; *word; word++)
		if (*word == '\'')
			buf_addz(out, "'\\''");
		else
			buf_addc(out, *word);
	buf_addz(out, quote ? "'" : "");
}

/* The command that ends the gateway on a socket. */
static const char *
stop_command(const struct daemon *d, const char *socket, struct buf *out)
{
	if (args_given(d->args, "socket")) {
		buf_addz(out, "HOLDFAST_SOCKET=");
		shell_word(out, socket);
		buf_addc(out, ' ');
	}
	buf_addz(out, "holdfast stop");
	return buf_z(out);
}

/* "; its status page is at http://..." of the one that runs already, as far as it tells. */
static void
page_text(struct buf *out, struct client *c)
{
	struct buf body = BUF_INIT(64 * KIB);
	struct json_doc *doc = NULL;
	int status;

	if (client_request(c, "GET", "/status", (struct str){NULL, 0}, &status, &body, NULL) == 0 &&
	    json_parse(buf_str(&body), &json_door, &doc, NULL) == 0 &&
	    member(json_root(doc), "page").len)
		buf_addf(out, "; its status page is at %.*s",
			 STR_ARG(member(json_root(doc), "page")));
	json_doc_unref(doc);
	buf_done(&body);
}

/* Says who answers on a socket; false: nobody does. */
static bool
refuse_running(const struct daemon *d, const char *socket)
{
	struct buf stop = BUF_INIT(8 * LIMIT_PATH), page = BUF_INIT(64 * KIB);
	struct ucred peer = {0};
	struct client *c;
	struct err e;

	if (client_connect_unix(socket, &c, &e) < 0)
		return false;
	getsockopt(client_fd(c), SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){sizeof(peer)});
	page_text(&page, c);
	client_free(c);
	refuse("a gateway is running already (process %d, on %s)%.*s", (int)peer.pid, socket,
	       STR_ARG(buf_str(&page)));
	fprintf(stderr, "To stop it: %s\n", stop_command(d, socket, &stop));
	if (d->hold >= 0) /* it has another state directory, and the same socket */
		fputs("To run another beside it: --socket PATH\n", stderr);
	buf_done(&stop);
	buf_done(&page);
	return true;
}

/* Two gateways on one state directory would share neither questions nor slots. One that holds it
 * and does not answer is about to begin or to end. */
static int
hold_state(struct daemon *d, struct err *e)
{
	uint64_t until = clock_mono_ms() + STOP_MS;
	struct holder other;
	struct path dir;
	int code;

	if ((code = path_state(&dir, e)) < 0 || (code = path_make_dir(dir.text, e)) < 0)
		return code;
	while ((code = holder_become(d->socket.text, &d->hold, e)) == E_EXISTS) {
		if (holder_find(&other) == HOLDER_LIVES && refuse_running(d, other.socket.text))
			return E_EXISTS;
		if (clock_mono_ms() > until) {
			refuse("process %llu holds the state directory %s, and does not answer",
			       (unsigned long long)other.pid, dir.text);
			return E_EXISTS;
		}
		poll(NULL, 0, LOOK_MS);
	}
	return code;
}

/* The socket and the state directory are ours, or it was said whose they are. */
static int
take_place(struct daemon *d)
{
	struct err e;
	int code = find_socket(d, &e);

	if (code == 0 && !args_given(d->args, "ephemeral"))
		code = hold_state(d, &e);
	if (code == E_EXISTS)
		return EXIT_REFUSED;
	if (code < 0) {
		refuse("%s", err_text(&e));
		return EXIT_NO_GATEWAY;
	}
	return refuse_running(d, d->socket.text) ? EXIT_REFUSED : EXIT_FINE;
}

/* The doors */

static int
refuse_port(const struct daemon *d, int code, const char *why)
{
	if (code != E_EXISTS)
		return refuse("cannot listen: %s", why);
	return refuse("port %u of %s is in use; give another with --listen %s:PORT (0 takes a "
		      "free one), or --listen none",
		      d->listen.port, d->listen.host, d->listen.host);
}

/* Looked at before the gateway is opened, which starts its servers. */
static int
try_tcp(const struct daemon *d)
{
	struct err e;
	int code = d->listen.tcp ? http_try_tcp(d->listen.host, d->listen.port, &e) : 0;

	if (code == 0 || (code == E_EXISTS && d->listen.yields))
		return EXIT_FINE;
	return refuse_port(d, code, err_text(&e));
}

static int
open_tcp(struct daemon *d)
{
	uint16_t port;
	int code = hf_listen(d->hf, d->listen.host, d->listen.port, &port);

	if (code == E_EXISTS && d->listen.yields)
		code = hf_listen(d->hf, d->listen.host, 0, &port);
	if (code < 0)
		return refuse_port(d, code, hf_error(d->hf));
	d->listen.port = port;
	return EXIT_FINE;
}

static int
open_doors(struct daemon *d)
{
	if (hf_require_token(d->hf, d->token[0] ? d->token : NULL) < 0)
		return refuse("%s", hf_error(d->hf));
	if (hf_listen_unix(d->hf, d->socket.text) < 0)
		return refuse("cannot listen on the socket: %s", hf_error(d->hf));
	return d->listen.tcp ? open_tcp(d) : EXIT_FINE;
}

static void
print_doors(const struct daemon *d)
{
	bool v6 = strchr(d->listen.host, ':') != NULL;
	struct buf stop = BUF_INIT(8 * LIMIT_PATH);

	printf("%sholdfast %s%s\n", paint(stdout, BOLD), hf_version(), paint(stdout, PLAIN));
	if (d->listen.tcp)
		printf("  status page  http://%s%s%s:%u/%s%s\n", v6 ? "[" : "", d->listen.host,
		       v6 ? "]" : "", d->listen.port, d->token[0] ? "#token=" : "", d->token);
	if (d->token_file.text[0])
		printf("  token        %s\n", d->token_file.text);
	printf("  socket       %s\n", d->socket.text);
	printf("  to stop      Ctrl-C, or: %s\n", stop_command(d, d->socket.text, &stop));
	fflush(stdout);
	buf_done(&stop);
}

/* Stopping */

static bool
is_idle(struct api *api, int64_t *calls_before)
{
	struct reply status;
	bool idle = false;

	if (api_request(api, "GET", "/status", (struct str){NULL, 0}, &status, NULL) == 0) {
		int64_t calls = member_int(json_get(status.root, S("totals")), "calls");
		idle = calls == *calls_before && member_int(status.root, "sessions") == 0 &&
		       member_int(status.root, "watchers") == 0;
		*calls_before = calls;
	}
	api_done(&status);
	return idle;
}

/* Until a signal asks for the end, or nothing has happened for long enough. */
static void
wait_for_end(struct daemon *d, const sigset_t *set)
{
	struct api *api = d->idle_seconds ? api_around(d->hf) : NULL;
	uint64_t idle = 0;
	int64_t calls = 0;

	while (!d->over && (!d->idle_seconds || idle < d->idle_seconds)) {
		int n = api ? sigtimedwait(set, NULL, &(struct timespec){LOOK_SECONDS, 0})
			    : sigwaitinfo(set, NULL);
		if (n == SIGINT || n == SIGTERM)
			break;
		if (n == SIGHUP)
			hf_reload(d->hf); /* it is there until this thread has let it go */
		if (n < 0 && api)
			idle = is_idle(api, &calls) ? idle + LOOK_SECONDS : 0;
	}
	api_close(api);
}

/* The signal that was one too many; 0: the gateway is closed, or has taken too long. */
static int
wait_for_close(const struct daemon *d, const sigset_t *set)
{
	uint64_t now, until = clock_mono_ms() + STOP_MS;

	while (!d->closed && (now = clock_mono_ms()) < until) {
		struct timespec left = {.tv_sec = (time_t)((until - now) / 1000),
					.tv_nsec = (long)((until - now) % 1000) * 1000000};
		int n = sigtimedwait(set, NULL, &left);
		if (n == SIGINT || n == SIGTERM)
			return n;
	}
	return 0;
}

static void
serve_signals(sigset_t *set)
{
	term_signals(set);
	sigaddset(set, NUDGE);
}

static void *
watch(void *arg)
{
	struct daemon *d = arg;
	sigset_t set;

	serve_signals(&set);
	wait_for_end(d, &set);
	if (!d->over)
		log_line(LOG_INFO, "stopping", NULL);
	hf_stop(d->hf);
	sem_post(&d->let_go);
	int n = wait_for_close(d, &set);
	if (d->closed)
		return NULL;
	log_line(LOG_WARN, n > 0 ? "ending at once" : "the gateway does not stop; ending it", NULL);
	if (!d->over)
		unlink(d->socket.text); /* later it may be another's */
	holder_leave(d->hold);
	_exit(n > 0 ? EXIT_SIGNAL + n : EXIT_REFUSED);
}

/* The watch may be waiting for a signal; this one asks for nothing. */
static void
nudge(struct daemon *d, atomic_bool *what)
{
	*what = true;
	pthread_kill(d->watch, NUDGE);
}

static int
run(struct daemon *d)
{
	sem_init(&d->let_go, 0, 0);
	if (pthread_create(&d->watch, NULL, watch, d) != 0)
		return refuse("cannot start a thread");
	print_doors(d);
	hf_run(d->hf);
	nudge(d, &d->over);
	while (sem_wait(&d->let_go) < 0)
		;
	hf_close(d->hf);
	d->hf = NULL;
	nudge(d, &d->closed);
	pthread_join(d->watch, NULL);
	log_line(LOG_INFO, "stopped", NULL);
	return EXIT_FINE;
}

/* Nobody else of the same user reads our memory or environment: the token is in it. */
static void
keep_secrets(void)
{
	struct rlimit none = {0};

	setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* its leak checker has to look */
	prctl(PR_SET_DUMPABLE, 0);
#endif
}

/* Connections, workspaces and servers each hold some; the soft limit is for programs of old. */
static void
allow_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= FILES_WANTED)
		return;
	files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static int
open_gateway(struct daemon *d)
{
	struct hf_options options = {
	    .config = args_value(d->args, "config"),
	    .ephemeral = args_given(d->args, "ephemeral"),
	    .workspace = d->workspace.text[0] ? d->workspace.text : NULL,
	    .alone = true,
	};
	struct err e;

	if (read_token(d, &e) < 0) {
		refuse("%s", err_text(&e));
		return EXIT_NO_GATEWAY;
	}
	child_become_reaper(); /* better with it, possible without */
	keep_secrets();
	allow_files();
	if (hf_open(&options, &d->hf) < 0) {
		refuse("%s", hf_error(NULL));
		return EXIT_NO_GATEWAY;
	}
	return EXIT_FINE;
}

int
cmd_serve(const struct args *a)
{
	struct daemon d = {.args = a, .hold = -1};
	sigset_t set;
	int code;

	if ((code = read_options(&d)) != EXIT_FINE)
		return code;
	if ((code = take_place(&d)) == EXIT_FINE && (code = try_tcp(&d)) == EXIT_FINE) {
		/* Before there is any other thread: they all inherit it. */
		serve_signals(&set);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		if ((code = open_gateway(&d)) == EXIT_FINE && (code = open_doors(&d)) == EXIT_FINE)
			code = run(&d);
		hf_close(d.hf);
	}
	holder_leave(d.hold);
	return code;
}
