/* api_here.c - the daemon if there is one, or else being the gateway oneself. */

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "cli/api_inside.h"
#include "cli/args.h"
#include "holdfast.h"
#include "loop/child.h"

struct here {
	struct api api; /* first: it is freed as one */
	struct hf *hf;
	pthread_t thread; /* that runs it */
	bool running;
	bool borrowed; /* hf is somebody else's */
};

static struct here *
here_of(struct api *api)
{
	return CONTAINER_OF(api, struct here, api);
}

static int
here_connect(struct api *api, int *ret_fd)
{
	return hf_connect(here_of(api)->hf, ret_fd);
}

static void
here_close(struct api *api)
{
	struct here *h = here_of(api);

	if (h->running) {
		hf_stop(h->hf);
		pthread_join(h->thread, NULL);
	}
	if (!h->borrowed)
		hf_close(h->hf);
}

static const struct api_ops here_ops = {here_connect, here_close};

static void *
run(void *arg)
{
	hf_run(arg);
	return NULL;
}

/* Signals are for the thread that talks with the person. */
static int
start_thread(struct here *h, struct err *e)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int errnum = pthread_create(&h->thread, NULL, run, h->hf);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errnum)
		return err_errno(e, E_SYSTEM, errnum, "pthread_create");
	h->running = true;
	return 0;
}

static int
here_begin(struct here *h, int where, const char *config, struct err *e)
{
	char here[LIMIT_PATH];
	struct hf_options options = {
	    .config = config,
	    .workspace = getcwd(here, sizeof(here)),
	    .ephemeral = (where & API_WHERE) == API_DRY,
	    .no_servers = !(where & API_SERVERS),
	    .alone = true,
	};

	child_become_reaper(); /* better with it, possible without */
	log_set_level(LOG_WARN);
	log_set_form(where & API_ALONE ? LOG_FORM_JSON : LOG_FORM_TEXT);
	int code = hf_open(&options, &h->hf);
	if (code < 0)
		return err_set(e, code, "%s", hf_error(NULL));
	return start_thread(h, e);
}

static int
here_open(int where, const char *config, struct api **ret, struct err *e)
{
	struct here *h = calloc(1, sizeof(*h));

	if (!h)
		return err_plain(e, E_NOMEM);
	h->api.ops = &here_ops;
	int code = here_begin(h, where, config, e);
	if (code < 0)
		api_close(&h->api);
	else
		*ret = &h->api;
	return code;
}

int
api_open(int where, const char *config, struct api **ret, struct err *e)
{
	int code = E_STOPPING;

	if ((where & API_WHERE) != API_PRIVATE && !(where & API_ALONE))
		code = api__daemon(ret, e);
	/* Only when nobody answers: a socket that others could stand behind is no reason to go on.
	 */
	if (code == E_STOPPING && (where & API_WHERE) != API_DAEMON)
		code = here_open(where, config, ret, e);
	return code;
}

int
api_enter(int where, struct api **ret)
{
	struct err e;

	if ((where & API_WHERE) == API_DAEMON)
		return api_enter_daemon(ret);
	if (api_open(where, NULL, ret, &e) == 0)
		return EXIT_FINE;
	refuse("%s", err_text(&e));
	return EXIT_NO_GATEWAY;
}

struct api *
api_around(struct hf *hf)
{
	struct here *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	*h = (struct here){.api.ops = &here_ops, .hf = hf, .borrowed = true};
	return &h->api;
}
