/*
 * holdfast.h - the only public header: run a gateway inside your program, give it tools,
 * put calls through it, and watch what happens.
 *
 * A gateway owns one loop. Except where "any thread" is said, functions belong to the thread
 * that runs it, or to any one thread before hf_run. Functions return 0 or a negative code;
 * hf_error tells the last failure of that gateway in a sentence.
 *
 *	struct hf *hf;
 *	if (hf_open(&(struct hf_options){.ephemeral = true}, &hf) < 0) ...
 *	hf_register(hf, card_json, &my_tool, NULL);
 *	hf_dispatch(hf, session, "my_tool", "{\"x\":1}", on_result, NULL);
 *	hf_run(hf);
 *	hf_close(hf);
 */

#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_API __attribute__((visibility("default")))

struct hf;      /* a gateway */
struct hf_job;  /* one execution of a tool */
struct hf_call; /* one call on its way, as stages and hooks see it */

struct hf_options {
	const char
	    *config; /* a YAML file; NULL: $XDG_CONFIG_HOME/holdfast/config.yaml if there is one */
	const char *state;     /* directory of the journal; NULL: $XDG_STATE_HOME/holdfast */
	bool ephemeral;        /* keep nothing on disk */
	bool no_builtins;      /* without the built-in tools */
	bool no_servers;       /* without the MCP servers of the configuration */
	const char *workspace; /* of clients that come over HTTP and name none; NULL: none, unless
				  the configuration has one */
	bool inner; /* behind another gateway, which asks and keeps the journal: no configuration,
		       no built-in tools, nothing is asked here, nothing is kept; and a tool that
		       does not stop when it is told to ends the process */
	bool alone; /* nobody else uses SQLite in this process: settings of the whole process are
		       made for a gateway that takes little memory */
};

/* On failure *ret is NULL and hf_error(NULL) tells why (per thread). */
HF_API int hf_open(const struct hf_options *options, struct hf **ret);
/* Takes NULL. Ends every call and every child first, and waits for tools that are still running:
 * one that never returns holds it up for ever. */
HF_API void hf_close(struct hf *hf);
HF_API const char *hf_error(const struct hf *hf);
HF_API const char *hf_version(void);

/* Until hf_stop. */
HF_API int hf_run(struct hf *hf);
HF_API void hf_stop(
    struct hf *hf); /* any thread: running calls are cancelled, then hf_run returns */

/* Any thread: the configuration is read again, soon. One that is wrong changes nothing; GET /status
 * and an event tell. The file is also watched. */
HF_API void hf_reload(struct hf *hf);
/* The JSON Schema of configuration files. */
HF_API const char *hf_config_schema(void);
/* Is it right? NULL: the file at the usual place. hf_error(NULL) tells what is not. `warn` (may be
 * NULL) hears of what will have no effect. */
HF_API int hf_config_check(const char *file, void (*warn)(const char *sentence, void *arg),
			   void *arg);

/* Doors. */
HF_API int hf_listen(struct hf *hf, const char *host, uint16_t port, uint16_t *ret_port);
HF_API int hf_listen_unix(struct hf *hf, const char *path);
/* A descriptor that speaks HTTP to this gateway, for a client in the same process; any thread.
 * Fails once the gateway has stopped. */
HF_API int hf_connect(struct hf *hf, int *ret_fd);
/* Over TCP every request needs "Authorization: Bearer TOKEN". NULL takes that away, which only a
 * gateway that listens on loopback addresses alone may do. */
HF_API int hf_require_token(struct hf *hf, const char *token);

/*
 * Tools. A card is JSON (cards/README.md says what is in one). What is registered is a factory:
 * each call gets an instance of its own from `make`.
 */
struct hf_tool {
	void *(*make)(void *arg);
	void (*free)(void *instance);
	/*
	 * Runs on a worker thread and may block. Gives text with hf_job_text and returns 0; or
	 * fails with `return hf_job_fail(job, "what the agent may know")`. Any other negative
	 * number is a failure whose reason the agent is not told.
	 */
	int (*run)(void *instance, struct hf_job *job);
	/*
	 * Repair arguments that are nearly right before they are checked: "42" for an integer, the
	 * whole object as a string. The tool gets the repaired input; each repair stands in
	 * arg_repairs of the event tool.called.
	 */
	bool repair_arguments;
};
HF_API int hf_register(struct hf *hf, const char *card, const struct hf_tool *tool, void *arg);
HF_API int hf_unregister(struct hf *hf, const char *name);

/*
 * A plugin is a shared object whose tools `holdfast plugin-host` runs in a process of its own:
 *
 *	HF_PLUGIN(hf)
 *	{
 *		return hf_register(hf, card, &my_tool, NULL);
 *	}
 *
 * It is built against this header alone (examples/plugin) and named under `plugins` in the
 * configuration. The symbol has the version of this interface in its name: a plugin of another one
 * is refused, not run.
 */
#define HF_PLUGIN_SYMBOL "holdfast_plugin_1"
#define HF_PLUGIN(hf)                                                                              \
	HF_API int holdfast_plugin_1(struct hf *hf);                                               \
	int holdfast_plugin_1(struct hf *hf)

