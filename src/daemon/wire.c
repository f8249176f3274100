/* wire.c - the only file that knows every part: what is made, in which order, and unmade in
 * reverse. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/paths.h"
#include "daemon/hf.h"
#include "effect/claims_redis.h"
#include "effect/ledger.h"
#include "loop/child.h"

#define HOUR_US INT64_C(3600000000)

static int
nomem(void *made, struct err *e)
{
	return made ? 0 : err_plain(e, E_NOMEM);
}

/* Where the configuration is looked for, as a path that does not depend on where we are. */
static char *
whole_path(const char *given)
{
	char here[LIMIT_PATH], *path = NULL;

	if (given[0] == '/')
		return strdup(given);
	if (!getcwd(here, sizeof(here)) || asprintf(&path, "%s/%s", here, given) < 0)
		return NULL;
	return path;
}

static int
keep_options(struct hf *hf, const struct hf_options *o, struct err *e)
{
	hf->inner = o->inner;
	hf->ephemeral = o->ephemeral || o->inner;
	hf->no_servers = o->no_servers || o->inner;
	hf->workspace = o->workspace ? whole_path(o->workspace) : NULL;
	hf->config_given = o->config ? strdup(o->config) : NULL;
	hf->source = (struct config_source){.path = hf->config_given,
					    .workspace = hf->workspace,
					    .state = hf->state_dir};
	if ((o->workspace && !hf->workspace) || (o->config && !hf->config_given))
		return err_plain(e, E_NOMEM);
	return 0;
}

static int
wire_paths(struct hf *hf, const struct hf_options *o, struct err *e)
{
	struct path config, file, state, socket;
	int code;

	if ((code = path_config_dir(&config, e)) < 0 || (code = path_config(&file, e)) < 0)
		return code;
	if (!o->state && (code = path_state(&state, e)) < 0)
		return code;
	hf->config_dir = strdup(config.text);
	hf->state_dir = whole_path(o->state ? o->state : state.text);
	hf->config_path = whole_path(o->config ? o->config : file.text);
	if (!hf->config_dir || !hf->state_dir || !hf->config_path)
		return err_plain(e, E_NOMEM);
	if (!o->ephemeral && !o->inner && (code = path_make_dir(hf->state_dir, e)) < 0)
		return code;
	hf->shut[0] = hf->config_dir;
	hf->shut[1] = hf->state_dir;
	/* Wherever it lies, a tool that writes it would make its own rules. */
	hf->config_file = realpath(hf->config_path, NULL);
	hf->shut[2] = hf->config_path;
	hf->shut[3] = hf->config_file ? hf->config_file : hf->config_path;
	if (path_socket(&socket, false, NULL) == 0 && !(hf->socket = strdup(socket.text)))
		return err_plain(e, E_NOMEM);
	hf->shut[4] = hf->socket;
	hf->house = (struct confine_house){.settings = &hf->config.confinement, .shut = hf->shut};
	return keep_options(hf, o, e);
}

/* A gateway behind another one has no rules of its own. */
#define INNER_PATIENCE_MS 5000
#define INNER_CONFIG                                                                               \
	"tool_confirmation:\n"                                                                     \
	"  default: {NONE: auto, READ: auto, WRITE: auto, EXECUTE: auto, NETWORK: auto}\n"         \
	"  secret_files: ['!**']\n"                                                                \
	"tools:\n"                                                                                 \
	"  defaults: {repeat_limit: 0, retry: {attempts: 1}}\n"

static int
wire_config(struct hf *hf, const struct hf_options *o, struct err *e)
{
	return o->inner ? config_read(S(INNER_CONFIG), hf->workspace, &hf->config, e)
			: config_load(&hf->source, &hf->config, e);
}

static int
wire_store(struct hf *hf, struct err *e)
{
	struct path file;

	if (hf->ephemeral)
		return store_open(hf->loop, NULL, &hf->store, e);
	int n = snprintf(file.text, sizeof(file.text), "%s/holdfast.db", hf->state_dir);
	if (n < 0 || (size_t)n >= sizeof(file.text))
		return err_set(e, E_CONFIG, "the state directory's path is too long");
	return store_open(hf->loop, file.text, &hf->store, e);
}

struct artifacts_spec
hf__artifacts_spec(const struct hf *hf)
{
	const struct config_results *results = &hf->config.results;

	return (struct artifacts_spec){
	    .keep_secrets = !results->redact,
	    .shown = (size_t)results->max_bytes,
	    .max_bytes = hf->ephemeral ? LIMIT_ARTIFACTS_MEMORY : (uint64_t)results->keep_mib * MIB,
	    .keep_us = results->keep_hours * HOUR_US,
	};
}

