/*
 * progressing.c - how far running calls are, as they say or as the clock does.
 *
 * A call that says nothing is shown too once it has been running for LIMIT_PROGRESS_LATE_MS. One
 * timer looks for those, while there are running calls at all.
 */

#include "base/clock.h"
#include "call/stage.h"

#define LOOK_MS 500

static void
begin(struct call *c, const struct progress_news *news)
{
	int64_t ran_us = (int64_t)(clock_mono_us() - c->called_mono_us);

	c->progress = progress_begin(c->gw->progress,
				     &(struct progress_about){
					 .id = id_str(&c->id),
					 .tool_use_id = c->tool_use_id,
					 .tool = c->tool_name,
					 .session = id_str(&c->session->id),
					 .turn = id_str(&c->turn->id),
					 .parent = str_of(c->called_event),
					 .started_us = clock_wall_us() - ran_us,
					 .cancellable = true,
				     },
				     news);
}

/* They stand in the order they began. */
static void
look(void *arg)
{
	struct gateway *gw = arg;
	uint64_t now = clock_mono_us();

	LIST_EACH (&gw->at[PLACE_RUNNING], at) {
		struct call *c = CONTAINER_OF(at, struct call, in_place);
		if (now - c->called_mono_us < LIMIT_PROGRESS_LATE_MS * UINT64_C(1000))
			break;
		if (!c->progress)
			begin(c, &(struct progress_news){.current = 0});
	}
	if (gw->at[PLACE_RUNNING].len)
		(void)timer_start(gw->loop, &gw->long_calls, LOOK_MS, look, gw);
}

/* Without the timer (no memory) a call is only not shown. */
void
progressing_begin(struct call *c)
{
	if (!timer_running(&c->gw->long_calls))
		(void)timer_start(c->gw->loop, &c->gw->long_calls, LIMIT_PROGRESS_LATE_MS, look,
				  c->gw);
}

void
progressing_tell(struct call *c, const struct json *params)
{
	struct progress_news news = {.label = json_str(json_get(params, S("message")))};

	if (c->place != PLACE_RUNNING && c->place != PLACE_ENDING)
		return;
	json_double(json_get(params, S("progress")), &news.current);
	json_double(json_get(params, S("total")), &news.total);
	if (c->progress)
		progress_tell(c->gw->progress, c->progress, &news);
	else
		begin(c, &news);
}

void
progressing_end(struct call *c)
{
	progress_end(c->gw->progress, &c->progress);
}
