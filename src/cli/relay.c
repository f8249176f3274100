/* relay.c - two lanes and one poll. */

#include "cli/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/args.h"
#include "cli/term.h"
#include "json/json.h"
#include "json/write.h"

#define LANE_BYTES (256 * KIB)
#define HELLO_BYTES (64 * KIB)
#define HELLO_MS 10000
#define LINGER_MS 2000 /* for answers after the client has ended */
#define WAITING_MOST 4096

/* A request of the client that has no answer yet. */
struct waiting {
	struct node node;
	unsigned batch; /* 0: it came alone */
	size_t len;
	char id[]; /* as JSON */
};

/* ---- what the lines say ---- */

static void
id_text(struct buf *out, const struct json *id)
{
	struct jw w = jw(out);

	jw_value(&w, id);
}

static struct waiting *
waiting_find(const struct relay *r, struct str id)
{
	LIST_EACH (&r->waiting, n) {
		struct waiting *w = CONTAINER_OF(n, struct waiting, node);
		if (str_eq((struct str){w->id, w->len}, id))
			return w;
	}
	return NULL;
}

static void
waiting_add(struct relay *r, struct str id)
{
	struct waiting *w = r->waiting.len < WAITING_MOST ? malloc(sizeof(*w) + id.len) : NULL;

	if (!w)
		return; /* then nobody tells it of a gateway that is lost */
	*w = (struct waiting){.batch = r->batch, .len = id.len};
	memcpy(w->id, id.ptr, id.len);
	list_push(&r->waiting, &w->node);
}

static void
waiting_drop(struct waiting *w)
{
	if (!w)
		return;
	list_remove(&w->node);
	free(w);
}

/* The line with which a client of the older protocol begins. */
static void
hello_keep(struct relay *r, struct str line, struct str id)
{
	buf_reset(&r->hello);
	buf_reset(&r->hello_id);
	buf_add(&r->hello, line);
	buf_addc(&r->hello, '\n');
	buf_add(&r->hello_id, id);
	r->hello_answered = false;
}

static void
up_hears(struct relay *r, struct str line, const struct json *root, struct str id)
{
	struct str method = json_str(json_get(root, S("method")));
	struct buf other = BUF_INIT(LIMIT_LINE_BYTES);

	if (id.len && method.len)
		waiting_add(r, id);
	if (id.len && str_is(method, "initialize") && !r->batch)
		hello_keep(r, line, id);
	else if (str_is(method, "notifications/initialized"))
		r->greeted = true;
	else if (str_is(method, "notifications/cancelled")) { /* it gets no answer */
		id_text(&other, json_pointer(root, S("/params/requestId")));
		waiting_drop(waiting_find(r, buf_str(&other)));
	}
	buf_done(&other);
}

/* The revisions are called by their days; from this one on a batch is refused as a whole. */
static bool
has_batches(const struct json *hello)
{
	struct str version = json_str(json_pointer(hello, S("/result/protocolVersion")));

	return version.ptr && str_cmp(version, S("2025-06-18")) < 0;
}

static void
down_hears(struct relay *r, struct str line, const struct json *root, struct str id)
{
	(void)line;
	if (!id.len || json_get(root, S("method")))
		return;
	if (str_eq(id, buf_str(&r->hello_id))) {
		r->hello_answered = true;
		if (!json_get(root, S("result"))) /* refused: it may try again */
			buf_reset(&r->hello);
		else
			r->takes_batches = has_batches(root);
	}
	waiting_drop(waiting_find(r, id));
}

static void
message_heard(struct relay *r, const struct lane *l, struct str line, const struct json *message)
{
	const struct json *given = json_get(message, S("id"));
	struct buf id = BUF_INIT(LIMIT_LINE_BYTES);

	if (given && !json_is(given, JSON_NULL))
		id_text(&id, given);
	(l == &r->up ? up_hears : down_hears)(r, line, message, buf_str(&id));
	buf_done(&id);
}

static void
batch_heard(struct relay *r, const struct lane *l, const struct json *batch)
{
	if (!r->takes_batches)
		return;
	r->batch = ++r->batches ? r->batches : ++r->batches;
	for (struct json_iter it = json_iter(batch); json_next(&it);)
		message_heard(r, l, (struct str){NULL, 0}, it.value);
	r->batch = 0;
}

static void
line_heard(struct relay *r, const struct lane *l)
{
	struct str line = buf_str(&l->line);
	struct json_doc *doc;

	if (json_parse(line, &json_door, &doc, NULL) < 0)
		return;
	if (json_is(json_root(doc), JSON_ARRAY))
		batch_heard(r, l, json_root(doc));
	else
		message_heard(r, l, line, json_root(doc));
	json_doc_unref(doc);
}

