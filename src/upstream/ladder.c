/*
 * ladder.c - which era an upstream is of: server/discover first, then initialize.
 *
 *	answers to server/discover	        verdict
 *	a result with our version	        modern
 *	-32022 with our version		        asked once more
 *	-32022 with versions we do not speak    a failure
 *	any other error, other 4xx	        legacy
 *	401, 403, 5xx, no connection	        a failure; says nothing of the era
 *	a child that is silent		        legacy, for now
 *	a child that ends		        legacy: started again, and not asked any more
 *
 * That one is legacy is remembered for some days; then it is asked again, for it may have been
 * brought up to date. One that was silent, or is remembered, and then refuses initialize is asked
 * again at once: it was slow to start, or has been brought up to date since. One that was silent
 * and then ends did so by initialize or by the probe, and nobody knows which: it is started again
 * and asked the one alone, with all the time that a start has.
 */

#include "upstream/inside.h"

#include <stdio.h>

#include "base/clock.h"
#include "net/url.h"

#define DAY_S 86400

static void initialize(struct upstream *u);

static bool
is_legacy(enum mcp_revision r)
{
	return r > MCP_UNKNOWN && r < MCP_2026_07_28;
}

static int64_t
now_s(void)
{
	return clock_wall_us() / 1000000;
}

static void
era_remember(struct upstream *u, enum mcp_era era)
{
	u->known.has_era = true;
	u->known.era = era;
	u->known.era_at = now_s();
	upstreams__save(u);
}

void
ladder__forget(struct upstream *u)
{
	if (!u->known.has_era)
		return;
	u->known.has_era = false;
	upstreams__save(u);
}

static bool
known_modern(const struct upstream *u)
{
	return u->known.has_era && u->known.era == ERA_MODERN;
}

static bool
known_legacy(const struct upstream *u)
{
	int64_t age = now_s() - u->known.era_at;

	return u->known.has_era && u->known.era == ERA_LEGACY && age >= 0 &&
	       age < (int64_t)LIMIT_UPSTREAM_ERA_DAYS * DAY_S;
}

static void
fail(struct upstream *u, const char *text)
{
	struct err e;

	err_set(&e, E_UNAVAILABLE, "%s", text);
	upstream__failed(u, &e);
}

/* Nobody is at home, or the way there is closed. That is no misbehaviour: it may not be up yet. */
static bool
is_away(const struct upstream *u, const struct reply *r)
{
	return u->spec.kind == UPSTREAM_HTTP && r->status == 0 &&
	       (r->code == E_UNAVAILABLE || r->code == E_TIMEOUT);
}

/* Where, and why: of the address only host and port, for there may be secrets in the rest. */
static void
say_away(const struct upstream *u, const struct err *why, struct err *e)
{
	struct url url;
	char peer[160] = "";

	if (url_split(str_of(u->spec.url), &url, NULL) == 0)
		snprintf(peer, sizeof(peer), "%.*s:%u: ", STR_ARG(str_upto(url.host, 140)),
			 url.port);
	err_set(e, E_UNAVAILABLE, "%s%s%s%.200s%s", peer, why->text, why->inside[0] ? " (" : "",
		why->inside, why->inside[0] ? ")" : "");
}

