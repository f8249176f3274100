/*
 * link_stdio.c - messages as lines on the streams of a child.
 *
 *   send --> out --once per turn--> child_write --> its stdin
 *   its stdout --> lines --> json_parse_buf --> message
 *   its stderr --> secrets taken out --> lines --> the log, some a second
 *
 * The end: its stdin is closed, then SIGTERM, then SIGKILL (child.h), and nothing of it is left.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "loop/child.h"
#include "text/secrets.h"
#include "upstream/inside.h"

#define OUT_BYTES (LIMIT_LINE_BYTES * 2)
#define OUT_KEPT (256 * KIB)       /* of memory, when all is written */
#define LINE_KEPT (1 * MIB)        /* of memory, after a long line */
#define LINE_LONG (256 * KIB)      /* what has come so far: the rest is read to its end at once */
#define LINE_ROOM (1 * MIB)        /* for the rest */
#define OUT_AGAIN_MS 20            /* when the child does not read */
#define WORDS_BYTES ((size_t)1024) /* of a line of stderr, told */
#define WORDS_MOST ((size_t)4096)  /* of one, looked at */

/* Lines out of pieces. */
struct lines {
	struct buf part; /* of the line that has begun */
	bool skipping;   /* it is too long: up to its end only its ends are kept */
	char head[RPC_PEEK], tail[RPC_PEEK]; /* of the last one that was */
	size_t head_len, tail_len;
};

struct pipe_link {
	struct link base;
	struct loop *loop;
	struct link_events ev;
	char *name;
	struct child *child;
	struct lines in, words;
	struct secrets *finder;     /* of what looks like one in its words; NULL: it said none */
	const char *const *secrets; /* the spec's, which outlives the link */
	struct buf out;
	struct deferred flush;
	struct timer again; /* flush, or the next step of the kill ladder */
	size_t skipped;     /* bytes that were no message, since the last one */
	bool told;          /* whoever waits for what is being skipped */
	struct faucet garbage, spoken;
	bool closing;
	bool unheard; /* it has closed its stdin */
	char last_words[200];
	bool last_little; /* is all that they say */
	struct err why;   /* we gave it up */
};

/* ---- to the child ---- */

static void
out_flush(void *arg)
{
	struct pipe_link *l = arg;

	if (l->out.len == 0)
		return;
	int rc = child_write(l->child, buf_str(&l->out));
	if ((rc == E_LIMIT || rc == E_NOMEM) && !l->closing) {
		(void)timer_start(l->loop, &l->again, OUT_AGAIN_MS, out_flush, l);
		return;
	}
	buf_reset(&l->out); /* or its stdin is closed: child_unheard */
	if (l->out.cap > OUT_KEPT)
		buf_done(&l->out);
}

static int
pipe_send(struct link *base, const struct link_message *m, struct err *e)
{
	struct pipe_link *l = CONTAINER_OF(base, struct pipe_link, base);

	if (l->closing)
		return err_set(e, E_UNAVAILABLE, "the server is being ended");
	if (l->unheard)
		return err_set(e, E_UNAVAILABLE, "the server has closed its stdin");
	if (m->text.len >= OUT_BYTES - l->out.len)
		return err_set(e, E_LIMIT, "too much waits for the server to read it");
	buf_add(&l->out, m->text);
	buf_addc(&l->out, '\n');
	if (buf_failed(&l->out)) {
		l->out.failed = false;
		return err_plain(e, E_NOMEM);
	}
	if (!timer_running(&l->again))
		defer(l->loop, &l->flush, out_flush, l);
	return 0;
}

/* ---- from the child ---- */

typedef void line_taker(void *arg, struct str line, struct buf *part);

static void
line_over(struct lines *ls)
{
	ls->skipping = false;
	buf_reset(&ls->part);
	if (ls->part.cap > LINE_KEPT)
		buf_done(&ls->part);
}

static struct str
tail_of(struct str s)
{
	return s.len > RPC_PEEK ? str_from(s, s.len - RPC_PEEK) : s;
}

