/* tuning.c - what the configuration says of how tools are run, found by their names. */

#include "policy/tuning.h"

#include <stdlib.h>

#include "base/glob.h"
#include "base/limits.h"
#include "base/map.h"
#include "catalog/tool.h"

/* Two attempts, 200 ms, doubled up to 2 s, a fifth more or less. */
const struct tuning tuning_plain = {
    .retry = {2, 200, 2000, 2, .2},
    .breaker = {.window_ms = 30000, .rest_ms = 15000},
    .rate = {.per_ms = 60000},
    .repeat_limit = 3,
};
const struct tuning tuning_plain_server = {
    .breaker = {5, 30000, 15000},
    .rate = {.per_ms = 60000},
};

/* ---- what can be said ---- */

enum kind { COUNT, SIZE, FACTOR, FLAG, PROFILE, VALUE };

static const size_t sizes[] = {
    [COUNT] = sizeof(unsigned),
    [SIZE] = sizeof(size_t),
    [FACTOR] = sizeof(double),
    [FLAG] = sizeof(bool),
    [PROFILE] = sizeof(enum confinement_profile),
    [VALUE] = sizeof(const struct json *),
};

static const struct field {
	const char *group; /* NULL: it stands alone */
	const char *name;
	enum kind kind;
	unsigned unit; /* of ours in one of the file's */
	size_t at;
} fields[] = {
#define AT(member) offsetof(struct tuning, member)
    {NULL, "timeout_seconds", COUNT, 1000, AT(timeout_ms)},
    {NULL, "max_seconds", COUNT, 1000, AT(max_ms)},
    {"retry", "attempts", COUNT, 1, AT(retry.attempts)},
    {"retry", "initial_ms", COUNT, 1, AT(retry.initial_ms)},
    {"retry", "max_ms", COUNT, 1, AT(retry.max_ms)},
    {"retry", "multiplier", FACTOR, 1, AT(retry.multiplier)},
    {"retry", "jitter", FACTOR, 1, AT(retry.jitter)},
    {"rate", "calls", COUNT, 1, AT(rate.calls)},
    {"rate", "per_seconds", COUNT, 1000, AT(rate.per_ms)},
    {"breaker", "failures", COUNT, 1, AT(breaker.failures)},
    {"breaker", "window_seconds", COUNT, 1000, AT(breaker.window_ms)},
    {"breaker", "rest_seconds", COUNT, 1000, AT(breaker.rest_ms)},
    {NULL, "max_result_bytes", SIZE, 1, AT(max_result_bytes)},
    {NULL, "repeat_limit", COUNT, 1, AT(repeat_limit)},
    {NULL, "confinement", PROFILE, 1, AT(confinement)},
    {NULL, "track_changes", FLAG, 1, AT(track_changes)},
    {NULL, "side_effect_policy", VALUE, 1, AT(side_effect_policy)},
    {NULL, "compensation_tool", VALUE, 1, AT(compensation_tool)},
    {NULL, "compensation_args", VALUE, 1, AT(compensation_args)},
    {NULL, "idempotency_key_fields", VALUE, 1, AT(idempotency_key_fields)},
#undef AT
};

static const char *const profiles[] = {
    [CONFINE_OPEN] = "open", [CONFINE_STANDARD] = "standard", [CONFINE_STRICT] = "strict"};

static enum confinement_profile
profile_of(struct str word)
{
	for (unsigned i = CONFINE_OPEN; i < ARRAY_LEN(profiles); i++)
		if (str_is(word, profiles[i]))
			return (enum confinement_profile)i;
	return CONFINE_UNSET;
}

/* The value fits the schema. */
static void
field_read(const struct field *f, const struct json *v, struct tuning *to)
{
	void *at = (char *)to + f->at;
	double n = 0;

	json_double(v, &n);
	n *= f->unit;
	switch (f->kind) {
	case COUNT: *(unsigned *)at = n > 0 && n < 1 ? 1 : (unsigned)n; break;
	case SIZE: *(size_t *)at = (size_t)n; break;
	case FACTOR: *(double *)at = n; break;
	case FLAG: *(bool *)at = json_bool(v); break;
	case PROFILE: *(enum confinement_profile *)at = profile_of(json_str(v)); break;
	case VALUE: *(const struct json **)at = v; break;
	}
}

