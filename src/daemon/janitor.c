/* janitor.c - now and then: forgets what is old enough, ends sessions nobody came back to. */

#include "base/clock.h"
#include "base/limits.h"
#include "daemon/hf.h"

#define FIRST_ROUND_MS (60 * 1000) /* not while people wait for the start */
#define ROUND_MS (60 * 60 * 1000)
#define DAY_US (INT64_C(86400) * 1000000)

/* On a worker; what could not be read now can be the next time. */
static void
sweep(void *arg)
{
	struct hf *hf = arg;

	(void)artifacts_expire(hf->artifacts, clock_wall_us(), NULL, NULL);
}

static void
swept(void *arg)
{
	struct hf *hf = arg;

	hf->sweeps = false;
}

static void
round_due(void *arg)
{
	struct hf *hf = arg;
	uint64_t now = clock_mono_ms();
	struct session *s;

	while (now > LIMIT_SESSION_IDLE_MS &&
	       (s = session_idle(hf->sessions, now - LIMIT_SESSION_IDLE_MS)))
		gateway_end_session(&hf->gw, s);
	if (!hf->sweeps && work_start(hf->loop, &hf->sweeping, sweep, swept, hf) == 0)
		hf->sweeps = true;
	/* A full queue will have room the next time. */
	store_prune(hf->store, clock_wall_us() - hf->config.retention_days * DAY_US);
	timer_start(hf->loop, &hf->janitor, ROUND_MS, round_due, hf);
}

void
hf__start_janitor(struct hf *hf)
{
	timer_start(hf->loop, &hf->janitor, FIRST_ROUND_MS, round_due, hf);
}