/* The last bytes of what was there and of the piece. */
static void
tail_add(struct lines *ls, struct str piece)
{
	struct str more = tail_of(piece);
	size_t room = RPC_PEEK - more.len, kept = ls->tail_len < room ? ls->tail_len : room;

	memmove(ls->tail, ls->tail + ls->tail_len - kept, kept);
	memcpy(ls->tail + kept, more.ptr, more.len);
	ls->tail_len = kept + more.len;
}

/* A line that is too long: what it was an answer to may stand at its ends. */
static void
line_skip(struct lines *ls, struct str piece)
{
	if (!ls->skipping) {
		struct str head = str_upto(ls->part.len ? buf_str(&ls->part) : piece, RPC_PEEK);
		memcpy(ls->head, head.ptr, head.len);
		ls->head_len = head.len;
		ls->tail_len = 0;
	}
	tail_add(ls, piece);
	ls->skipping = true;
	buf_reset(&ls->part);
}

/*
 * Gives each whole line to `take`; one that is too long counts as skipped. One that came in pieces
 * stands in a buffer whose memory may be taken; otherwise `part` is empty.
 */
static size_t
lines_add(struct lines *ls, struct str bytes, size_t max, line_taker *take, void *arg)
{
	size_t skipped = 0;

	while (bytes.len > 0) {
		ptrdiff_t end = str_index(bytes, '\n');
		struct str piece = str_upto(bytes, end < 0 ? bytes.len : (size_t)end);
		bool fits = piece.len <= max - ls->part.len;

		bytes = str_from(bytes, piece.len + (end >= 0));
		if (!fits || ls->skipping) {
			skipped += piece.len + ls->part.len;
			line_skip(ls, piece);
		} else if (end < 0 || ls->part.len > 0) {
			if (piece.len >= LINE_LONG && max - piece.len > LINE_ROOM)
				(void)buf_room(&ls->part, piece.len + LINE_ROOM);
			buf_add(&ls->part, piece);
		}
		if (end < 0)
			break;
		if (!ls->skipping && !buf_failed(&ls->part))
			take(arg, ls->part.len > 0 ? buf_str(&ls->part) : piece, &ls->part);
		line_over(ls);
	}
	return skipped;
}

/* Bytes that were read to the end of ls->part already. */
static size_t
lines_grew(struct lines *ls, struct str bytes, size_t max, line_taker *take, void *arg)
{
	struct buf rest = BUF_INIT(LINE_ROOM);
	ptrdiff_t end = str_index(bytes, '\n');

	if (end < 0) {
		ls->part.len += bytes.len;
		return 0;
	}
	/* The memory of the line may be gone with it, and other lines may stand behind. */
	buf_add(&rest, str_from(bytes, (size_t)end + 1));
	ls->part.len += (size_t)end;
	take(arg, buf_str(&ls->part), &ls->part);
	line_over(ls);
	size_t skipped = lines_add(ls, buf_str(&rest), max, take, arg);
	buf_done(&rest);
	return skipped;
}

/* A long line is read to where its beginning stands. */
static char *
line_room(struct child *c, enum child_stream stream, size_t *ret_len, void *arg)
{
	struct pipe_link *l = arg;
	struct buf *part = &l->in.part;
	size_t most = LIMIT_LINE_BYTES - part->len;

	(void)c;
	if (stream != CHILD_STDOUT || part->len < LINE_LONG || l->in.skipping || most == 0)
		return NULL;
	*ret_len = most < LINE_ROOM ? most : LINE_ROOM;
	return buf_room(part, *ret_len);
}

/* What is no message. Some of it is told; too much of it ends the child. */
static void
skip(struct pipe_link *l, size_t bytes, const char *what)
{
	l->skipped += bytes;
	if (faucet__takes(&l->garbage, l->loop, 5))
		log_line(LOG_WARN, "a server wrote something that is no message", "server", l->name,
			 "what", what, NULL);
	if (l->skipped <= LIMIT_UPSTREAM_SKIPPED || l->closing)
		return;
	err_set(&l->why, E_EXECUTION, "the server writes what is no message, and does not end");
	l->closing = true;
	child_kill(l->child);
}

/* Whoever waits for an answer that is too large need not wait for its deadline. id 0: it cannot be
 * told who that is. */