static int
wire_artifacts(struct hf *hf, struct err *e)
{
	struct artifacts_spec spec = hf__artifacts_spec(hf);
	struct path dir;
	int n = snprintf(dir.text, sizeof(dir.text), "%s/artifacts", hf->state_dir);

	if (n < 0 || (size_t)n >= sizeof(dir.text))
		return err_set(e, E_CONFIG, "the state directory's path is too long");
	spec.dir = hf->ephemeral ? NULL : dir.text;
	return artifacts_open(&spec, &hf->artifacts, e);
}

struct undo_spec
hf__undo_spec(const struct hf *hf)
{
	const struct config_undo *undo = &hf->config.undo;

	return (struct undo_spec){
	    .max_bytes = hf->ephemeral ? LIMIT_UNDO_MEMORY : (uint64_t)undo->keep_mib * MIB,
	    .keep_us = undo->keep_days * 24 * HOUR_US,
	};
}

static int
wire_undo(struct hf *hf, struct err *e)
{
	struct undo_spec spec = hf__undo_spec(hf);
	struct path file;
	int n = snprintf(file.text, sizeof(file.text), "%s/undo.db", hf->state_dir);

	if (n < 0 || (size_t)n >= sizeof(file.text))
		return err_set(e, E_CONFIG, "the state directory's path is too long");
	spec.path = hf->ephemeral ? NULL : file.text;
	return undo_open(&spec, &hf->undo, e);
}

/* Changes to files are noted before they are made: the files tell. */
static enum claim_state
judge_orphan(const struct effect_orphan *o, void *arg)
{
	static const enum claim_state came[] = {[UNDO_NOT_DONE] = CLAIM_FAILED,
						[UNDO_DONE] = CLAIM_DONE,
						[UNDO_UNCLEAR] = CLAIM_UNKNOWN};
	const struct hf *hf = arg;

	if (!str_is(o->tool, "write_file") && !str_is(o->tool, "patch_file"))
		return CLAIM_UNKNOWN;
	return came[undo_verdict(hf->undo, o->call, hf->shut)];
}

static void
orphan_found(const struct effect_orphan *o, enum claim_state state, void *arg)
{
	struct hf *hf = arg;

	if (hf->gateway_ready)
		gateway_recovered(&hf->gw, o, state);
	hf__journal_orphan(hf, o, state);
}

static int
wire_ledger(struct hf *hf, struct err *e)
{
	struct path file;
	int n = snprintf(file.text, sizeof(file.text), "%s/effects.db", hf->state_dir);

	if (hf->inner) /* whoever it is behind has one */
		return 0;
	if (n < 0 || (size_t)n >= sizeof(file.text))
		return err_set(e, E_CONFIG, "the state directory's path is too long");
	struct ledger_spec spec = {
	    .loop = hf->loop,
	    .path = hf->ephemeral ? NULL : file.text,
	    .judge = judge_orphan,
	    .recovered = orphan_found,
	    .arg = hf,
	};
	return ledger_open(&spec, &hf->ledger, e);
}

/* Who may do what once is asked of Redis, where many machines share it. */
static int
wire_claims(struct hf *hf, struct err *e)
{
	const struct config_effects *effects = &hf->config.effects;
	struct path file;

	if (!hf->ledger || !effects->redis)
		return 0;
	int n = snprintf(file.text, sizeof(file.text), "%s/claims-redis.json", hf->state_dir);
	if (n < 0 || (size_t)n >= sizeof(file.text))
		return err_set(e, E_CONFIG, "the state directory's path is too long");
	struct claims_redis_spec spec = {
	    .loop = hf->loop,
	    .ledger = ledger_claims(hf->ledger),
	    .file = hf->ephemeral ? NULL : file.text,
	    .url = str_of(effects->url),
	    .prefix = str_of(effects->key_prefix),
	};
	return claims_redis_open(&spec, &hf->claims, e);
}

static int
wire_tools(struct hf *hf, const struct hf_options *o, struct err *e)
{
	int code;

	if ((code = nomem(hf->catalog = catalog_new(LIMIT_TOOLS), e)) < 0 ||
	    (code = nomem(hf->builtins = builtins_new(hf->loop), e)) < 0)
		return code;
	builtins_confine(hf->builtins, &hf->house);
	return o->no_builtins || o->inner
		   ? 0
		   : builtin_register_all(hf->builtins, hf->catalog, hf->artifacts,
					  hf->config.builtin.repair_arguments, e);
}

