/* relay.c - two lanes and one poll. */

#include "cli/relay.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "cli/args.h"
#include "cli/term.h"
#include "json/json.h"

#define LANE_BYTES (64 * KIB)
#define LINGER_MS 2000 /* for answers after the client has ended */

struct lane {
	int from, to;
	bool ended;      /* nothing more comes from `from` */
	struct buf held; /* read, not yet written */
	struct buf line; /* the beginning of a line not yet whole, for counting */
	bool skipping;   /* that line is too long to be counted */
	bool (*counts)(struct str line);
	size_t counted;
};

static bool
line_parse(struct str line, const struct json **ret, struct json_doc **doc)
{
	if (json_parse(line, &json_door, doc, NULL) < 0)
		return false;
	*ret = json_root(*doc);
	return true;
}

static bool
line_is(struct str line, bool with_method)
{
	const struct json *root;
	struct json_doc *doc;

	if (!line_parse(line, &root, &doc))
		return false;
	const struct json *id = json_get(root, S("id"));
	bool yes =
	    id && !json_is(id, JSON_NULL) && (json_get(root, S("method")) != NULL) == with_method;
	json_doc_unref(doc);
	return yes;
}

bool
relay_is_request(struct str line)
{
	return line_is(line, true);
}

bool
relay_is_answer(struct str line)
{
	return line_is(line, false);
}

static void
lane_count(struct lane *l, struct str bytes)
{
	ptrdiff_t at;

	for (; (at = str_index(bytes, '\n')) >= 0; bytes = str_from(bytes, (size_t)at + 1)) {
		buf_add(&l->line, str_upto(bytes, (size_t)at));
		if (!l->skipping && !buf_failed(&l->line) && l->counts(buf_str(&l->line)))
			l->counted++;
		l->skipping = false;
		buf_reset(&l->line);
	}
	buf_add(&l->line, bytes);
	if (buf_failed(&l->line)) {
		l->skipping = true;
		buf_reset(&l->line);
	}
}

static void
lane_init(struct lane *l, int from, int to, bool (*counts)(struct str line))
{
	*l = (struct lane){.from = from, .to = to, .counts = counts};
	buf_init(&l->held, LANE_BYTES);
	buf_init(&l->line, LIMIT_LINE_BYTES);
}

static void
lane_done(struct lane *l)
{
	buf_done(&l->held);
	buf_done(&l->line);
}

static void
lane_read(struct lane *l)
{
	char *room = buf_room(&l->held, LANE_BYTES - l->held.len);
	ssize_t n = read(l->from, room, LANE_BYTES - l->held.len);

	if (n > 0) {
		lane_count(l, (struct str){room, (size_t)n});
		l->held.len += (size_t)n;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		l->ended = true;
	}
}

/* Poll said there is room: for a pipe that means at least PIPE_BUF, and then this never blocks. */
static bool
lane_write(struct lane *l)
{
	size_t len = l->held.len < PIPE_BUF ? l->held.len : PIPE_BUF;
	ssize_t n = send(l->to, l->held.ptr, l->held.len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK)
		n = write(l->to, l->held.ptr, len);
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

/* How long to wait for the next thing; 0: it is over. */
static int
patience(const struct lane *up, const struct lane *down, uint64_t *until)
{
	if (down->ended)
		return down->held.len ? -1 : 0;
	if (!up->ended || up->held.len)
		return -1;
	if (up->counted <= down->counted && down->held.len == 0)
		return 0;
	uint64_t now = clock_mono_ms();
	if (!*until)
		*until = now + LINGER_MS;
	return now >= *until ? 0 : (int)(*until - now);
}

/* False when a side cannot be written any more, or a signal came. */
static bool
relay_step(struct lane *up, struct lane *down, int signals, int timeout_ms)
{
	struct pollfd on[] = {
	    {.fd = lane_wants_read(up) ? up->from : -1, .events = POLLIN},
	    {.fd = lane_wants_read(down) ? down->from : -1, .events = POLLIN},
	    {.fd = up->held.len ? up->to : -1, .events = POLLOUT},
	    {.fd = down->held.len ? down->to : -1, .events = POLLOUT},
	    {.fd = signals, .events = POLLIN},
	};

	if (poll(on, ARRAY_LEN(on), timeout_ms) < 0)
		return errno == EINTR;
	if (on[4].revents)
		return false;
	if (on[0].revents)
		lane_read(up);
	if (on[1].revents)
		lane_read(down);
	if (on[2].revents && !lane_write(up))
		return false;
	return !on[3].revents || lane_write(down);
}

int
relay_run(int in, int out, int wire, struct str early)
{
	struct lane up, down;
	int signals = open_signals(), timeout_ms;
	uint64_t until = 0;

	lane_init(&up, in, wire, relay_is_request);
	lane_init(&down, wire, out, relay_is_answer);
	buf_add(&down.held, early);
	lane_count(&down, early);
	while ((timeout_ms = patience(&up, &down, &until)) != 0)
		if (!relay_step(&up, &down, signals, timeout_ms))
			break;
	bool lost = down.ended && !up.ended;
	lane_done(&up);
	lane_done(&down);
	int code = close_signals(signals);
	return code == EXIT_FINE && lost ? EXIT_NO_GATEWAY : code;
}