static void
tell_too_large(struct pipe_link *l, uint64_t id, const char *why)
{
	struct err e;

	err_set(&e, E_TOO_LARGE, "%s", why);
	l->ev.failed(l->ev.arg, id, 0, (struct str){NULL, 0}, &e);
}

/* At once if its beginning says whose it is, else at its end. */
static void
long_line(struct pipe_link *l)
{
	const struct lines *in = &l->in;
	bool over = !in->skipping;
	uint64_t id = 0;
	char why[64];

	snprintf(why, sizeof(why), "the result is larger than %d MiB",
		 (int)(LIMIT_LINE_BYTES / MIB));
	if (!l->told &&
	    rpc_peek((struct str){in->head, in->head_len},
		     (struct str){in->tail, over ? in->tail_len : 0}, &id) &&
	    (id || over))
		tell_too_large(l, id, why);
	l->told = !over && (l->told || id);
}

static void
line_take(void *arg, struct str line, struct buf *part)
{
	struct pipe_link *l = arg;
	struct json_doc *doc;
	struct err e;

	if (l->closing || str_trim(line).len == 0)
		return;
	int rc = part->len > 0 ? json_parse_buf(part, &json_door, &doc, &e)
			       : json_parse(line, &json_door, &doc, &e);
	if (rc < 0) {
		uint64_t id;
		if (rc == E_TOO_LARGE && rpc_peek(line, tail_of(line), &id))
			tell_too_large(l, id, e.text);
		skip(l, line.len, e.text);
		return;
	}
	l->skipped = 0;
	l->ev.message(l->ev.arg, doc, 0);
	json_doc_unref(doc);
}

/* The length of the longest secret that the text begins with. */
static size_t
secret_at(const char *const *secrets, struct str text)
{
	size_t longest = 0;

	for (; *secrets; secrets++) {
		struct str s = str_of(*secrets);
		if (s.len > longest && str_starts(text, s))
			longest = s.len;
	}
	return longest;
}

/* What was filled in for this server need not look like a secret to be one. */
static void
secrets_hide(const char *const *secrets, struct str text, struct buf *out)
{
	while (text.len > 0) {
		size_t n = secret_at(secrets, text);

		if (n > 0)
			buf_addz(out, SECRET_MARK);
		else
			buf_addc(out, text.ptr[0]);
		text = str_from(text, n > 0 ? n : 1);
	}
}

static bool
starts_with_any(struct str line, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (str_starts(line, str_of(*beginnings)))
			return true;
	return false;
}

/* What npm says after "npm error", or has said before version 10; {NULL,0}: it is not npm. */
static struct str
npm_error(struct str line)
{
	static const char *const beginnings[] = {"npm error ", "npm ERR! "};

	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		if (str_starts(line, str_of(beginnings[i])))
			return str_from(line, strlen(beginnings[i]));
	return (struct str){NULL, 0};
}

/* The last line of what went wrong is seldom the one that says it: traces are indented and end with
 * a version, and npm begins with what is wrong and ends with where to read more. */
static bool
says_little(const struct pipe_link *l, struct str line)
{
	static const char *const lesser[] = {" ",        "\t",         "}",
					     "- ",       "npm notice", "npm warn",
					     "npm WARN", "Node.js v",  "Require stack:",
					     "See '",    "Run '",      NULL};
	static const char *const npm_lesser[] = {"code ", "errno ",         "syscall ", "path ",
						 "dest ", "A complete log", NULL};
	struct str npm = npm_error(line);

	if (!npm.ptr)
		return starts_with_any(line, lesser);
	return starts_with_any(npm, npm_lesser) ||
	       (!l->last_little && npm_error(str_of(l->last_words)).ptr);
}

