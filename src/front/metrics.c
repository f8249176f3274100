/*
 * metrics.c - figures for Prometheus: the text format 0.0.4, from tbl/metrics.def.
 *
 * Values of labels come from configurations, servers and clients: they are escaped, and what is no
 * UTF-8 is replaced. Nothing here waits; a scrape costs what there is to write.
 */

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "effect/claims_redis.h"
#include "front/visit.h"

static const char type_text[] = "text/plain; version=0.0.4; charset=utf-8";

struct label {
	const char *name, *value; /* name NULL: there is none */
};
#define LABELS(...) ((const struct label[]){__VA_ARGS__, {NULL, NULL}})
#define NO_LABELS ((const struct label[]){{NULL, NULL}})

/* What is being written: one scrape, and of it the family that is its turn. */
struct sheet {
	struct buf *out;
	const char *name;
	const struct gateway *gw;
	/* of this process, read once */
	double cpu_s, started_s;
	uint64_t virtual_bytes, resident_pages, threads;
};

/* ---- a line ---- */

static void
add_value_text(struct buf *b, struct str s)
{
	while (s.len) {
		uint32_t code_point;
		size_t n = str_utf8_char(s, &code_point);
		char c = s.ptr[0];

		if (n == 0)
			buf_addz(b, "\xef\xbf\xbd"); /* U+FFFD */
		else if (c == '\\' || c == '"')
			buf_addc(b, '\\'), buf_addc(b, c);
		else if (c == '\n')
			buf_addz(b, "\\n");
		else
			buf_add(b, str_upto(s, n));
		s = str_from(s, n ? n : 1);
	}
}

static void
add_head(struct sheet *s, const char *suffix, const struct label *labels)
{
	const char *before = "{";

	buf_addz(s->out, s->name);
	buf_addz(s->out, suffix);
	for (; labels->name; labels++, before = ",") {
		buf_addz(s->out, before);
		buf_addz(s->out, labels->name);
		buf_addz(s->out, "=\"");
		add_value_text(s->out, str_of(labels->value));
		buf_addc(s->out, '"');
	}
	if (before[0] == ',')
		buf_addc(s->out, '}');
	buf_addc(s->out, ' ');
}

static void
add_count(struct sheet *s, const struct label *labels, uint64_t n)
{
	add_head(s, "", labels);
	buf_add_u64(s->out, n);
	buf_addc(s->out, '\n');
}

static void
add_seconds(struct sheet *s, const char *suffix, const struct label *labels, double seconds)
{
	add_head(s, suffix, labels);
	buf_addf(s->out, "%.6f\n", seconds);
}

/* ---- what calls have come to ---- */

static void
add_histogram(struct sheet *s, const struct tool_figures *f)
{
	struct label labels[] = {{"tenant_id", f->tenant}, {"agent_id", f->agent},
				 {"tool_name", f->tool},   {"gateway", f->gateway},
				 {"le", "+Inf"},           {NULL, NULL}};
	struct label *le = &labels[4];
	uint64_t n = 0;

	for (size_t i = 0; i <= METRIC_BUCKETS; i++) {
		n += f->within[i];
		le->value = i < METRIC_BUCKETS ? metric_buckets[i].text : "+Inf";
		add_head(s, "_bucket", labels);
		buf_add_u64(s->out, n);
		buf_addc(s->out, '\n');
	}
	le->name = NULL;
	add_seconds(s, "_sum", labels, (double)f->total_us / 1e6);
	add_head(s, "_count", labels);
	buf_add_u64(s->out, f->timed);
	buf_addc(s->out, '\n');
}

static void
metric_execution_duration(struct sheet *s)
{
	size_t at = 0;

	for (const struct tool_figures *f; (f = metrics_each_tool(&s->gw->metrics, &at));)
		if (f->timed)
			add_histogram(s, f);
}

static void
metric_execution(struct sheet *s)
{
	size_t at = 0;

	for (const struct tool_figures *f; (f = metrics_each_tool(&s->gw->metrics, &at));)
		for (size_t i = 0; i < METRIC_STATUSES; i++)
			if (f->ended[i])
				add_count(s,
					  LABELS({"tenant_id", f->tenant}, {"agent_id", f->agent},
						 {"tool_name", f->tool},
						 {"status", metric_status_name(i)}),
					  f->ended[i]);
}

static void
metric_cache_hits(struct sheet *s)
{
	size_t at = 0;

	for (const struct shared_figures *f; (f = metrics_each_shared(&s->gw->metrics, &at));)
		add_count(s, LABELS({"tenant_id", f->tenant}, {"tool_name", f->tool}), f->hits);
}

