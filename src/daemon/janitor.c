/* janitor.c - now and then: forgets what is old enough, ends sessions nobody came back to, gives
 * memory back.
 */

#include <malloc.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/pages.h"
#include "base/spare.h"
#include "daemon/hf.h"
#include "effect/ledger.h"

#define FIRST_ROUND_MS (60 * 1000) /* not while people wait for the start */
#define ROUND_MS (60 * 60 * 1000)
#define FIRST_TIDY_MS 500 /* what the start took is no longer needed */
#define TIDY_MS (30 * 1000)
#define DAY_US (INT64_C(86400) * 1000000)

/* On a worker; what could not be read now can be the next time. */
static void
sweep(void *arg)
{
	struct hf *hf = arg;

	(void)artifacts_expire(hf->artifacts, clock_wall_us(), NULL, NULL);
	(void)undo_expire(hf->undo, clock_wall_us(), NULL);
	confine_sweep();
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
	if (hf->ledger) {
		ledger_sweep(hf->ledger);
		ledger_prune(hf->ledger, clock_wall_us() - hf->config.retention_days * DAY_US);
	}
	store_prune(hf->store, clock_wall_us() - hf->config.retention_days * DAY_US);
	timer_start(hf->loop, &hf->janitor, ROUND_MS, round_due, hf);
}

/* On a worker: a connection may be in the middle of a commit. */
static void
release(void *arg)
{
	struct hf *hf = arg;

	if (hf->store)
		store_release(hf->store);
	if (hf->undo)
		undo_release(hf->undo);
	if (hf->ledger)
		ledger_release(hf->ledger);
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	pages_release();
}

static void
released(void *arg)
{
	struct hf *hf = arg;

	hf->releases = false;
}

/* How tools are listed is written again, in a millisecond for a thousand of them, when the next
 * client comes. What was freed in between is still ours to the system, and after a rush that can
 * be a lot. */
static void
tidy(void *arg)
{
	struct hf *hf = arg;

	spare_tidy();
	for (size_t i = 0; i < catalog_count(hf->catalog); i++)
		tool_unlist(catalog_at(hf->catalog, i));
	if (hf->tidied != hf->gw.count.calls + 1 && !hf->releases)
		hf->releases = work_start(hf->loop, &hf->releasing, release, released, hf) == 0;
	hf->tidied = hf->gw.count.calls + 1;
	timer_start(hf->loop, &hf->tidy, TIDY_MS, tidy, hf);
}

void
hf__stop_janitor(struct hf *hf)
{
	timer_stop(hf->loop, &hf->janitor);
	timer_stop(hf->loop, &hf->tidy);
}

void
hf__start_janitor(struct hf *hf)
{
	timer_start(hf->loop, &hf->tidy, FIRST_TIDY_MS, tidy, hf);
	timer_start(hf->loop, &hf->janitor, FIRST_ROUND_MS, round_due, hf);
}