static void
words_keep(struct pipe_link *l, struct str line, bool little)
{
	if (little && l->last_words[0] && !l->last_little)
		return;
	l->last_little = little;
	snprintf(l->last_words, sizeof(l->last_words), "%.*s",
		 STR_ARG(str_utf8_upto(line, sizeof(l->last_words) - 1)));
	for (char *c = l->last_words; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

static void
words_tell(struct pipe_link *l, struct str line)
{
	bool little = says_little(l, line);
	char text[WORDS_BYTES + 1];

	line = str_trim(str_utf8_upto(line, WORDS_BYTES));
	if (line.len == 0)
		return;
	snprintf(text, sizeof(text), "%.*s", STR_ARG(line));
	words_keep(l, line, little);
	if (faucet__takes(&l->spoken, l->loop, LIMIT_UPSTREAM_STDERR_LINES))
		log_line(LOG_INFO, text, "server", l->name, NULL);
}

static void
words_take(void *arg, struct str line, struct buf *part)
{
	struct pipe_link *l = arg;
	struct buf text = BUF_INIT(WORDS_MOST * SECRETS_GROWTH);

	(void)part;
	if (!l->secrets || !*l->secrets) {
		words_tell(l, line);
		return;
	}
	secrets_hide(l->secrets, line, &text); /* before it is cut, or half of one would be told */
	if (!buf_failed(&text))
		words_tell(l, buf_str(&text));
	buf_done(&text);
}

/* It is large, and many servers never say a word. Out of memory nothing is told: better than too
 * much. */
static bool
finder_make(struct pipe_link *l)
{
	if (!l->finder && (l->finder = malloc(sizeof(*l->finder))))
		secrets_begin(l->finder);
	return l->finder != NULL;
}

static void
words_add(struct pipe_link *l, struct str bytes, bool last)
{
	struct buf plain = BUF_INIT((size_t)2 * SECRETS_WINDOW * SECRETS_GROWTH);

	if ((bytes.len == 0 && !l->finder) || !finder_make(l))
		return;
	while (bytes.len > 0 || last) {
		struct str piece = str_upto(bytes, SECRETS_WINDOW);

		bytes = str_from(bytes, piece.len);
		secrets_feed(l->finder, piece, &plain);
		if (last && bytes.len == 0) {
			secrets_end(l->finder, &plain);
			buf_addc(&plain, '\n');
			last = false;
		}
		lines_add(&l->words, buf_str(&plain), WORDS_MOST, words_take, l);
		buf_reset(&plain);
	}
	buf_done(&plain);
}

static void
child_said(struct child *c, enum child_stream stream, struct str bytes, void *arg)
{
	struct pipe_link *l = arg;
	size_t skipped = 0;

	(void)c;
	l->ev.alive(l->ev.arg);
	if (stream == CHILD_STDERR)
		words_add(l, bytes, false);
	else if (l->in.part.len > 0 && bytes.ptr == l->in.part.ptr + l->in.part.len)
		skipped = lines_grew(&l->in, bytes, LIMIT_LINE_BYTES, line_take, l);
	else
		skipped = lines_add(&l->in, bytes, LIMIT_LINE_BYTES, line_take, l);
	if (skipped == 0)
		return;
	long_line(l);
	skip(l, skipped, "a line that is too long");
}

/* ---- the end ---- */

static void
link_free(struct pipe_link *l)
{
	timer_stop(l->loop, &l->again);
	defer_cancel(&l->flush);
	buf_done(&l->in.part);
	buf_done(&l->words.part);
	free(l->finder);
	buf_done(&l->out);
	free(l->name);
	free(l);
}

static void
describe(const struct child_exit *how, struct err *e)
{
	if (!how->ran)
		err_set(e, E_UNAVAILABLE, "it could not be started: %s", how->reason);
	else if (how->signal)
		err_set(e, E_UNAVAILABLE, "it was ended by signal %d", how->signal);
	else
		err_set(e, E_UNAVAILABLE, "it ended with status %d", how->status);
}

static void
child_gone(struct child *c, const struct child_exit *how, void *arg)
{
	struct pipe_link *l = arg;
	struct err e;

	(void)c;
	l->closing = true;
	words_add(l, S(""), true);
	describe(how, &e);
	if (l->why.code)
		e = l->why;
	if (l->last_words[0])
		err_inside(&e, "%s", l->last_words);
	l->ev.closed(l->ev.arg, &e);
	link_free(l);
}

static void
end_now(void *arg)
{
	struct pipe_link *l = arg;

	child_end(l->child);
}

static void
end_unheard(void *arg)
{
	struct pipe_link *l = arg;

	l->closing = true;
	err_set(&l->why, E_UNAVAILABLE, "it has closed its stdin, and reads no more");
	child_end(l->child);
}

/* Mostly it has just ended, and what it said last and how it ended is still to be heard. */
static void
child_unheard(struct child *c, void *arg)
{
	struct pipe_link *l = arg;

	(void)c;
	if (l->closing)
		return;
	l->unheard = true;
	if (timer_start(l->loop, &l->again, LIMIT_UPSTREAM_EOF_MS, end_unheard, l) < 0)
		end_unheard(l);
}

static void
pipe_close(struct link *base)
{
	struct pipe_link *l = CONTAINER_OF(base, struct pipe_link, base);

	if (l->closing)
		return;
	l->closing = true;
	out_flush(l); /* what was said before is still said */
	child_close_stdin(l->child);
	if (timer_start(l->loop, &l->again, LIMIT_UPSTREAM_EOF_MS, end_now, l) < 0)
		child_end(l->child);
}

static void
pipe_drop(struct link *base, uint64_t id)
{
	(void)base;
	(void)id;
}

static void
pipe_listen(struct link *base, enum mcp_revision revision)
{
	(void)base;
	(void)revision;
}

static int
pipe_pid(const struct link *base)
{
	return child_pid(((const struct pipe_link *)base)->child);
}

static uint32_t
pipe_layers(const struct link *base)
{
	return child_layers(((const struct pipe_link *)base)->child);
}

/* ---- the start ---- */

static const struct link_ops pipe_ops = {pipe_send,  pipe_drop, pipe_listen,
					 pipe_close, pipe_pid,  pipe_layers};

static struct pipe_link *
link_new(struct loop *loop, const struct upstream_spec *spec, const struct link_events *ev)
{
	struct pipe_link *l = calloc(1, sizeof(*l));

	if (!l || !(l->name = str_dup(spec->name))) {
		free(l);
		return NULL;
	}
	l->base.ops = &pipe_ops;
	l->loop = loop;
	l->ev = *ev;
	l->in.part = BUF_INIT(LIMIT_LINE_BYTES);
	l->words.part = BUF_INIT(WORDS_MOST);
	l->secrets = spec->secrets;
	l->out = BUF_INIT(OUT_BYTES);
	return l;
}

static int
start_confined(struct pipe_link *l, const struct upstream_spec *spec, struct child_spec *child,
	       struct err *e)
{
	struct arena *a = arena_new(LIMIT_UPSTREAM_SPEC);
	struct confinement c;
	int rc = a ? confine_child(spec->house, CONFINED_SERVERS, &spec->confinement, spec->name, a,
				   &c, e)
		   : err_plain(e, E_NOMEM);

	child->confinement = &c;
	if (rc == 0)
		rc = child_start(l->loop, child, &l->child, e);
	child->confinement = NULL;
	arena_free(a);
	return rc;
}

static int
start(struct pipe_link *l, const struct upstream_spec *spec, struct err *e)
{
	static const char *const nothing[] = {NULL};
	struct child_spec child = {
	    .argv = spec->argv,
	    .env = spec->env ? spec->env : nothing,
	    .cwd_fd = open(spec->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC),
	    .with_stdin = true,
	    .grace_ms = LIMIT_KILL_GRACE_MS,
	    .output = child_said,
	    .room = line_room,
	    .unheard = child_unheard,
	    .over = child_gone,
	    .arg = l,
	};

	if (child.cwd_fd < 0)
		return err_set(e, E_UNAVAILABLE, "its directory %.200s cannot be used: %s",
			       spec->cwd, strerror(errno));
	int rc = start_confined(l, spec, &child, e);
	close(child.cwd_fd);
	return rc;
}

int
link_stdio(struct loop *loop, const struct upstream_spec *spec, const struct link_events *ev,
	   struct link **ret, struct err *e)
{
	if (!spec->argv || !spec->argv[0])
		return err_set(e, E_UNAVAILABLE, "it has no command that could be started");
	struct pipe_link *l = link_new(loop, spec, ev);
	if (!l)
		return err_plain(e, E_NOMEM);
	int rc = start(l, spec, e);
	if (rc < 0) {
		link_free(l);
		return rc;
	}
	*ret = &l->base;
	return 0;
}