/* A failure of the transport, or a status that says nothing of the era. */
static void
fail_reply(struct upstream *u, const struct reply *r)
{
	static const struct {
		int status;
		const char *text;
	} words[] = {
	    {401, "it wants credentials (HTTP 401): set a header with a token for it"},
	    {403, "it refuses us (HTTP 403): its token is wrong or does not suffice"},
	    {404, "there is no MCP server at its URL (HTTP 404)"},
	    {405, "there is no MCP server at its URL (HTTP 405)"},
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (r->status == words[i].status) {
			fail(u, words[i].text);
			return;
		}
	struct err e;
	if (is_away(u, r))
		say_away(u, r->err, &e);
	else if (r->code < 0)
		e = *r->err;
	else
		err_set(&e, E_UNAVAILABLE, "it does not start a session: %.*s",
			STR_ARG(str_utf8_upto(rpc_error_message(r->error), 300)));
	e.code = E_UNAVAILABLE;
	u->away = is_away(u, r);
	upstream__failed(u, &e);
}

static bool
tells_nothing(int status)
{
	return status == 401 || status == 403 || status == 408 || status == 429 || status >= 500;
}

/* It was heard, and turned down. */
static bool
is_refusal(const struct upstream *u, const struct reply *r)
{
	if (tells_nothing(r->status))
		return false;
	return r->error || r->status >= 400 ||
	       (u->spec.kind == UPSTREAM_STDIO && r->code == E_EXECUTION);
}

/* ---- modern ---- */

/* What a list of versions has for us. */
struct offer {
	bool modern, legacy, other;
};

static struct offer
offer_read(const struct json *versions)
{
	struct offer o = {0};

	for (struct json_iter it = json_iter(versions); json_next(&it);) {
		enum mcp_revision r = mcp_revision(json_str(it.value));
		o.modern |= r == MCP_2026_07_28;
		o.legacy |= is_legacy(r);
		o.other |= r == MCP_UNKNOWN;
	}
	return o;
}

static void
modern_begin(struct upstream *u, const struct json *result)
{
	const struct json *meta = json_get(result, S("_meta"));
	struct err e;

	u->era = ERA_MODERN;
	u->revision = MCP_2026_07_28;
	if (known__about(&u->known, MCP_MODERN, json_get(meta, S(META_SERVER)),
			 json_get(result, S("capabilities")),
			 json_str(json_get(result, S("instructions"))), &e) < 0) {
		upstream__failed(u, &e);
		return;
	}
	if (!known_modern(u))
		era_remember(u, ERA_MODERN);
	upstream__climbed(u);
}

static void probe(struct upstream *u);

static void
legacy_after_probe(struct upstream *u, bool sure)
{
	u->sure_legacy = sure;
	initialize(u);
}

static void
probe_refused(struct upstream *u, const struct reply *r)
{
	const struct json *data = json_get(r->error, S("data"));
	struct offer o = offer_read(json_get(data, S("supported")));

	if (rpc_error_code(r->error) != RPC_VERSION) {
		legacy_after_probe(u, true);
	} else if (o.modern && !u->probed_twice) {
		u->probed_twice = true;
		probe(u);
	} else if (o.legacy) {
		legacy_after_probe(u, true);
	} else {
		fail(u, "it speaks no version of the protocol that we do");
	}
}

static void
probe_answered(struct upstream *u, const struct json *result)
{
	const struct json *versions = json_get(result, S("supportedVersions"));
	struct offer o = offer_read(versions);

	if (o.modern)
		modern_begin(u, result);
	else if (o.other && !o.legacy)
		fail(u, "it speaks no version of the protocol that we do");
	else
		legacy_after_probe(u, true);
}

static void
probe_over(struct ask *a, const struct reply *r)
{
	struct upstream *u = CONTAINER_OF(a, struct upstream, climb);
	bool stdio = u->spec.kind == UPSTREAM_STDIO;

	u->probing = false;
	u->silent = stdio && r->code == E_TIMEOUT; /* it may only be slow today */
	if (u->silent)
		ladder__forget(u);
	if (r->result)
		probe_answered(u, r->result);
	else if (r->error && is_refusal(u, r))
		probe_refused(u, r);
	else if (is_refusal(u, r) || u->silent)
		legacy_after_probe(u, !u->silent);
	else
		fail_reply(u, r);
}

/* A child may be one that passes over what it does not know: only so long, unless it is known to
 * answer, or its silence was taken for that by mistake. */
static unsigned
probe_ms(const struct upstream *u)
{
	bool brief = u->spec.kind == UPSTREAM_STDIO && !u->patient && !known_modern(u);

	return brief && u->spec.start_ms > LIMIT_UPSTREAM_PROBE_MS ? LIMIT_UPSTREAM_PROBE_MS
								   : u->spec.start_ms;
}

static void
probe(struct upstream *u)
{
	struct ask_spec s = {
	    .method = S("server/discover"),
	    .era = ERA_MODERN,
	    .timeout_ms = probe_ms(u),
	};
	struct err e;

	u->probing = true;
	u->climb.answer = probe_over;
	if (ask__send(u, &u->climb, &s, &e) < 0)
		upstream__failed(u, &e);
}

/* ---- legacy ---- */

static void
initialize_write(struct jw *w, void *arg)
{
	(void)arg;
	jw_member_z(w, "protocolVersion", MCP_LEGACY);
	jw_key(w, "capabilities");
	jw_raw(w, S("{\"roots\":{},\"sampling\":{},\"elicitation\":{\"form\":{},\"url\":{}}}"));
	jw_key(w, "clientInfo"), jw_object(w);
	jw_member_z(w, "name", "holdfast");
	jw_member_z(w, "version", HOLDFAST_VERSION);
	jw_end(w);
}

static void
legacy_begin(struct upstream *u, const struct json *result)
{
	struct str version = json_str(json_get(result, S("protocolVersion")));
	struct err e;

	u->revision = mcp_revision(version);
	if (!is_legacy(u->revision)) {
		err_set(&e, E_UNAVAILABLE, "it speaks version \"%.*s\" of the protocol",
			STR_ARG(str_utf8_upto(version, 40)));
		upstream__failed(u, &e);
		return;
	}
	u->era = ERA_LEGACY;
	if (known__about(&u->known, mcp_revision_name(u->revision),
			 json_get(result, S("serverInfo")), json_get(result, S("capabilities")),
			 json_str(json_get(result, S("instructions"))), &e) < 0) {
		upstream__failed(u, &e);
		return;
	}
	if (u->sure_legacy)
		era_remember(u, ERA_LEGACY);
	wire__note(u, "notifications/initialized", NULL, NULL);
	u->link->ops->listen(u->link, u->revision);
	upstream__climbed(u);
}

/* Was it a mistake to take it for legacy? Once in a start. */
static bool
is_doubtful(const struct upstream *u, const struct reply *r)
{
	return is_refusal(u, r) && (u->silent || known_legacy(u)) && !u->spec.no_probe &&
	       !u->doubted;
}

static void
initialize_over(struct ask *a, const struct reply *r)
{
	struct upstream *u = CONTAINER_OF(a, struct upstream, climb);

	if (r->result) {
		legacy_begin(u, r->result);
	} else if (is_doubtful(u, r)) {
		u->doubted = true;
		ladder__forget(u);
		probe(u);
	} else {
		if (r->code == E_TIMEOUT)
			ladder__forget(u); /* the next start asks */
		fail_reply(u, r);
	}
}

static void
initialize(struct upstream *u)
{
	struct ask_spec s = {
	    .method = S("initialize"),
	    .params = initialize_write,
	    .bare = true,
	    .era = ERA_LEGACY,
	    .timeout_ms = u->spec.start_ms,
	};
	struct err e;

	u->era = ERA_LEGACY;
	u->revision = MCP_UNKNOWN;
	u->climb.answer = initialize_over;
	if (ask__send(u, &u->climb, &s, &e) < 0)
		upstream__failed(u, &e);
}

/* ---- from outside ---- */

void
ladder__climb(struct upstream *u)
{
	u->probed_twice = u->silent = u->doubted = false;
	u->patient = u->wait_probe;
	u->wait_probe = false;
	if (u->spec.no_probe || u->skip_probe || known_legacy(u)) {
		u->sure_legacy = u->skip_probe && !known_legacy(u);
		u->skip_probe = false;
		initialize(u);
	} else {
		u->sure_legacy = false;
		probe(u);
	}
}

/* It ended after the probe had gone unanswered, or after it had refused initialize. */
static bool
lost_by_mistake(const struct upstream *u)
{
	return u->spec.kind == UPSTREAM_STDIO && (u->silent || u->doubted) && !u->patient;
}

bool
ladder__lost(struct upstream *u)
{
	bool mistaken = lost_by_mistake(u);
	bool by_probe =
	    !mistaken && u->probing && u->spec.kind == UPSTREAM_STDIO && !known_modern(u);
	bool at_once = (by_probe && !u->probe_cleared) || (mistaken && !u->patience_spent);

	ladder__forget(u); /* the next time it is found out anew */
	u->probing = false;
	u->probe_cleared |= by_probe; /* the next time it may have been something else */
	u->patience_spent |= mistaken;
	u->skip_probe = by_probe;
	u->wait_probe = mistaken;
	return at_once;
}