/* Inside `run`. Strings live as long as the job. */
HF_API const char *hf_job_input(struct hf_job *job); /* validated JSON */
HF_API const char *hf_job_session(struct hf_job *job);
HF_API const char *hf_job_id(struct hf_job *job);        /* tool_use_id */
HF_API const char *hf_job_workspace(struct hf_job *job); /* absolute path */
HF_API bool hf_job_cancelled(struct hf_job *job);        /* long work looks at it now and then */
/* How far it is: label (NULL: as before), so much of so much (total 0: not known). As often as you
 * like; whoever watches, and the client that made the call, hear of it some times a second. It
 * also moves the call's deadline, up to the most its tool is given. */
HF_API void hf_job_progress(struct hf_job *job, const char *label, double current, double total);
HF_API void hf_job_text(struct hf_job *job, const char *text, size_t len); /* adds a block */
HF_API void hf_job_modified(struct hf_job *job, const char *path);
HF_API int hf_job_fail(struct hf_job *job, const char *reason);

/* Sessions and calls. Opening one looks at the workspace, and waits for a slow disk. It is the
 * default agent's: what is disabled for that one is not there. */
HF_API int hf_session_open(struct hf *hf, const char *workspace, bool worker, char ret_id[40]);
HF_API int hf_session_end(struct hf *hf, const char *session);
/*
 * One call. result is {"type":"tool_result","tool_use_id":...,"content":[...],"is_error":...},
 * valid inside the function, which is called once and never inside hf_dispatch.
 */
typedef void (*hf_result_fn)(const char *result, size_t len, bool is_error, void *arg);
HF_API int hf_dispatch(struct hf *hf, const char *session, const char *tool, const char *input,
		       hf_result_fn done, void *arg);
/*
 * The same, done once. key: the caller's own word for this call, or NULL; turn_group: calls with
 * the same arguments in one group are one, or NULL. What was done before gives the same result.
 */
HF_API int hf_dispatch_once(struct hf *hf, const char *session, const char *tool, const char *input,
			    const char *key, const char *turn_group, hf_result_fn done, void *arg);
HF_API int hf_cancel_session(struct hf *hf, const char *session);
/* allow or deny an open question; scope as in the REST interface ("once", "session", ...). */
HF_API int hf_answer(struct hf *hf, const char *request, bool allow, const char *scope);

/*
 * The kernel router (docs/kernel.md): an envelope goes in, exactly one emission comes out, in the
 * order of envelopes. A session's kernel begins with its first envelope, or before that with
 * hf_kernel_open: bundle is an index with its schemas as JSON (NULL: the configured one, or the
 * pack that is part of the program), state JSON too (NULL: as a session begins).
 */
HF_API int hf_kernel_open(struct hf *hf, const char *session, const char *bundle,
			  const char *state);
/* A YAML file, or the name of a pack, checked and made a bundle, to be freed. NULL: hf_error(NULL)
 * tells why. */
HF_API char *hf_kernel_bundle(const char *index);
/* One line of JSON, not NUL-terminated, valid inside the function, which is called once and never
 * inside hf_kernel. NULL: the session has ended. */
typedef void (*hf_emission_fn)(const char *emission, size_t len, bool ok, void *arg);
HF_API int hf_kernel(struct hf *hf, const char *session, const char *envelope, size_t len,
		     hf_emission_fn done, void *arg);

/*
 * Stages of your own. A call walks down the chain (`holdfast pipeline` prints it) and back up
 * again: enter on the way in, wake each time it may go on, leave once on the way out, whatever
 * became of the call, in reverse order. All three may be missing. They run on the loop's thread and
 * must not block; a stage that has to wait says HF_WAIT, and somebody calls hf_call_wake when it
 * may look again (it may also be woken for nothing). Cancelling the call ends the wait. Where a
 * person is asked again because a file has changed meanwhile, the stages behind "confirm" are left
 * and entered once more.
 *
 * A stage sees a call and may stop it; it changes nothing. Behind "confirm" it sees what really
 * runs.
 */
enum { HF_NEXT = 0, HF_WAIT = 1, HF_FAIL = -1 };
enum hf_side { HF_BEFORE, HF_AFTER };
struct hf_stage {
	const char *name;     /* small letters, digits, - and _; no other stage has it */
	const char *sentence; /* what it does */
	int (*enter)(struct hf_call *call, void *arg); /* HF_NEXT, HF_WAIT or HF_FAIL */
	int (*wake)(struct hf_call *call, void *arg);  /* the same */
	void (*leave)(struct hf_call *call, void *arg);
	void *arg;
};
/* Only while no call is alive. Not before "record", and not between "dispatch" and "result". */
HF_API int hf_use(struct hf *hf, const struct hf_stage *stage, enum hf_side side,
		  const char *neighbour);

