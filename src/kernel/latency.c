/* latency.c - how long an emission took, against what its mode allows. */

#include "kernel/latency.h"

static const struct {
	unsigned p95_s;
	enum latency_status late, heavy;
} modes[] = {
    [MODE_LITE] = {4, LATENCY_ERROR, LATENCY_ERROR},
    [MODE_STANDARD] = {6, LATENCY_WARNING, LATENCY_WARNING},
    [MODE_STRICT] = {12, LATENCY_WARNING, LATENCY_OK},
};

enum latency_mode
latency_mode_parse(struct str name)
{
	for (unsigned i = 0; i < MODE_UNKNOWN; i++)
		if (str_is(name, mode_names[i]))
			return i;
	return MODE_UNKNOWN;
}

static const char *
code_of(enum latency_status status, const char *warning)
{
	switch (status) {
	case LATENCY_OK: return NULL;
	case LATENCY_WARNING: return warning;
	case LATENCY_ERROR: return "E_LATENCY_INVARIANT";
	}
	BUG("a latency of no status");
}

struct latency
latency_check(enum latency_mode mode, uint64_t observed_us, bool heavy)
{
	struct latency l = {.mode = mode, .observed_us = observed_us};

	if (mode == MODE_UNKNOWN) {
		l.status = LATENCY_ERROR;
		l.code = "E_LATENCY_MODE";
		return l;
	}
	l.ceiling_s = modes[mode].p95_s;
	if (observed_us > (uint64_t)l.ceiling_s * 1000000) {
		l.status = modes[mode].late;
		l.code = code_of(l.status, "W_LATENCY_BREACH");
	} else if (heavy) {
		l.status = modes[mode].heavy;
		l.code = code_of(l.status, "W_LATENCY_EXTRA");
	}
	l.breach = l.status != LATENCY_OK;
	return l;
}

void
latency_enter(const struct latency *l, struct effects *fx)
{
	static const char *const severities[] = {"ok", "warning", "error"};
	struct jw w = jw(&fx->meta);

	/* An object whose braces are the ledger's. */
	fx->enters = true;
	fx->entry = (struct ledger_entry){.type = LEDGER_LATENCY};
	jw_object(&w);
	buf_reset(&fx->meta);
	jw_member_z(&w, "mode", mode_names[l->mode]);
	jw_key(&w, "observed_latency"), jw_double(&w, (double)l->observed_us / 1e6);
	jw_member_int(&w, "ceiling", l->ceiling_s);
	jw_member_z(&w, "severity", severities[l->status]);
}