/* ---- the lanes ---- */

static void
lane_init(struct lane *l)
{
	*l = (struct lane){.from = -1, .to = -1};
	buf_init(&l->held, LANE_BYTES + LIMIT_LINE_BYTES);
	buf_init(&l->line, LIMIT_LINE_BYTES);
}

static void
lane_done(struct lane *l)
{
	buf_done(&l->held);
	buf_done(&l->line);
}

static void
line_forget(struct lane *l)
{
	l->begun = 0;
	l->answers = l->skipping = false;
	buf_reset(&l->line);
}

/* Our own gateway writes answers so, and nothing of one matters here but its id. {NULL,0}: this is
 * another line, or its beginning is not all here. */
static struct str
answer_id(struct str line)
{
	struct str head = S("{\"jsonrpc\":\"2.0\",\"id\":"), rest = str_from(line, head.len);
	bool quoted = rest.len > 0 && rest.ptr[0] == '"';
	size_t len = quoted ? 1 : 0;

	if (!str_starts(line, head))
		return (struct str){NULL, 0};
	while (len < rest.len && (quoted ? rest.ptr[len] != '"' && rest.ptr[len] != '\\'
					 : strchr("-0123456789", rest.ptr[len]) != NULL))
		len++;
	len += quoted;
	struct str behind = str_from(rest, len);
	bool whole = str_starts(behind, S(",\"result\":")) || str_starts(behind, S(",\"error\":"));
	return whole ? str_upto(rest, len) : (struct str){NULL, 0};
}

static void
line_grows(struct relay *r, struct lane *l, struct str part)
{
	if (l->begun == 0 && l == &r->down) {
		struct str id = answer_id(part);
		l->answers = id.ptr && !str_eq(id, buf_str(&r->hello_id));
		if (l->answers)
			buf_add(&l->line, id);
	}
	l->begun += part.len;
	if (!l->answers)
		buf_add(&l->line, part);
	if (buf_failed(&l->line)) {
		l->skipping = true;
		buf_reset(&l->line);
	}
}

static void
lane_hear(struct relay *r, struct lane *l, struct str bytes)
{
	ptrdiff_t at;

	for (; (at = str_index(bytes, '\n')) >= 0; bytes = str_from(bytes, (size_t)at + 1)) {
		line_grows(r, l, str_upto(bytes, (size_t)at));
		if (l->answers)
			waiting_drop(waiting_find(r, buf_str(&l->line)));
		else if (!l->skipping)
			line_heard(r, l);
		line_forget(l);
	}
	if (bytes.len > 0)
		line_grows(r, l, bytes);
}

static void
lane_read(struct relay *r, struct lane *l)
{
	char *room = buf_room(&l->held, LANE_BYTES - l->held.len);
	ssize_t n = read(l->from, room, LANE_BYTES - l->held.len);

	if (n > 0) {
		lane_hear(r, l, (struct str){room, (size_t)n});
		l->held.len += (size_t)n;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		l->ended = true;
	}
}

/* What can be passed on: whole lines, so that one that never comes to its end is nobody's; of a
 * longer one than the lane holds what there is. */
static size_t
lane_ready(const struct lane *l)
{
	bool whole = l->skipping || l->held.len >= LANE_BYTES ||
		     l->held.len < l->begun; /* its beginning has gone already */

	return whole ? l->held.len : l->held.len - l->begun;
}

/* A pipe that may block is never given more than it has room for: poll promises PIPE_BUF. */
static bool
lane_write(struct lane *l)
{
	size_t len = lane_ready(l);
	ssize_t n = send(l->to, l->held.ptr, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK)
		n = write(l->to, l->held.ptr, l->owned || len < PIPE_BUF ? len : PIPE_BUF);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	buf_eat(&l->held, (size_t)n);
	return true;
}

static bool
lane_wants_read(const struct lane *l)
{
	return !l->ended && l->held.len < LANE_BYTES;
}

/* ---- one wire ---- */

/* How long to wait for the next thing; 0: it is over. */
static int
patience(const struct relay *r, uint64_t *until)
{
	if (r->down.ended)
		return 0;
	if (!r->up.ended || r->up.held.len)
		return -1;
	if (r->waiting.len == 0 && r->down.held.len == 0)
		return 0;
	uint64_t now = clock_mono_ms();
	if (!*until)
		*until = now + LINGER_MS;
	return now >= *until ? 0 : (int)(*until - now);
}