/* Inside the functions of stages and hooks. Strings are valid until the function returns. */
HF_API const char *hf_call_tool(struct hf_call *call);
HF_API const char *hf_call_id(struct hf_call *call); /* tool_use_id */
HF_API const char *hf_call_session(struct hf_call *call);
HF_API const char *hf_call_workspace(struct hf_call *call);  /* absolute path */
HF_API const char *hf_call_input(struct hf_call *call);      /* JSON; NULL: it could not be read */
HF_API const char *hf_call_capability(struct hf_call *call); /* "write"; NULL before "resolve" */
/* On the way out: did it fail, and the text of the result (or why it failed). */
HF_API bool hf_call_is_error(struct hf_call *call);
HF_API const char *hf_call_result(struct hf_call *call); /* NULL on the way in */
/* `return hf_call_fail(call, "what the agent may know")` from enter or wake. */
HF_API int hf_call_fail(struct hf_call *call, const char *sentence);
/* Any thread, from HF_WAIT until leave has returned: the stage looks again, soon. */
HF_API void hf_call_wake(struct hf_call *call);

/*
 * Hooks are functions for some tools: before the arguments are checked, and after the tool has run.
 * Those for all tools ("*", or "") come first, then those for the tool, each in the order they were
 * added; afterwards in reverse. `tool` may hold several names, and * and ?: "read_file|git__*".
 * Programs of the configuration (docs/hooks.md) come before functions. They run on the loop's
 * thread and must not block. What a call has passed stays with it: a hook that is added later is
 * for later calls.
 */
typedef void (*hf_hook_fn)(struct hf_call *call, void *arg);
HF_API int hf_hook_pre(struct hf *hf, const char *tool, hf_hook_fn hook, void *arg);
/* Not for a call that never reached its tool: one that was refused, denied or aborted. */
HF_API int hf_hook_post(struct hf *hf, const char *tool, hf_hook_fn hook, void *arg);
/* In a hook before: other arguments, which are checked, shown and approved instead. A text that is
 * not a JSON object ends the call. */
HF_API int hf_call_set_input(struct hf_call *call, const char *json);
/* In a hook before: the call ends here, as permission_denied. Both may be NULL; `result` stands
 * behind the reason in what the agent gets. */
HF_API int hf_call_abort(struct hf_call *call, const char *reason, const char *result);
/* In a hook after: this text instead of the result; secrets are taken out of it, too. */
HF_API int hf_call_set_result(struct hf_call *call, const char *text, size_t len, bool is_error);

/*
 * The user says something while the agent is at work (docs/turns.md). A turn that is open is asked
 * about it before a tool that cannot be undone: by the function below if there is one, and if the
 * session has no word of its own. ret_id may be NULL.
 */
HF_API int hf_message(struct hf *hf, const char *session, const char *text, char ret_id[72]);
enum hf_supersede {
	HF_SUPERSEDE,      /* the turn is given up, and what it did is taken back */
	HF_ABSORB,         /* the turn has the message, and goes on */
	HF_FORCE_COMPLETE, /* it goes on to its end, whatever comes */
	HF_QUEUE,          /* it goes on; the message waits for another turn */
	HF_BY_DEFAULT,     /* HF_QUEUE once the turn has had an effect, else HF_SUPERSEDE */
	HF_LATER,          /* hf_decide follows, in time; else it is the default */
};
struct hf_supersede_ask {
	const char *session, *turn, *tool; /* the tool that is next */
	const char *message_id, *message;  /* the oldest one the turn has not heard of */
	bool committed;                    /* the turn has done what cannot be undone */
	unsigned effects;                  /* of the turn so far */
};
/* On the loop's thread; must not block. Strings are valid inside. */
typedef enum hf_supersede (*hf_supersede_fn)(const struct hf_supersede_ask *ask, void *arg);
HF_API void hf_on_supersede(struct hf *hf, hf_supersede_fn decide, void *arg); /* NULL: nobody */
/* The decision on the turn of this session that waits for one. */
HF_API int hf_decide(struct hf *hf, const char *session, enum hf_supersede decision);

/* Every event from now on, whole JSON of len bytes (not NUL-terminated), in order. */
typedef void (*hf_event_fn)(const char *event, size_t len, void *arg);
HF_API int hf_subscribe(struct hf *hf, hf_event_fn each, void *arg);

/*
 * What calls do to files: those whose path, old or new, fits the pattern ("" or "*": all; without a
 * "/" the file's name wherever it lies, as "*.c"; else the whole path, as "src/" and two stars).
 * Called on the loop's thread, soon after; what it is given is valid inside. It may unsubscribe,
 * and dispatch.
 */
struct hf_change {
	const char *type;      /* "created", "modified", "deleted", "renamed" */
	const char *path;      /* from the workspace */
	const char *old_path;  /* of one that was renamed, else NULL */
	const char *workspace; /* absolute */
	const char *tool, *call;
	uint64_t size;
	bool undoable; /* `holdfast undo` can take it back */
};
typedef void (*hf_change_fn)(const struct hf_change *change, void *arg);
/* An id above 0, or a negative code. */
HF_API int hf_subscribe_changes(struct hf *hf, const char *pattern, hf_change_fn each, void *arg);
HF_API void hf_unsubscribe_changes(struct hf *hf, int id);

#ifdef __cplusplus
}
#endif

#endif