/* What is said of one pattern. */
struct rule {
	char *pattern; /* "": defaults */
	size_t weight;
	struct tuning says;
	unsigned set; /* which of the fields */
	bool attempts_said;
};

static void
rule_read(struct rule *r, const struct json *object)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *f = &fields[i];
		const struct json *in = f->group ? json_get(object, str_of(f->group)) : object;
		const struct json *v = json_get(in, str_of(f->name));
		if (!v || json_is(v, JSON_NULL))
			continue;
		field_read(f, v, &r->says);
		r->set |= 1u << i;
		r->attempts_said =
		    r->attempts_said || f->at == offsetof(struct tuning, retry.attempts);
	}
}

static void
rule_apply(const struct rule *r, struct tuning *to)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (r->set & 1u << i)
			memcpy((char *)to + fields[i].at, (const char *)&r->says + fields[i].at,
			       sizes[fields[i].kind]);
	to->attempts_said = to->attempts_said || r->attempts_said;
}

/* ---- all of it ---- */

/* A name, and what was found for it. */
struct entry {
	struct tuning tuning;
	char name[];
};

struct tunings {
	unsigned refs;
	struct json_doc *doc; /* what the values stand in; NULL: nothing is said */
	struct rule *rules;   /* the weightiest last */
	size_t count;
	struct tuning base; /* with the defaults of the file */
	bool plain;         /* nothing is said by name */
	struct map found;   /* struct entry, by the tool's name */
	struct map servers; /* the same, by the server's */
};

/* A name is more than any pattern; of patterns the one that leaves less open is more. */
static size_t
weight_of(struct str pattern)
{
	size_t letters = 0;

	for (size_t i = 0; i < pattern.len; i++)
		letters += pattern.ptr[i] != '*' && pattern.ptr[i] != '?';
	return letters == pattern.len ? SIZE_MAX : letters;
}

static int
rule_order(const void *a, const void *b)
{
	const struct rule *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return strcmp(x->pattern, y->pattern);
}

/* The defaults go into the base, each other one becomes a rule. */
static int
rules_read(struct tunings *t, const struct json *section)
{
	for (struct json_iter it = json_iter(section); json_next(&it);) {
		struct rule r = {.weight = weight_of(it.key)};
		if (str_is(it.key, TUNING_SIDE_EFFECTS))
			continue;
		rule_read(&r, it.value);
		if (str_is(it.key, "defaults")) {
			rule_apply(&r, &t->base);
			continue;
		}
		if (!(r.pattern = str_dup(it.key)))
			return E_NOMEM;
		t->rules[t->count++] = r;
	}
	qsort(t->rules, t->count, sizeof(*t->rules), rule_order);
	t->plain = t->count == 0;
	return 0;
}

static int
check_effects(const struct yaml *y, const struct json *at, const struct tuning *all,
	      struct str name, struct err *e)
{
	struct err why;

	if (all->compensation_args && !all->compensation_tool)
		return err_set(e, E_CONFIG,
			       "line %u: tools.%.*s.compensation_args: needs a compensation_tool "
			       "to be for",
			       yaml_line(y, at), STR_ARG(name));
	if (all->compensation_args &&
	    compensation_check(all->compensation_args, "compensation_args", &why) < 0)
		return err_set(e, E_CONFIG, "line %u: tools.%.*s.%s", yaml_line(y, at),
			       STR_ARG(name), err_text(&why));
	return 0;
}

/* What the schema cannot see. */
static int
check(const struct yaml *y, const struct json *section, const struct tunings *t, struct err *e)
{
	for (struct json_iter it = json_iter(section); json_next(&it);) {
		struct rule r = {0};
		struct tuning all = t->base;
		if (str_is(it.key, TUNING_SIDE_EFFECTS))
			continue;
		rule_read(&r, it.value);
		rule_apply(&r, &all);
		struct str name = str_utf8_upto(it.key, 64);
		if (all.max_ms && all.max_ms < all.timeout_ms)
			return err_set(e, E_CONFIG,
				       "line %u: tools.%.*s: max_seconds is less than "
				       "timeout_seconds",
				       yaml_line(y, it.value), STR_ARG(name));
		int code = check_effects(y, it.value, &all, name, e);
		if (code < 0)
			return code;
		if (all.retry.initial_ms > all.retry.max_ms)
			return err_set(e, E_CONFIG,
				       "line %u: tools.%.*s.retry: initial_ms is more than max_ms",
				       yaml_line(y, it.value), STR_ARG(name));
	}
	return 0;
}

