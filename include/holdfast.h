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

struct hf;     /* a gateway */
struct hf_job; /* one execution of a tool */

struct hf_options {
	const char
	    *config; /* a YAML file; NULL: $XDG_CONFIG_HOME/holdfast/config.yaml if there is one */
	const char *state;     /* directory of the journal; NULL: $XDG_STATE_HOME/holdfast */
	bool ephemeral;        /* keep nothing on disk */
	bool no_builtins;      /* without the built-in tools */
	bool no_servers;       /* without the MCP servers of the configuration */
	const char *workspace; /* of clients that come over HTTP and name none; NULL: none, unless
				  the configuration has one */
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

/* Inside `run`. Strings live as long as the job. */
HF_API const char *hf_job_input(struct hf_job *job); /* validated JSON */
HF_API const char *hf_job_session(struct hf_job *job);
HF_API const char *hf_job_id(struct hf_job *job);        /* tool_use_id */
HF_API const char *hf_job_workspace(struct hf_job *job); /* absolute path */
HF_API bool hf_job_cancelled(struct hf_job *job);        /* long work looks at it now and then */
HF_API void hf_job_text(struct hf_job *job, const char *text, size_t len); /* adds a block */
HF_API void hf_job_modified(struct hf_job *job, const char *path);
HF_API int hf_job_fail(struct hf_job *job, const char *reason);

/* Sessions and calls. Opening one looks at the workspace, and waits for a slow disk. */
HF_API int hf_session_open(struct hf *hf, const char *workspace, bool worker, char ret_id[40]);
HF_API int hf_session_end(struct hf *hf, const char *session);
/*
 * One call. result is {"type":"tool_result","tool_use_id":...,"content":[...],"is_error":...},
 * valid inside the function, which is called once and never inside hf_dispatch.
 */
typedef void (*hf_result_fn)(const char *result, size_t len, bool is_error, void *arg);
HF_API int hf_dispatch(struct hf *hf, const char *session, const char *tool, const char *input,
		       hf_result_fn done, void *arg);
HF_API int hf_cancel_session(struct hf *hf, const char *session);
/* allow or deny an open question; scope as in the REST interface ("once", "session", ...). */
HF_API int hf_answer(struct hf *hf, const char *request, bool allow, const char *scope);

/* Every event from now on, whole JSON of len bytes (not NUL-terminated), in order. */
typedef void (*hf_event_fn)(const char *event, size_t len, void *arg);
HF_API int hf_subscribe(struct hf *hf, hf_event_fn each, void *arg);

#ifdef __cplusplus
}
#endif

#endif