/* Not an error: its tool may come later. But a rule that never applies is worth a word. */
static void
warn_unknown_tool(struct str tool, void *arg)
{
	struct hf *hf = arg;
	const struct tool *near = catalog_near(hf->catalog, tool);
	bool of_server = hf->config.server_count && memmem(tool.ptr, tool.len, "__", 2);

	if (!catalog_find(hf->catalog, tool) && !of_server)
		log_line(LOG_WARN, "tool_confirmation.per_tool: there is no such tool", "name",
			 tool.ptr, near ? "near" : NULL, near ? near->name.ptr : NULL, NULL);
}

/* Loudly, and once for each configuration: what is wanted, and cannot be had here. */
static void
warn_unconfined(const struct config *c)
{
	uint32_t wanted = 0;
	char names[CONFINE_TEXT];

	for (int i = 0; i < CONFINED__COUNT; i++)
		wanted |= confine_wanted(c->confinement.profiles[i], c->confinement.tcp_count > 0);
	for (size_t i = 0; i < c->server_count; i++)
		wanted |= confine_wanted(c->servers[i].confinement.profile,
					 c->servers[i].confinement.tcp_count > 0);
	if (wanted & ~confine_available())
		log_line(LOG_WARN, "this kernel cannot confine children as they should be",
			 "missing", confine_text(wanted & ~confine_available(), names), NULL);
}

void
hf__warn(struct hf *hf)
{
	const struct config *c = &hf->config;

	for (size_t i = 0; i < c->warning_count; i++)
		log_line(LOG_WARN, "configuration", "warning", c->warnings[i], NULL);
	for (size_t i = 0; i < c->server_count && !hf->no_servers; i++)
		if (c->servers[i].problem.len)
			log_line(LOG_WARN, "a server is not used", "server", c->servers[i].name.ptr,
				 "problem", c->servers[i].problem.ptr, NULL);
	policy_each_tool(c->policy, warn_unknown_tool, hf);
	hf__hooks_warn(hf);
	hf__definitions_warn(hf);
	warn_unconfined(c);
}

static void
reload_asked(void *arg)
{
	hf_reload(arg);
}

static void
stop_asked(void *arg)
{
	hf_stop(arg);
}

/* Threads cannot be ended, processes can: whoever started this one starts another. */
static void
leave_it_behind(void)
{
	static const char words[] = "holdfast: a tool did not stop when it was told to\n";

	_exit(write(STDERR_FILENO, words, sizeof(words) - 1) < 0 ? 126 : 1);
}

void
hf__turns_set(struct hf *hf)
{
	const struct config_turns *from = &hf->config.turns;
	struct superseding *to = &hf->gw.supersede;

	to->how = from->supersede;
	to->decide_ms = from->decide_ms;
	to->keep_compensatable = from->keep_compensatable;
	hf->gw.compensate_ms = from->compensate_ms;
}

static int
wire_gateway(struct hf *hf, struct err *e)
{
	hf->gw = (struct gateway){
	    .loop = hf->loop,
	    .catalog = hf->catalog,
	    .policy = hf->config.policy,
	    .tunings = hf->config.tunings,
	    .grants = hf->grants,
	    .questions = hf->questions,
	    .bus = hf->bus,
	    .store = hf->store,
	    .artifacts = hf->artifacts,
	    .undo = hf->undo,
	    .ledger = hf->ledger,
	    .claims = hf->claims   ? hf->claims
		      : hf->ledger ? ledger_claims(hf->ledger)
				   : NULL,
	    .keep_keys_s = (unsigned)hf->config.effects.keep_s,
	    .sessions = hf->sessions,
	    .tenants = hf->tenants,
	    .toolbox = hf->config.toolbox,
	    .upstreams = hf->upstreams,
	    .why_missing = hf__why_missing,
	    .why_missing_arg = hf,
	    .learned = hf->learned,
	    .progress = hf->progress,
	    .toasts = hf->toasts,
	    .taught = hf__learned_changed,
	    .taught_arg = hf,
	    .shut = hf->shut,
	    .patience_ms = hf->inner ? INNER_PATIENCE_MS : 0,
	    .left_behind = hf->inner ? leave_it_behind : NULL,
	    .house = &hf->house,
	};
	hf__turns_set(hf);
	gateway_init(&hf->gw);
	hf->gateway_ready = true;
	int code = hf__hooks_set(hf, &hf->config, e);
	if (code < 0)
		return code;
	if ((code = nomem(hf->kernels = kernels_new(&hf->gw), e)) < 0)
		return code;
	kernels_rule(hf->kernels, &hf->config.kernel);
	struct front_spec doors = {
	    .gw = &hf->gw,
	    .kernels = hf->kernels,
	    .stop = stop_asked,
	    .reload = reload_asked,
	    .about = hf__write_config,
	    .definitions = &hf__definitions_ops,
	    .arg = hf,
	    .workspace = hf->config.workspace,
	};
	return front_new(&doors, &hf->front, e);
}