int
tunings_new(const struct yaml *y, const struct json *section, struct tunings **ret, struct err *e)
{
	struct tunings *t = calloc(1, sizeof(*t));

	if (!t)
		return err_plain(e, E_NOMEM);
	t->refs = 1;
	t->base = tuning_plain;
	map_init(&t->found, LIMIT_TOOLS);
	map_init(&t->servers, LIMIT_SERVERS);
	t->doc = section && y ? json_doc_ref(y->doc) : NULL;
	t->rules = calloc(json_len(section) + 1, sizeof(*t->rules));
	int code = !t->rules || rules_read(t, section) < 0 ? err_plain(e, E_NOMEM)
							   : check(y, section, t, e);
	if (code < 0) {
		tunings_unref(t);
		return code;
	}
	*ret = t;
	return 0;
}

struct tunings *
tunings_ref(struct tunings *t)
{
	t->refs++;
	return t;
}

static void
entries_free(struct map *m)
{
	size_t at = 0;

	for (void *entry; (entry = map_each(m, &at));)
		free(entry);
	map_done(m);
}

void
tunings_unref(struct tunings *t)
{
	if (!t || --t->refs > 0)
		return;
	for (size_t i = 0; i < t->count; i++)
		free(t->rules[i].pattern);
	free(t->rules);
	json_doc_unref(t->doc);
	entries_free(&t->found);
	entries_free(&t->servers);
	free(t);
}

/* NULL: no memory, or too many. */
static struct tuning *
entry_add(struct map *m, struct str name, const struct tuning *from)
{
	struct entry *entry = malloc(sizeof(*entry) + name.len + 1);

	if (!entry)
		return NULL;
	entry->tuning = *from;
	memcpy(entry->name, name.ptr, name.len);
	entry->name[name.len] = '\0';
	if (map_put(m, (struct str){entry->name, name.len}, entry) < 0) {
		free(entry);
		return NULL;
	}
	return &entry->tuning;
}

int
tunings_add_server(struct tunings *t, struct str name, const struct json *server)
{
	struct rule r = {0};
	struct tuning own = tuning_plain_server;
	struct tuning all = tuning_plain_server;

	if (!json_get(server, S("rate")) && !json_get(server, S("breaker")))
		return 0;
	rule_read(&r, server);
	rule_apply(&r, &all);
	own.rate = all.rate; /* what else has the same name there means something else */
	own.breaker = all.breaker;
	return entry_add(&t->servers, name, &own) ? 0 : E_NOMEM;
}

/* ---- finding ---- */

void
tunings_read(const struct tunings *t, struct str tool, struct tuning *ret)
{
	*ret = t ? t->base : tuning_plain;
	for (size_t i = 0; t && i < t->count; i++)
		if (glob_path(str_of(t->rules[i].pattern), tool))
			rule_apply(&t->rules[i], ret);
}

const struct tuning *
tunings_find(struct tunings *t, struct str tool)
{
	if (!t)
		return &tuning_plain;
	if (t->plain)
		return &t->base;
	const struct entry *entry = map_find(&t->found, tool);
	if (entry)
		return &entry->tuning;
	struct tuning fresh;
	tunings_read(t, tool, &fresh);
	return entry_add(&t->found, tool, &fresh);
}

const struct tuning *
tunings_server(const struct tunings *t, struct str name)
{
	const struct entry *entry = t ? map_find(&t->servers, name) : NULL;

	return entry ? &entry->tuning : &tuning_plain_server;
}

/* ---- retries ---- */

unsigned
retry_delay_ms(const struct retry *r, unsigned attempt, double dice)
{
	double ms = r->initial_ms;

	while (--attempt > 0 && ms < r->max_ms)
		ms *= r->multiplier;
	if (ms > r->max_ms)
		ms = r->max_ms;
	ms *= 1 - r->jitter + 2 * r->jitter * dice;
	return ms > r->max_ms ? r->max_ms : (unsigned)ms;
}
