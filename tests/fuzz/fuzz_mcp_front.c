/*
 * fuzz_mcp_front.c - any lines at all from an MCP client: no crash, no leak, at most one answer to
 * a request, all of them JSON, and nothing is left of the client when it is gone.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/hf.h"
#include "front/mcp.h"
#include "fuzz.h"

static struct hf *hf;
static char dir[] = "/tmp/holdfast-fuzz-XXXXXX";
static char workspace[64], state[64];

struct peer {
	struct mcp_client client;
	struct mcp_channel channel;
	size_t requests, answers;
	bool gone;
};

static void
check_text(struct str text)
{
	const struct json_limits limits = {4 * LIMIT_LINE_BYTES, LIMIT_JSON_DEPTH};
	struct json_doc *doc = NULL;

	CHECK(json_parse(text, &limits, &doc, NULL) == 0);
	CHECK(str_is(json_str(json_get(json_root(doc), S("jsonrpc"))), "2.0"));
	CHECK(str_index(text, '\n') < 0);
	json_doc_unref(doc);
}

static bool
note(struct mcp_channel *ch, struct str message)
{
	CHECK(!CONTAINER_OF(ch, struct peer, channel)->gone);
	check_text(message);
	return true;
}

static void
answer(struct mcp_channel *ch, int status, struct buf *message)
{
	struct peer *p = CONTAINER_OF(ch, struct peer, channel);

	CHECK(!p->gone && status >= 200 && status < 600);
	check_text(buf_str(message));
	buf_done(message);
	CHECK(++p->answers <= p->requests);
}

static void
drop(struct mcp_channel *ch)
{
	(void)ch;
}

static bool
from_tool(const struct mcp_channel *ch)
{
	(void)ch;
	return false;
}

static const struct mcp_channel_ops ops = {note, answer, drop, from_tool};

static void
tell(struct mcp_client *c, struct str message)
{
	CHECK(!CONTAINER_OF(c, struct peer, client)->gone);
	check_text(message);
}

static void
freed(struct mcp_client *c)
{
	free(CONTAINER_OF(c, struct peer, client));
}

static void
clean_up(void)
{
	rmdir(workspace);
	rmdir(dir);
}

static void
start(void)
{
	CHECK(mkdtemp(dir));
	/* Nothing of the machine is touched: nobody answers what is asked, and nothing is kept. */
	setenv("XDG_CONFIG_HOME", dir, 1);
	snprintf(workspace, sizeof(workspace), "%s/ws", dir);
	snprintf(state, sizeof(state), "%s/state", dir);
	CHECK(mkdir(workspace, 0700) == 0);
	atexit(clean_up);
	CHECK(hf_open(&(struct hf_options){.state = state, .ephemeral = true}, &hf) == 0);
}

static struct peer *
peer_new(enum surface kind)
{
	struct peer *p = calloc(1, sizeof(*p));
	char session[40];

	CHECK(p && hf_session_open(hf, workspace, false, session) == 0);
	p->channel.ops = &ops;
	mcp_client_init(&p->client, hf->front, session_find(hf->sessions, str_of(session)),
			&(struct mcp_surface){.kind = kind});
	p->client.may_answer = true;
	p->client.tell = tell;
	p->client.freed = freed;
	return p;
}

/* As a line would be taken. */
static void
take(struct peer *p, struct str text)
{
	struct json_doc *doc = fuzz_parse(text);
	struct mcp_message m = {0};
	struct mcp_fault f;

	if (!doc)
		return;
	int code = mcp_read(doc, &m, &f);
	if (code == 0 && m.rpc.kind == RPC_REQUEST && m.era == ERA_MODERN &&
	    (code = mcp_check_envelope(&m, &f)) == 0)
		code = mcp_check_version(&m, &f);
	if (code == 0) {
		p->requests += m.rpc.kind == RPC_REQUEST;
		mcp_take(&p->client, &p->channel, &m);
	} else {
		struct buf b = BUF_INIT(2 * LIMIT_LINE_BYTES);
		mcp_write_fault(&b, &m, &f);
		check_text(buf_str(&b));
		check_harmless(str_of(err_text(&f.err)));
		buf_done(&b);
	}
	json_doc_unref(doc);
}

/* The first byte says on which surface, the rest are lines. */
int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct str rest = {(const char *)bytes + 1, size - 1}, line;

	if (size < 2 || size > 64 * KIB)
		return 0;
	if (!hf)
		start();
	struct peer *p = peer_new((enum surface)(bytes[0] % 3));
	while (str_split(&rest, '\n', &line)) {
		take(p, line);
		uv_run(loop_uv(hf->loop), UV_RUN_NOWAIT);
	}
	mcp_changed(hf->front, CHANGED_TOOLS | CHANGED_PROMPTS | CHANGED_RESOURCES);
	uv_run(loop_uv(hf->loop), UV_RUN_NOWAIT);
	p->gone = true;
	mcp_client_done(&p->client);
	while (hf->gw.calls.len > 0)
		uv_run(loop_uv(hf->loop), UV_RUN_ONCE);
	const struct front_mcp *left = &hf->front->mcp;
	CHECK(left->open == 0 && left->clients.len == 0 && left->parks.len == 0 &&
	      left->listeners.len == 0 && left->kept == 0);
	return 0;
}