/* False when the client cannot be written to any more, or a signal came. */
static bool
relay_step(struct relay *r, int timeout_ms)
{
	struct lane *up = &r->up, *down = &r->down;
	struct pollfd on[] = {
	    {.fd = lane_wants_read(up) ? up->from : -1, .events = POLLIN},
	    {.fd = lane_wants_read(down) ? down->from : -1, .events = POLLIN},
	    {.fd = lane_ready(up) ? up->to : -1, .events = POLLOUT},
	    {.fd = lane_ready(down) ? down->to : -1, .events = POLLOUT},
	    {.fd = r->signals, .events = POLLIN},
	};

	if (poll(on, ARRAY_LEN(on), timeout_ms) < 0)
		return errno == EINTR;
	if (on[4].revents)
		return false;
	if (on[0].revents)
		lane_read(r, up);
	if (up->ended)
		line_forget(up); /* the last line needs no end */
	if (on[1].revents)
		lane_read(r, down);
	if (on[2].revents && !lane_write(up))
		buf_reset(
		    &up->held); /* the gateway is gone: what it still said is read to its end */
	return !on[3].revents || lane_write(down);
}

/* ---- a gateway that is lost ---- */

/* What began and never came to its end is no message. */
static void
cut_line(struct lane *down)
{
	if (down->begun <= down->held.len)
		down->held.len -= down->begun;
	else
		buf_addc(&down->held, '\n'); /* its beginning is with the client already */
	line_forget(down);
}

static void
add_error(struct buf *out, struct str id)
{
	struct jw w = jw(out);

	jw_object(&w);
	jw_member_z(&w, "jsonrpc", "2.0");
	jw_key(&w, "id");
	jw_raw(&w, id);
	jw_key(&w, "error");
	jw_object(&w);
	jw_key(&w, "code");
	jw_int(&w, err_row(E_SYSTEM)->rpc);
	jw_member_z(&w, "message", "The gateway has ended; whether this was done is not known.");
	jw_end(&w);
	jw_end(&w);
}

static bool
down_flush(struct relay *r)
{
	while (r->down.held.len) {
		struct pollfd on[] = {{.fd = r->down.to, .events = POLLOUT},
				      {.fd = r->signals, .events = POLLIN}};
		if (poll(on, ARRAY_LEN(on), -1) < 0 && errno != EINTR)
			return false;
		if (on[1].revents || (on[0].revents && !lane_write(&r->down)))
			return false;
	}
	return true;
}

/* Who came together is answered together. They stand side by side. open: the batch of the last one
 * that was told; it is ended before another. */
static bool
tell_one(struct relay *r, unsigned *open, const struct waiting *w)
{
	struct buf *out = &r->down.held;
	unsigned batch = w ? w->batch : 0;

	if (*open && *open != batch)
		buf_addz(out, "]\n");
	if (batch)
		buf_addc(out, *open == batch ? ',' : '[');
	*open = batch;
	if (w)
		add_error(out, (struct str){w->id, w->len});
	if (w && !batch)
		buf_addc(out, '\n');
	return down_flush(r);
}

/* Whoever waits hears of it, but for an initialize, which is said again. False: the client cannot
 * be written to any more, or a signal came. */
static bool
tell_lost(struct relay *r)
{
	unsigned open = 0;

	cut_line(&r->down);
	bool fine = down_flush(r);
	LIST_EACH (&r->waiting, n) {
		struct waiting *w = CONTAINER_OF(n, struct waiting, node);
		struct str id = {w->id, w->len};
		if (!r->hello_answered && str_eq(id, buf_str(&r->hello_id)))
			continue;
		fine = fine && tell_one(r, &open, w);
		waiting_drop(w);
	}
	return fine && tell_one(r, &open, NULL);
}

enum relay_end
relay_run(struct relay *r, int wire, struct buf *early)
{
	uint64_t until = 0;
	int timeout_ms;

	r->up.to = r->down.from = wire;
	r->down.ended = false;
	buf_add(&r->down.held, buf_str(early));
	lane_hear(r, &r->down, buf_str(early));
	buf_reset(early);
	while ((timeout_ms = patience(r, &until)) != 0)
		if (!relay_step(r, timeout_ms))
			return RELAY_OVER;
	return r->down.ended && tell_lost(r) && !r->up.ended ? RELAY_LOST : RELAY_OVER;
}

/* ---- another wire ---- */

bool
relay_can_go_on(const struct relay *r)
{
	return !r->up.skipping && !buf_failed(&r->hello);
}

