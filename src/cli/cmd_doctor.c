/*
 * cmd_doctor.c - what could be wrong, looked at one by one.
 *
 * The servers are started by a gateway of this process that keeps nothing, so that a daemon that
 * runs is not disturbed and each of them shows how it starts.
 */

#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "cli/api.h"
#include "cli/args.h"
#include "cli/servers.h"
#include "cli/show.h"
#include "cli/term.h"
#include "holdfast.h"
#include "json/write.h"
#include "loop/confine.h"

#define PATIENCE_MS 60000
#define WORDS_KEPT 8 /* lines of a server's stderr that are shown */

enum verdict { GOOD, WARN, BAD, VERDICTS };

static const struct {
	const char *word;
	enum paint paint;
} verdicts[VERDICTS] = {{"ok", GREEN}, {"warning", YELLOW}, {"wrong", RED}};

/* A visit: what has been found so far. */
struct visit {
	const struct args *args;
	struct buf json;
	struct jw w;
	size_t counts[VERDICTS];
	struct buf said; /* what was logged meanwhile, lines of JSON */
	pthread_mutex_t lock;
	struct reply running; /* the servers of the gateway that runs; empty: there is none */
};

/* One finding; text is safe. `more` is shown below it, or {NULL,0}. */
static void
find(struct visit *v, enum verdict verdict, const char *what, struct str text, struct str more)
{
	v->counts[verdict]++;
	jw_object(&v->w);
	jw_member_z(&v->w, "check", what);
	jw_member_z(&v->w, "verdict", verdicts[verdict].word);
	jw_member(&v->w, "text", text);
	if (more.len)
		jw_member(&v->w, "stderr", more);
	jw_end(&v->w);
	if (args_given(v->args, "json"))
		return;
	printf("%s%-8s%s %-14s %.*s\n", paint(stdout, verdicts[verdict].paint),
	       verdicts[verdict].word, paint(stdout, PLAIN), what, STR_ARG(text));
	if (more.len)
		text_block(stdout, "           | ", more);
	fflush(stdout);
}

static void __attribute__((format(printf, 4, 5)))
findf(struct visit *v, enum verdict verdict, const char *what, const char *fmt, ...)
{
	struct buf text = BUF_INIT(16 * KIB);
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	find(v, verdict, what, buf_str(&text), (struct str){NULL, 0});
	buf_done(&text);
}

/* The system */

static void
look_at_kernel(struct visit *v)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH};
	int dir = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (dir < 0)
		findf(v, BAD, "kernel",
		      "has no openat2 (Linux 5.6): files cannot be kept inside "
		      "the workspace");
	else if (self < 0)
		findf(v, BAD, "kernel",
		      "has no pidfd_open (Linux 5.3): children cannot be ended "
		      "for certain");
	else
		findf(v, GOOD, "kernel", "openat2 and pidfd_open are there");
	if (dir >= 0)
		close(dir);
	if (self >= 0)
		close(self);
}

static void
look_at_confinement(struct visit *v)
{
	uint32_t wanted = confine_wanted(CONFINE_STRICT, true),
		 missing = wanted & ~confine_available();
	struct buf text = BUF_INIT(1 * KIB);
	char names[CONFINE_TEXT];

	for (uint32_t bit = 1; bit <= wanted; bit <<= 1)
		if (missing & bit)
			buf_addf(&text, "%s%s (%s)", text.len ? ", " : "", confine_text(bit, names),
				 confine_origin(bit));
	if (missing)
		findf(v, WARN, "confinement",
		      "this kernel lacks %.*s: what needs it is left out of standard, and strict "
		      "refuses to run",
		      STR_ARG(buf_str(&text)));
	else
		findf(v, GOOD, "confinement", "%s", confine_text(wanted, names));
	if (geteuid() == 0)
		findf(v, WARN, "confinement",
		      "this runs as root: the number of processes of a child has no limit");
	buf_done(&text);
}