static int
wire_notices(struct hf *hf, struct err *e)
{
	hf->progress = progresses_new(&(struct progresses_spec){.loop = hf->loop, .bus = hf->bus});
	hf->toasts = toasts_new(&(struct toasts_spec){.loop = hf->loop, .bus = hf->bus});
	return hf->progress && hf->toasts ? 0 : err_plain(e, E_NOMEM);
}

static int
wire_tenants(struct hf *hf, struct err *e)
{
	int code = tenants_new(hf->store, &hf->tenants, e);

	return code < 0
		   ? code
		   : tenants_configure(hf->tenants, hf->config.tenants, hf->config.tenant_count, e);
}

int
hf__wire(struct hf *hf, const struct hf_options *o)
{
	struct err *e = &hf->err;
	int code;

	if ((code = wire_paths(hf, o, e)) < 0 || (code = wire_config(hf, o, e)) < 0 ||
	    (code = loop_new(&hf->loop, e)) < 0 || (code = wire_store(hf, e)) < 0 ||
	    (code = wire_artifacts(hf, e)) < 0 || (code = wire_undo(hf, e)) < 0 ||
	    (code = wire_ledger(hf, e)) < 0 || (code = wire_claims(hf, e)) < 0 ||
	    (code = bus_new(hf->loop, hf->store, &hf->bus, e)) < 0 ||
	    (code = wire_notices(hf, e)) < 0 ||
	    (code = grants_new(hf->store, &hf->grants, e)) < 0 ||
	    (code = wire_tenants(hf, e)) < 0 ||
	    (code = nomem(hf->questions = questions_new(hf->loop, hf->grants), e)) < 0 ||
	    (code = nomem(hf->sessions = sessions_new(hf->bus, hf->store), e)) < 0 ||
	    (code = wire_tools(hf, o, e)) < 0 ||
	    (code = hf__learned_open(hf, !hf->ephemeral, e)) < 0 ||
	    (code = hf__definitions_open(hf, e)) < 0 || (code = hf__servers_open(hf, e)) < 0 ||
	    (code = wire_gateway(hf, e)) < 0 ||
	    (code = hf__definitions_set(hf, &hf->config, e)) < 0 ||
	    (code = hf__servers_set(hf, &hf->config, e)) < 0)
		return code;
	hf__warn(hf);
	if (!o->inner)
		hf__watch_config(hf);
	hf__start_janitor(hf);
	return 0;
}

void
hf__unwire(struct hf *hf)
{
	if (hf->loop) {
		hf__stop_janitor(hf);
		timer_stop(hf->loop, &hf->lessons.timer);
		timer_stop(hf->loop, &hf->telling);
	}
	watch_free(hf->watch);
	front_free(hf->front);
	hf->front = NULL;
	sessions_free(hf->sessions);
	kernels_free(hf->kernels);
	if (hf->gateway_ready)
		gateway_done(&hf->gw);
	hf__servers_close(hf);
	hf__definitions_close(hf);
	if (hf->questions)
		questions_free(hf->questions);
	if (hf->grants)
		grants_free(hf->grants);
	tenants_free(hf->tenants);
	if (hf->catalog)
		catalog_free(hf->catalog);
	hf__forget_subscribers(hf);
	hf__forget_change_readers(hf);
	progresses_free(hf->progress);
	toasts_free(hf->toasts);
	if (hf->bus)
		bus_free(hf->bus);
	if (hf->claims)
		hf->claims->ops->free(hf->claims);
	ledger_free(hf->ledger);
	store_free(hf->store);
	/* Jobs that were left behind hold their tools to the end. */
	if (hf->loop) {
		children_kill(hf->loop);
		loop_drain(hf->loop);
		loop_free(hf->loop);
	}
	hf__learned_close(hf);
	if (hf->builtins)
		builtins_free(hf->builtins);
	artifacts_free(hf->artifacts); /* workers may have been storing until now */
	undo_free(hf->undo);
	config_done(&hf->config);
	confine_house_done(&hf->house);
	free(hf->socket);
	free(hf->config_dir);
	free(hf->config_file);
	free(hf->config_path);
	free(hf->config_given);
	free(hf->workspace);
	free(hf->state_dir);
}