bool
relay_rest(const struct relay *r, int ms)
{
	struct pollfd on[] = {{.fd = r->up.from}, {.fd = r->signals, .events = POLLIN}};

	return poll(on, ARRAY_LEN(on), ms) == 0;
}

/* 1: the answer to what was said again, and a good one; -1: it was refused; 0: another line. */
static int
hello_verdict(const struct relay *r, struct str line)
{
	struct json_doc *doc = NULL;
	struct buf id = BUF_INIT(LIMIT_LINE_BYTES);
	int verdict = 0;

	if (json_parse(line, &json_door, &doc, NULL) == 0) {
		id_text(&id, json_get(json_root(doc), S("id")));
		if (str_eq(buf_str(&id), buf_str(&r->hello_id)) &&
		    !json_get(json_root(doc), S("method")))
			verdict = json_get(json_root(doc), S("result")) ? 1 : -1;
	}
	json_doc_unref(doc);
	buf_done(&id);
	return verdict;
}

static bool
read_more(const struct relay *r, int wire, uint64_t until, struct buf *early)
{
	struct pollfd on[] = {{.fd = wire, .events = POLLIN}, {.fd = r->signals, .events = POLLIN}};
	uint64_t now = clock_mono_ms();
	char *room = buf_room(early, LANE_BYTES);

	if (!room || now >= until || poll(on, ARRAY_LEN(on), (int)(until - now)) <= 0 ||
	    on[1].revents)
		return false;
	ssize_t n = read(wire, room, LANE_BYTES);
	early->len += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* The client heard the answer already, unless the first gateway was lost before that. */
static bool
hello_again(struct relay *r, int wire, struct buf *early)
{
	uint64_t until = clock_mono_ms() + HELLO_MS;
	int verdict = 0;

	if (send(wire, r->hello.ptr, r->hello.len, MSG_NOSIGNAL) != (ssize_t)r->hello.len)
		return false;
	while (verdict == 0) {
		ptrdiff_t end;
		while ((end = str_index(buf_str(early), '\n')) < 0)
			if (!read_more(r, wire, until, early))
				return false;
		struct str line = str_upto(buf_str(early), (size_t)end);
		verdict = hello_verdict(r, line);
		if (verdict == 0 || (verdict > 0 && !r->hello_answered)) {
			struct str whole = str_upto(buf_str(early), (size_t)end + 1);
			buf_add(&r->down.held, whole);
			lane_hear(r, &r->down, whole);
		}
		buf_eat(early, (size_t)end + 1);
	}
	return verdict > 0;
}

bool
relay_resume(struct relay *r, int wire, struct buf *early)
{
	if (r->hello.len && !hello_again(r, wire, early))
		return false;
	/* Of what was on its way only the beginning of a line counts: requests were answered. */
	buf_reset(&r->up.held);
	if (r->greeted)
		buf_addz(&r->up.held,
			 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
	buf_add(&r->up.held, buf_str(&r->up.line));
	return true;
}

/* ---- its life ---- */

/* The same pipe, opened once more: whether that blocks is nobody else's business. -1: it cannot be,
 * or is no pipe. */
static int
pipe_again(int fd)
{
	char path[64];
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

static int
open_signals(void)
{
	sigset_t set;

	term_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The next one has its usual effect again: nobody has to wait for a slow end. */
static int
close_signals(int fd)
{
	struct signalfd_siginfo got;
	sigset_t set;
	bool signalled = read(fd, &got, sizeof(got)) == (ssize_t)sizeof(got);

	close(fd);
	term_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return signalled ? EXIT_SIGNAL + (int)got.ssi_signo : EXIT_FINE;
}

void
relay_init(struct relay *r, int in, int out)
{
	*r = (struct relay){.signals = open_signals()};
	lane_init(&r->up);
	lane_init(&r->down);
	r->up.from = in;
	r->down.to = pipe_again(out);
	r->down.owned = r->down.to >= 0;
	if (!r->down.owned)
		r->down.to = out;
	list_init(&r->waiting);
	buf_init(&r->hello, HELLO_BYTES);
	buf_init(&r->hello_id, HELLO_BYTES);
}

int
relay_done(struct relay *r)
{
	if (r->down.owned)
		close(r->down.to);
	lane_done(&r->up);
	lane_done(&r->down);
	LIST_EACH (&r->waiting, n)
		waiting_drop(CONTAINER_OF(n, struct waiting, node));
	buf_done(&r->hello);
	buf_done(&r->hello_id);
	return close_signals(r->signals);
}