/* It, or the nearest one above it that is there. */
static void
nearest_path(const struct path *path, struct path *ret)
{
	*ret = *path;
	while (strcmp(ret->text, "/") != 0 && access(ret->text, F_OK) < 0) {
		char *slash = strrchr(ret->text, '/');
		slash[slash == ret->text ? 1 : 0] = '\0';
	}
}

/* Others must be able to neither read nor write it. */
static void
look_at_state(struct visit *v)
{
	struct path dir, above;
	struct stat st;
	struct err e;

	if (path_state(&dir, &e) < 0) {
		findf(v, BAD, "state", "%s", err_text(&e));
		return;
	}
	nearest_path(&dir, &above);
	bool there = strcmp(dir.text, above.text) == 0;
	bool usable = stat(above.text, &st) == 0 && S_ISDIR(st.st_mode) &&
		      access(above.text, R_OK | W_OK | X_OK) == 0;
	if (!usable && !there)
		findf(v, BAD, "state", "%s cannot be made: %s cannot be written", dir.text,
		      above.text);
	else if (!usable)
		findf(v, BAD, "state", "%s cannot be written", dir.text);
	else if (!there)
		findf(v, GOOD, "state", "%s will be made", dir.text);
	else if (st.st_mode & 077)
		findf(v, WARN, "state", "%s can be read by others: chmod 700 it", dir.text);
	else
		findf(v, GOOD, "state", "%s", dir.text);
}

static void
look_at_daemon(struct visit *v)
{
	struct reply status = {0};
	struct path socket;
	struct api *api = NULL;
	struct err e;

	if (api_socket(&socket, false, &e) < 0)
		findf(v, BAD, "socket", "%s", err_text(&e));
	else
		findf(v, GOOD, "socket", "%s", socket.text);
	int code = api_open(API_DAEMON, NULL, &api, &e);
	if (code == E_STOPPING)
		findf(v, GOOD, "gateway",
		      "none is running; `holdfast serve` or `holdfast mcp` "
		      "starts one");
	else if (code < 0 ||
		 api_request(api, "GET", "/status", (struct str){NULL, 0}, &status, &e) < 0)
		findf(v, BAD, "gateway", "%s", err_text(&e));
	else if (member(status.root, "config_error").len)
		findf(v, BAD, "gateway", "does not use the configuration as it is now: %.*s",
		      STR_ARG(member(status.root, "config_error")));
	else if (!str_is(member(status.root, "version"), hf_version()))
		findf(v, WARN, "gateway",
		      "is of version %.*s, this program of %s: stop it, and it "
		      "is started anew",
		      STR_ARG(member(status.root, "version")), hf_version());
	else
		findf(v, GOOD, "gateway", "is running (process %lld)",
		      (long long)member_int(status.root, "pid"));
	api_done(&status);
	api_close(api);
}

/* What is wrong with one server is found when it is looked at. */
static void
warn(const char *sentence, void *arg)
{
	if (strncmp(sentence, "line ", 5) == 0)
		findf(arg, WARN, "configuration", "%s", sentence);
}

static bool
look_at_config(struct visit *v, const char *file)
{
	struct path usual;
	struct err e;

	if (hf_config_check(file, warn, v) < 0) {
		findf(v, BAD, "configuration", "%s", hf_error(NULL));
		return false;
	}
	if (!file && path_config(&usual, &e) == 0)
		file = usual.text;
	findf(v, GOOD, "configuration", "%s%s", file ? file : "",
	      file && access(file, F_OK) < 0 ? " (there is none; the defaults count)" : "");
	return true;
}

/* The servers */

/* From the gateway's thread. */
static void
hear(const char *line, size_t len, void *arg)
{
	struct visit *v = arg;

	pthread_mutex_lock(&v->lock);
	if (v->said.len + len <= v->said.max)
		buf_add(&v->said, (struct str){line, len});
	pthread_mutex_unlock(&v->lock);
}