static void
metric_side_effects(struct sheet *s)
{
	size_t at = 0;

	for (const struct owner_figures *f; (f = metrics_each_owner(&s->gw->metrics, &at));)
		for (int i = REV_PURE + 1; i < REV__COUNT; i++)
			if (f->effects[i])
				add_count(s,
					  LABELS({"tenant_id", f->tenant}, {"agent_id", f->agent},
						 {"policy",
						  reversibility_name((enum reversibility)i)}),
					  f->effects[i]);
}

static void
metric_compensations(struct sheet *s)
{
	const struct metrics *m = &s->gw->metrics;

	add_count(s, LABELS({"status", "success"}), m->compensations[1]);
	add_count(s, LABELS({"status", "error"}), m->compensations[0]);
}

static void
metric_supersedes(struct sheet *s)
{
	for (size_t i = 0; i < METRIC_DECISIONS; i++)
		add_count(s, LABELS({"decision", metric_decision_name(i)}),
			  s->gw->metrics.supersedes[i]);
}

static void
metric_checks(struct sheet *s)
{
	for (int i = 0; i < CHECK__COUNT; i++)
		add_count(s, LABELS({"status", metric_check_name((enum metric_check)i)}),
			  s->gw->metrics.checks[i]);
}

static void
metric_series(struct sheet *s)
{
	const struct metrics *m = &s->gw->metrics;

	add_count(s, LABELS({"family", "tool"}), m->tools.len);
	add_count(s, LABELS({"family", "agent"}), m->owners.len);
	add_count(s, LABELS({"family", "tenant_tool"}), m->shared.len);
}

static void
metric_overflow(struct sheet *s)
{
	add_count(s, NO_LABELS, s->gw->metrics.overflowed);
}

/* ---- the gateway ---- */

static void
metric_claims_ready(struct sheet *s)
{
	struct claims *c = s->gw->claims;

	add_count(s, NO_LABELS, !claims_redis_is(c) || claims_redis_health(c, NULL) == 0);
}

static void
metric_build(struct sheet *s)
{
	add_count(s, LABELS({"version", HOLDFAST_VERSION}), 1);
}

static void
metric_calls(struct sheet *s)
{
	for (int i = 0; i < PLACE_OVER; i++)
		add_count(s, LABELS({"place", place_name((enum place)i)}), s->gw->at[i].len);
}

static void
metric_calls_taken(struct sheet *s)
{
	add_count(s, NO_LABELS, s->gw->count.calls);
}

static void
metric_abandoned(struct sheet *s)
{
	add_count(s, NO_LABELS, s->gw->count.abandoned);
}

static void
metric_stage_entries(struct sheet *s)
{
	for (size_t i = 0; i < s->gw->chain_len; i++)
		add_count(s, LABELS({"stage", gateway_stage_name(s->gw, i)}),
			  s->gw->chain[i].entries);
}

static void
metric_stage_time(struct sheet *s)
{
	for (size_t i = 0; i < s->gw->chain_len; i++)
		add_seconds(s, "", LABELS({"stage", gateway_stage_name(s->gw, i)}),
			    (double)s->gw->chain[i].total_us / 1e6);
}

static void
metric_questions(struct sheet *s)
{
	add_count(s, NO_LABELS, questions_count(s->gw->questions));
}

static void
metric_asked(struct sheet *s)
{
	add_count(s, NO_LABELS, s->gw->count.asked);
}

static void
metric_watchers(struct sheet *s)
{
	add_count(s, NO_LABELS, s->gw->watchers);
}

static void
metric_sessions(struct sheet *s)
{
	add_count(s, NO_LABELS, sessions_count(s->gw->sessions));
}

static void
metric_tools(struct sheet *s)
{
	add_count(s, NO_LABELS, catalog_count(s->gw->catalog));
}

static void
metric_servers(struct sheet *s)
{
	const struct upstreams *us = s->gw->upstreams;
	size_t n[UPSTREAM_QUARANTINED + 1] = {0};

	for (size_t i = 0; us && i < upstreams_count(us); i++)
		n[upstream_state(upstream_at(us, i))]++;
	for (size_t i = 0; i < ARRAY_LEN(n); i++)
		add_count(s, LABELS({"state", upstream_state_name((enum upstream_state)i)}), n[i]);
}

