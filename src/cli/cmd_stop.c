/* cmd_stop.c - ask the running gateway to end, and wait until it has. */

#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/args.h"
#include "cli/api.h"
#include "cli/term.h"

#define STOP_MS 15000 /* longer than a gateway takes to end its calls */
#define LOOK_MS 50

static bool
is_gone(void)
{
	struct api *api;
	struct err e;

	if (api_open(API_DAEMON, NULL, &api, &e) < 0)
		return true;
	api_close(api);
	return false;
}

int
cmd_stop(const struct args *a)
{
	struct progress progress = {0};
	struct reply done;
	struct api *api;
	int code = api_enter(API_DAEMON, &api);

	(void)a;
	if (code != EXIT_FINE)
		return code;
	code = api_ask(api, "POST", "/stop", S("{}"), &done);
	api_close(api);
	if (code != EXIT_FINE)
		return code;
	api_done(&done);
	uint64_t until = clock_mono_ms() + STOP_MS;
	while (!is_gone()) {
		if (clock_mono_ms() > until) {
			progress_erase(&progress);
			return refuse("the gateway was told to stop, but still answers");
		}
		progress_draw(&progress, "waiting for running calls to end", (struct str){NULL, 0});
		poll(NULL, 0, LOOK_MS);
	}
	progress_erase(&progress);
	printf("stopped\n");
	return EXIT_FINE;
}