/* The last lines a server wrote to its stderr, out of what was logged. */
static void
words_of(struct visit *v, struct str server, struct buf *out)
{
	struct str lines[WORDS_KEPT] = {{0}}, rest = buf_str(&v->said), line;
	struct json_doc *doc;
	size_t count = 0;

	while (str_split(&rest, '\n', &line)) {
		if (json_parse(line, &json_door, &doc, NULL) < 0)
			continue;
		const struct json *root = json_root(doc);
		if (str_is(member(root, "level"), "info") && json_len(root) == 4 &&
		    str_eq(member(root, "server"), server))
			lines[count++ % WORDS_KEPT] = line;
		json_doc_unref(doc);
	}
	for (size_t i = count > WORDS_KEPT ? count - WORDS_KEPT : 0; i < count; i++)
		if (json_parse(lines[i % WORDS_KEPT], &json_door, &doc, NULL) == 0) {
			text_safe(out, member(json_root(doc), "text"), SAFE_LINE);
			buf_addc(out, '\n');
			json_doc_unref(doc);
		}
}

static bool
is_out_of_use(const struct json *server)
{
	return str_is(member(server, "state"), "failed") ||
	       str_is(member(server, "state"), "quarantined");
}

static void
look_at_server(struct visit *v, const struct json *server)
{
	struct str state = member(server, "state");
	const struct json *there = server_in(&v->running, member(server, "name"));
	bool good = str_is(state, "started") || str_is(state, "known");
	struct buf name = BUF_INIT(4 * KIB), text = BUF_INIT(16 * KIB), words = BUF_INIT(64 * KIB);

	text_safe(&name, member(server, "name"), SAFE_LINE);
	if (str_is(state, "configured"))
		buf_addf(&text, "has not answered within %d s", PATIENCE_MS / 1000);
	else
		server_text(&text, server);
	if (good && member(server, "version").len) {
		buf_addz(&text, ", MCP ");
		text_safe(&text, member(server, "version"), SAFE_LINE);
	}
	if (!good)
		words_of(v, member(server, "name"), &words);
	/* It has variables and a workspace of its own. */
	if (good && is_out_of_use(there)) {
		good = false;
		buf_addz(&text, "; but in the running gateway ");
		server_text(&text, there);
	}
	const char *what = buf_z(&name);
	find(v, good ? GOOD : BAD, what ? what : "server", buf_str(&text), buf_str(&words));
	buf_done(&name);
	buf_done(&text);
	buf_done(&words);
}

static void
find_problem(struct visit *v, const char *what, struct str problem)
{
	struct buf text = BUF_INIT(16 * KIB);

	text_safe(&text, problem, SAFE_LINE);
	if (text.len)
		find(v, BAD, what, buf_str(&text), S(""));
	buf_done(&text);
}

/* Tools that are defined, and are not there. */
static void
look_at_definitions(struct visit *v, struct api *api)
{
	const struct str pointer = S("/definitions/problems");
	struct reply status = {0};

	if (api_get(api, &status, "/status") != EXIT_FINE)
		return;
	for (struct json_iter it = json_iter(json_pointer(status.root, pointer)); json_next(&it);)
		find_problem(v, "definitions", json_str(it.value));
	const struct json *imports = json_pointer(status.root, S("/imports"));
	for (struct json_iter it = json_iter(imports); json_next(&it);) {
		find_problem(v, "openapi", member(it.value, "problem"));
		struct json_iter each = json_iter(json_get(it.value, S("problems")));
		while (json_next(&each))
			find_problem(v, "openapi", json_str(each.value));
	}
	api_done(&status);
}