static void
metric_events(struct sheet *s)
{
	add_count(s, NO_LABELS, bus_emitted(s->gw->bus));
}

static void
metric_store_healthy(struct sheet *s)
{
	add_count(s, NO_LABELS, !s->gw->store || store_health(s->gw->store, NULL) == 0);
}

static void
backlog(const struct sheet *s, size_t *ret_rows, size_t *ret_bytes)
{
	*ret_rows = *ret_bytes = 0;
	if (s->gw->store)
		store_backlog(s->gw->store, ret_rows, ret_bytes);
}

static void
metric_store_rows(struct sheet *s)
{
	size_t rows, bytes;

	backlog(s, &rows, &bytes);
	add_count(s, NO_LABELS, rows);
}

static void
metric_store_bytes(struct sheet *s)
{
	size_t rows, bytes;

	backlog(s, &rows, &bytes);
	add_count(s, NO_LABELS, bytes);
}

/* ---- the process ---- */

/* Fields of /proc/self/stat, counted from 1 as proc(5) does; the name (2) may hold anything. */
static void
read_self(struct sheet *s)
{
	enum { STATE = 3, UTIME = 14, STIME = 15, THREADS = 20, START = 22, VSIZE = 23, RSS = 24 };
	struct buf b = BUF_INIT(4 * KIB);
	double tick = (double)sysconf(_SC_CLK_TCK);
	uint64_t field[RSS + 1] = {0};
	struct timespec up, now;
	struct str rest, part;

	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && file_slurp(fd, &b)) {
		const char *name_end = memrchr(b.ptr, ')', b.len);
		rest = name_end ? str_from(buf_str(&b), (size_t)(name_end + 2 - b.ptr)) : S("");
		for (size_t i = STATE; i <= RSS && str_split(&rest, ' ', &part); i++)
			str_to_u64(part, &field[i]);
	}
	if (fd >= 0)
		close(fd);
	buf_done(&b);
	clock_gettime(CLOCK_BOOTTIME, &up);
	clock_gettime(CLOCK_REALTIME, &now);
	s->cpu_s = (double)(field[UTIME] + field[STIME]) / tick;
	s->started_s = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9 +
		       (double)field[START] / tick;
	s->threads = field[THREADS];
	s->virtual_bytes = field[VSIZE];
	s->resident_pages = field[RSS];
}

static void
metric_cpu(struct sheet *s)
{
	add_seconds(s, "", NO_LABELS, s->cpu_s);
}

static void
metric_resident(struct sheet *s)
{
	add_count(s, NO_LABELS, s->resident_pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void
metric_virtual(struct sheet *s)
{
	add_count(s, NO_LABELS, s->virtual_bytes);
}

static void
metric_fds(struct sheet *s)
{
	DIR *d = opendir("/proc/self/fd");
	uint64_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	add_count(s, NO_LABELS, n > 3 ? n - 3 : 0); /* "." and "..", and the one that looks */
}

static void
metric_max_fds(struct sheet *s)
{
	struct rlimit most = {0};

	getrlimit(RLIMIT_NOFILE, &most);
	add_count(s, NO_LABELS, most.rlim_cur);
}

static void
metric_threads(struct sheet *s)
{
	add_count(s, NO_LABELS, s->threads);
}

static void
metric_started(struct sheet *s)
{
	add_seconds(s, "", NO_LABELS, s->started_s);
}

/* ---- all of it ---- */

static const struct family {
	const char *name, *kind, *sentence;
	void (*write)(struct sheet *s);
} families[] = {
#define METRIC(id, kind, name, labels, sentence) {name, #kind, sentence, metric_##id},
#include "../../tbl/metrics.def"
#undef METRIC
};

void
metrics_write(struct front *front, struct buf *b)
{
	struct sheet s = {.out = b, .gw = front->gw};

	read_self(&s);
	if (front->process_began_s == 0)
		front->process_began_s = s.started_s;
	s.started_s = front->process_began_s;
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		const struct family *f = &families[i];
		buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->sentence, f->name, f->kind);
		s.name = f->name;
		f->write(&s);
	}
}

void
route_metrics(const struct visit *v)
{
	struct buf b = BUF_INIT(LIMIT_METRICS_BYTES);
	struct err e;

	metrics_write(v->front, &b);
	if (!buf_failed(&b)) {
		http_reply_take(v->http, 200, type_text, &b, NULL);
		return;
	}
	buf_done(&b);
	err_set(&e, E_SYSTEM, "the answer is larger than the limit");
	reply_err(v->http, &e);
}
