/*
 * reload.c - the configuration read again while everything goes on.
 *
 *	the file has changed, or somebody asks  -->  load on a worker  -->  put in force, or reject
 *
 * A file that is wrong changes nothing: the old configuration stays, and the reason is in the log,
 * in an event and in GET /status. Calls in flight have copied what they need of it.
 */

#include <stdlib.h>

#include "base/log.h"
#include "daemon/hf.h"

#define DISABLED_TOLD 32 /* names */

static void
load(void *arg)
{
	struct hf *hf = arg;
	struct reloading *r = &hf->reloading;

	if (!r->forced) {
		char now[DIGEST_TEXT];
		config_digest(hf->config_path, now);
		r->same = strcmp(now, r->tried) == 0;
		if (r->same)
			return;
	}
	r->code = config_load(&hf->source, &r->next, &r->err);
}

/* What was taken out of it when the gateway was made. */
static void
tune(struct hf *hf)
{
	builtin_repair_all(hf->catalog, hf->config.builtin.repair_arguments);
	struct artifacts_spec results = hf__artifacts_spec(hf);
	artifacts_tune(hf->artifacts, &results);
	struct undo_spec kept = hf__undo_spec(hf);
	undo_tune(hf->undo, &kept);
	hf__turns_set(hf);
	front_set_workspace(hf->front, hf->config.workspace);
	kernels_rule(hf->kernels, &hf->config.kernel);
}

static int
set_tenants(struct hf *hf, const struct config *c, struct err *e)
{
	struct err unheard;

	return tenants_configure(hf->tenants, c->tenants, c->tenant_count, e ? e : &unheard);
}

static bool
same_tenants(const struct config *a, const struct config *b)
{
	const struct json *x = a->tenants_doc ? json_root(a->tenants_doc) : NULL;
	const struct json *y = b->tenants_doc ? json_root(b->tenants_doc) : NULL;

	if (!a->tenant_count || !b->tenant_count)
		return a->tenant_count == b->tenant_count;
	return json_equal(json_get(x, S("tenants")), json_get(y, S("tenants")));
}

static int
put_in_force(struct hf *hf)
{
	struct config old = hf->config;
	struct err *e = &hf->reloading.err;
	int code = hf__hooks_set(hf, &hf->reloading.next, e);

	if (code < 0)
		return code;
	if ((code = set_tenants(hf, &hf->reloading.next, e)) < 0 ||
	    (code = hf__definitions_set(hf, &hf->reloading.next, e)) < 0 ||
	    (code = hf__servers_set(hf, &hf->reloading.next, e)) < 0) {
		(void)set_tenants(hf, &old, NULL); /* as far as it can be had back */
		tenants_drop_unsaid(hf->tenants);
		hf__definitions_back(hf, &hf->reloading.next);
		(void)hf__servers_set(hf, &old, NULL);
		(void)hf__hooks_set(hf, &old, NULL);
		return code;
	}
	hf->config = hf->reloading.next;
	hf->reloading.next = (struct config){0};
	hf->gw.policy = hf->config.policy;
	hf->gw.tunings = hf->config.tunings; /* calls under way keep theirs */
	hf->gw.toolbox = hf->config.toolbox;
	tenants_drop_unsaid(hf->tenants);
	gateway_end_orphans(&hf->gw);
	if (!same_tenants(&old, &hf->config))
		mcp_changed(hf->front, CHANGED_TOOLS | CHANGED_PROMPTS | CHANGED_RESOURCES);
	tune(hf);
	hf__servers_refresh(hf, &old);
	config_done(&old);
	return 0;
}

static void
tell(struct hf *hf, int code)
{
	struct event_draft draft = {.type =
					code < 0 ? EVENT_CONFIG_REJECTED : EVENT_CONFIG_RELOADED};
	struct jw *w = bus_begin(hf->bus, &draft);

	jw_member_z(w, "file", hf->config_path);
	if (code < 0)
		jw_member_z(w, "error", err_text(&hf->reloading.err));
	else
		jw_member_int(w, "servers", (int64_t)hf->config.server_count);
	bus_end(hf->bus, NULL);
	if (code < 0)
		log_line(LOG_ERROR, "the new configuration is not used", "error",
			 err_text(&hf->reloading.err), "inside", hf->reloading.err.inside, NULL);
	else
		log_line(LOG_INFO, "the configuration was read again", "file", hf->config_path,
			 NULL);
}

static void
settle(struct hf *hf)
{
	struct reloading *r = &hf->reloading;

	memcpy(r->tried, r->next.digest, sizeof(r->tried));
	if (r->code == 0)
		r->code = put_in_force(hf);
	r->wrong = r->code < 0;
	r->loads++;
	tell(hf, r->code);
	if (r->code == 0)
		hf__warn(hf);
}

static void
loaded(void *arg)
{
	struct hf *hf = arg;
	struct reloading *r = &hf->reloading;

	r->running = r->forced = false;
	if (!r->same && !hf->stopping)
		settle(hf);
	r->same = false;
	config_done(&r->next);
	if (r->again)
		hf__reload(hf, r->again_forced);
}

void
hf__reload(struct hf *hf, bool forced)
{
	struct reloading *r = &hf->reloading;

	if (r->running) {
		r->again_forced = r->again && r->again_forced ? true : forced;
		r->again = true;
		return;
	}
	r->again = r->again_forced = false;
	if (hf->stopping)
		return;
	r->forced = forced;
	r->running = work_start(hf->loop, &r->work, load, loaded, hf) == 0;
}

static void
file_changed(void *arg)
{
	hf__reload(arg, false);
}

/* Without it SIGHUP still works. */
void
hf__watch_config(struct hf *hf)
{
	struct err e;

	memcpy(hf->reloading.tried, hf->config.digest, sizeof(hf->reloading.tried));
	if (watch_new(hf->loop, hf->config_path, CONFIG_QUIET_MS, file_changed, hf, &hf->watch,
		      &e) < 0)
		log_line(LOG_WARN, "the configuration is not watched", "error", err_text(&e), NULL);
}

/* For GET /status. */
void
hf__write_config(struct jw *w, void *arg)
{
	const struct hf *hf = arg;
	const struct reloading *r = &hf->reloading;

	jw_member_z(w, "config_error", r->wrong ? err_text(&r->err) : NULL);
	jw_key(w, "config");
	jw_object(w);
	jw_member_z(w, "file", hf->config_path);
	jw_member_z(w, "digest", r->tried);
	jw_member_int(w, "loads", (int64_t)r->loads);
	jw_member_z(w, "workspace", hf->config.workspace);
	jw_member_int(w, "warnings", (int64_t)hf->config.warning_count);
	jw_key(w, "disabled");
	jw_array(w);
	for (size_t i = 0; i < hf->config.disabled_count && i < DISABLED_TOLD; i++)
		jw_z(w, hf->config.disabled[i]);
	jw_end(w);
	jw_end(w);
	hf__definitions_write(w, hf);
}