/* Rules for tools that are not there: an "auto" that helps nobody, or a "deny" of nothing. */
static void
look_at_rules(struct visit *v)
{
	struct buf text = BUF_INIT(16 * KIB);
	struct str rest = buf_str(&v->said), line;
	struct json_doc *doc;

	while (str_split(&rest, '\n', &line)) {
		if (json_parse(line, &json_door, &doc, NULL) < 0)
			continue;
		const struct json *root = json_root(doc);
		struct str near = member(root, "near");
		if (str_starts(member(root, "text"), S("tool_confirmation.per_tool: "))) {
			buf_reset(&text);
			buf_addz(&text, "tool_confirmation.per_tool.");
			text_safe(&text, member(root, "name"), SAFE_LINE);
			buf_addf(&text, ": there is no such tool%s%.*s%s",
				 near.len ? "; did you mean " : "", STR_ARG(near),
				 near.len ? "?" : "");
			find(v, WARN, "configuration", buf_str(&text), S(""));
		}
		json_doc_unref(doc);
	}
	buf_done(&text);
}

static void
look_at_servers(struct visit *v, const char *file)
{
	struct reply servers = {0};
	struct api *api = NULL;
	struct err e;

	if (!file && api_open(API_DAEMON, NULL, &api, &e) == 0) {
		(void)api_get(api, &v->running, "/servers");
		api_close(api);
	}
	log_set_sink(hear, v);
	int code = api_open(API_DRY | API_ALONE | API_SERVERS, file, &api, &e);
	log_set_level(LOG_INFO); /* what servers say */
	if (code < 0) {
		findf(v, BAD, "servers", "%s", err_text(&e));
	} else {
		look_at_definitions(v, api);
		(void)servers_wait(api, NULL, PATIENCE_MS, &servers); /* it says what is wrong */
	}
	api_close(api);
	log_set_sink(NULL, NULL);
	look_at_rules(v);
	for (struct json_iter it = json_iter(json_get(servers.root, S("servers"))); json_next(&it);)
		look_at_server(v, it.value);
	api_done(&servers);
	api_done(&v->running);
}

/* Of the gateway that runs: whom it asks what may be done once. */
static void
look_at_claims(struct visit *v)
{
	struct reply claims = {0};
	struct api *api = NULL;

	if (api_open(API_DAEMON, NULL, &api, NULL) < 0)
		return;
	if (api_get(api, &claims, "/claims") == EXIT_FINE &&
	    str_is(member(claims.root, "backend"), "redis")) {
		struct str problem = member(claims.root, "problem");
		struct str warning = member(claims.root, "warning");
		struct buf text = BUF_INIT(4 * KIB);
		text_safe(&text, member(claims.root, "server"), SAFE_LINE);
		buf_addz(&text, problem.len || warning.len ? ": " : ", ready");
		text_safe(&text, problem.len ? problem : warning, SAFE_LINE);
		find(v,
		     problem.len   ? BAD
		     : warning.len ? WARN
				   : GOOD,
		     "redis", buf_str(&text), S(""));
		buf_done(&text);
	}
	api_done(&claims);
	api_close(api);
}

/* All of it */

static void
print_end(struct visit *v)
{
	jw_end(&v->w);
	jw_member_bool(&v->w, "healthy", v->counts[BAD] == 0);
	jw_end(&v->w);
	if (args_given(v->args, "json"))
		text_print_json(stdout, buf_str(&v->json));
	else if (v->counts[BAD])
		printf("\n%zu %s wrong\n", v->counts[BAD],
		       v->counts[BAD] == 1 ? "thing is" : "things are");
	else
		printf("\nnothing is wrong\n");
}

int
cmd_doctor(const struct args *a)
{
	const char *file = args_value(a, "config");
	struct visit v = {
	    .args = a,
	    .json = BUF_INIT(4 * MIB),
	    .said = BUF_INIT(1 * MIB),
	    .lock = PTHREAD_MUTEX_INITIALIZER,
	};

	v.w = jw(&v.json);
	jw_object(&v.w);
	jw_key(&v.w, "checks");
	jw_array(&v.w);
	look_at_kernel(&v);
	look_at_confinement(&v);
	look_at_state(&v);
	look_at_daemon(&v);
	look_at_claims(&v);
	if (look_at_config(&v, file))
		look_at_servers(&v, file);
	print_end(&v);
	buf_done(&v.json);
	buf_done(&v.said);
	return v.counts[BAD] ? EXIT_REFUSED : EXIT_FINE;
}
