/* spec.c - what the configuration says of a server: copied, compared, told apart. */

#include "upstream/inside.h"

#include <limits.h>

#include "base/arena.h"

static const char *
copy_z(struct arena *a, const char *z)
{
	return z ? arena_strz(a, str_of(z)) : NULL;
}

static const char *const *
copy_strings(struct arena *a, const char *const *from)
{
	size_t n = 0;

	if (!from)
		return NULL;
	while (from[n])
		n++;
	const char **to = arena_alloc(a, (n + 1) * sizeof(*to));
	for (size_t i = 0; to && i < n; i++)
		if (!(to[i] = copy_z(a, from[i])))
			return NULL;
	return to;
}

static unsigned
or_default(unsigned n, unsigned otherwise)
{
	return n ? n : otherwise;
}

static void
defaults_set(struct upstream_spec *s)
{
	s->start_ms = or_default(s->start_ms, LIMIT_UPSTREAM_START_MS);
	s->timeout_ms = or_default(s->timeout_ms, LIMIT_UPSTREAM_CALL_MS);
	s->max_ms = or_default(s->max_ms, LIMIT_UPSTREAM_CALL_MAX_MS);
	s->idle_ms = or_default(s->idle_ms, LIMIT_UPSTREAM_IDLE_MS);
	s->concurrency = or_default(s->concurrency, LIMIT_UPSTREAM_PLACES);
	if (s->concurrency > LIMIT_UPSTREAM_CONCURRENCY)
		s->concurrency = LIMIT_UPSTREAM_CONCURRENCY;
	if (s->start_ms == UINT_MAX)
		s->start_ms = LIMIT_UPSTREAM_START_MS;
}

static bool
copy_confinement(struct arena *a, const struct confinement *from, struct confinement *c)
{
	size_t bytes = from->tcp_count * sizeof(*from->tcp);
	uint16_t *tcp = from->tcp ? arena_alloc(a, bytes + 1) : NULL;

	if (tcp && bytes)
		memcpy(tcp, from->tcp, bytes);
	c->tcp = tcp;
	c->read = copy_strings(a, from->read);
	c->write = copy_strings(a, from->write);
	return (c->read || !from->read) && (c->write || !from->write) && (tcp || !from->tcp);
}

/* Where it starts when nothing is said. Not beside what is remembered of servers: one that writes
 * files where it stands would write over that. */
static const char *
home_of(const char *const *env)
{
	for (; env && *env; env++)
		if (strncmp(*env, "HOME=/", 6) == 0)
			return *env + 5;
	return "/";
}

int
spec__copy(struct arena *a, const struct upstream_spec *from, struct upstream_spec *s,
	   struct err *e)
{
	*s = *from;
	s->name = arena_str(a, from->name);
	s->argv = copy_strings(a, from->argv);
	s->env = copy_strings(a, from->env);
	s->cwd = copy_z(a, from->cwd ? from->cwd : home_of(from->env));
	s->url = copy_z(a, from->url);
	s->headers = copy_strings(a, from->headers);
	s->roots = copy_strings(a, from->roots);
	s->secrets = copy_strings(a, from->secrets);
	if (!copy_confinement(a, &from->confinement, &s->confinement))
		return err_set(e, E_LIMIT, "the configuration of a server is too large");
	s->problem = from->problem.ptr ? arena_str(a, from->problem) : from->problem;
	defaults_set(s);
	if (!s->name.ptr || !s->cwd || (from->argv && !s->argv) || (from->env && !s->env) ||
	    (from->url && !s->url) || (from->headers && !s->headers) ||
	    (from->roots && !s->roots) || (from->secrets && !s->secrets) ||
	    (from->problem.ptr && !s->problem.ptr))
		return err_set(e, E_LIMIT, "the configuration of a server is too large");
	return 0;
}

/* What it is, without what it may know: to remember its era by. */
void
spec__digest(const struct upstream_spec *s, char out[static DIGEST_TEXT])
{
	struct buf text = BUF_INIT(LIMIT_UPSTREAM_SPEC);

	for (const char *const *a = s->argv; a && *a; a++)
		buf_addf(&text, "%s\n", *a);
	buf_addf(&text, "%d %s", s->kind, s->url ? s->url : "");
	digest_bytes(buf_str(&text), out);
	buf_done(&text);
}

static bool
same_z(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool
same_strings(const char *const *a, const char *const *b)
{
	static const char *const none[] = {NULL};

	for (a = a ? a : none, b = b ? b : none; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return !*a && !*b;
}

static bool
same_numbers(const struct upstream_spec *a, const struct upstream_spec *b)
{
	return a->start_ms == b->start_ms && a->timeout_ms == b->timeout_ms &&
	       a->max_ms == b->max_ms && a->idle_ms == b->idle_ms &&
	       a->concurrency == b->concurrency && a->no_probe == b->no_probe;
}

static bool
same_confinement(const struct confinement *a, const struct confinement *b)
{
	return a->profile == b->profile && same_strings(a->read, b->read) &&
	       same_strings(a->write, b->write) && !a->tcp == !b->tcp &&
	       a->tcp_count == b->tcp_count &&
	       (!a->tcp || !b->tcp || memcmp(a->tcp, b->tcp, a->tcp_count * sizeof(*a->tcp)) == 0);
}

bool
spec__equal(const struct upstream_spec *a, const struct upstream_spec *b)
{
	return a->kind == b->kind && str_eq(a->name, b->name) && same_strings(a->argv, b->argv) &&
	       same_strings(a->env, b->env) && same_z(a->cwd, b->cwd) && same_z(a->url, b->url) &&
	       same_strings(a->headers, b->headers) && same_strings(a->roots, b->roots) &&
	       same_strings(a->secrets, b->secrets) && same_numbers(a, b) &&
	       same_confinement(&a->confinement, &b->confinement) &&
	       str_eq(a->problem, b->problem) && !a->problem.ptr == !b->problem.ptr;
}
