/* follow.c - one loop over the event stream, the terminal and the signals. */

#include "cli/follow.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/args.h"
#include "cli/show.h"
#include "cli/term.h"
#include "json/write.h"

#define DRAW_MS 120
#define SECOND_MS 1000

static bool
keep(char *out, size_t size, struct str text)
{
	if (text.len >= size)
		return false;
	memcpy(out, text.ptr, text.len);
	out[text.len] = '\0';
	return true;
}

static int
open_stream(struct follow *f)
{
	struct buf target = BUF_INIT(KIB);
	bool again = f->last_event[0] != '\0';
	struct err e;

	buf_addf(&target, "/sessions/%s/events", f->session);
	/* Not attached a second time: with the first stream the session has ended, and only what
	 * was kept of it can be read. */
	if (again)
		buf_addf(&target, "?since=%s", f->last_event);
	else if (f->owned)
		buf_addz(&target, "?attach=1");
	client_free(f->stream);
	f->stream = NULL;
	int code = api_events(f->api, buf_z(&target), &f->stream, &e);
	if (code == EXIT_NO_GATEWAY)
		refuse("%s%s", again ? "the gateway went away during the call: " : "",
		       err_text(&e));
	buf_done(&target);
	return code;
}

int
follow_begin(struct follow *f)
{
	sigset_t set;

	buf_init(&f->output, 64 * KIB);
	buf_init(&f->why, 64 * KIB);
	term_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	f->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (f->signals < 0)
		return refuse("signals cannot be received: %s", strerror(errno));
	return open_stream(f);
}

void
follow_end(struct follow *f)
{
	progress_erase(&f->progress);
	client_free(f->stream);
	f->stream = NULL;
	api_done(&f->question);
	buf_done(&f->output);
	buf_done(&f->why);
	if (f->signals >= 0)
		close(f->signals);
	f->signals = -1;
}

/* The question goes with its call: nothing of it is journalled as a person's answer. */
static void
cancel_turn(struct follow *f)
{
	struct buf target = BUF_INIT(KIB);
	struct reply reply;
	struct err e;

	f->stopping = true;
	progress_erase(&f->progress);
	if (f->question.root)
		fputc('\n', f->person);
	api_done(&f->question);
	buf_addf(&target, "/sessions/%s/turns/%s/cancel", f->session, f->turn);
	if (api_request(f->api, "POST", buf_z(&target), S("{}"), &reply, &e) < 0)
		refuse("%s", err_text(&e));
	api_done(&reply);
	buf_done(&target);
}

static void
leave_at_once(int signum)
{
	ssize_t n = write(STDERR_FILENO, "\n", 1);

	(void)n;
	_exit(EXIT_SIGNAL + signum);
}

/* The first signal cancels; from now on the next one ends this process. */
static void
interrupted(struct follow *f)
{
	struct signalfd_siginfo got;
	sigset_t set;

	if (read(f->signals, &got, sizeof(got)) != (ssize_t)sizeof(got))
		return;
	f->signal = (int)got.ssi_signo;
	close(f->signals);
	f->signals = -1;
	term_signals(&set);
	signal(SIGINT, leave_at_once);
	signal(SIGTERM, leave_at_once);
	signal(SIGHUP, leave_at_once);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	cancel_turn(f);
}

/* Questions */

static int
fetch_question(struct follow *f, struct str request)
{
	return api_get(f->api, &f->question, "/confirmations/%.*s", STR_ARG(request));
}

/* Nobody here to ask, but others are watching. */
static void
wait_for_others(struct follow *f, struct str request)
{
	progress_erase(&f->progress);
	fprintf(stderr, "holdfast: waiting for somebody to answer: holdfast approve %.*s\n",
		STR_ARG(short_id(request)));
}

/* What was typed before the choices were seen is no answer. */
static void
prompt(struct follow *f)
{
	ask_keys(f->person, f->question.root);
	tcflush(fileno(f->person), TCIFLUSH);
	ask_prompt(f->person, f->question.root, false);
}

static void
asked(struct follow *f, const struct json *payload)
{
	struct str request = member(payload, "confirmation_request_id");
	int code;

	if (f->stopping)
		return;
	if (f->yes) {
		ask_answer(f->api, request, &(struct ask_answer){true, "once", NULL, "--yes"},
			   &code);
		return;
	}
	if (!f->person) {
		wait_for_others(f, request);
		return;
	}
	progress_erase(&f->progress);
	api_done(&f->question);
	if (fetch_question(f, request) != EXIT_FINE)
		return; /* answered already: the next event says so */
	ask_show(f->person, f->question.root);
	prompt(f);
}

static void
settled_elsewhere(struct follow *f, const struct json *payload)
{
	struct buf line = BUF_INIT(4 * KIB);

	if (str_is(member(payload, "decision"), "timeout")) {
		buf_addz(&line, "Nobody answered in time.");
	} else {
		buf_addz(&line, "It was answered elsewhere: ");
		value_text(&line, json_get(payload, S("decision")));
		if (member(payload, "by").len)
			buf_addz(&line, " by ");
		value_text(&line, json_get(payload, S("by")));
	}
	fprintf(f->person, "\n%.*s\n", STR_ARG(buf_str(&line)));
	fflush(f->person);
	/* What is half typed would go to the shell, or to the next question. */
	tcflush(fileno(f->person), TCIFLUSH);
	buf_done(&line);
}

static void
resolved(struct follow *f, const struct json *payload)
{
	if (f->question.root)
		settled_elsewhere(f, payload);
	api_done(&f->question);
	f->progress = (struct progress){0};
}

/* The terminal gives whole lines; one that makes no sense is asked for again. Its end is no
 * answer: whoever sat there has left. */
static void
typed(struct follow *f)
{
	char line[256];
	ssize_t n = read(fileno(f->person), line, sizeof(line));
	int code;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		cancel_turn(f);
		return;
	}
	const struct ask_choice *choice =
	    ask_choice(f->question.root, (struct str){line, (size_t)n});
	if (choice &&
	    ask_answer(f->api, member(f->question.root, "confirmation_request_id"),
		       &(struct ask_answer){choice->allow, choice->scope, NULL, "terminal"},
		       &code)) {
		api_done(&f->question);
		return;
	}
	if (!choice)
		fputs("That is none of the choices:\n", f->person);
	prompt(f);
}

/* Events */

static void
printed(struct follow *f, const struct json *payload)
{
	struct str text = str_trim(member(payload, "text"));

	if (text.len == 0)
		return;
	for (ptrdiff_t at; (at = str_index(text, '\n')) >= 0;)
		text = str_from(text, (size_t)at + 1);
	buf_reset(&f->output);
	buf_add(&f->output, str_utf8_upto(text, KIB));
}

static void
went_wrong(struct follow *f, const struct json *payload)
{
	buf_reset(&f->why);
	buf_addf(&f->why, "%.*s: ", STR_ARG(member(payload, "error_class")));
	text_safe(&f->why, member(payload, "error_message"), SAFE_LINE);
}

static void
over(struct follow *f, const struct json *payload)
{
	(void)payload;
	f->over = true;
}

static const struct {
	const char *type;
	void (*act)(struct follow *f, const struct json *payload);
} acts[] = {
    {"tool.confirmation_requested", asked},
    {"tool.confirmation_resolved", resolved},
    {"tool.output_delta", printed},
    {"tool.failed", went_wrong},
    {"turn.completed", over},
    {"turn.cancelled", over},
};

static void
event(struct follow *f, const struct client_event *ev)
{
	struct json_doc *doc;

	if (json_parse(ev->text, &json_door, &doc, NULL) < 0)
		return;
	const struct json *root = json_root(doc);
	if (ev->id.len)
		keep(f->last_event, sizeof(f->last_event), ev->id);
	if (str_is(member(root, "turn_id"), f->turn))
		for (size_t i = 0; i < ARRAY_LEN(acts); i++)
			if (str_is(member(root, "type"), acts[i].type))
				acts[i].act(f, json_get(root, S("payload")));
	json_doc_unref(doc);
}

/* All that is there; when the stream breaks, once more from the last event on. */
static int
events(struct follow *f)
{
	struct client_event ev;
	struct err e;
	int r = 0;

	while (!f->over && (r = client_event(f->stream, 0, &ev, &e)) > 0)
		event(f, &ev);
	return r < 0 && !f->over ? open_stream(f) : EXIT_FINE;
}

static void
draw(struct follow *f)
{
	if (f->question.root && term_can_redraw())
		ask_prompt(f->person, f->question.root, true);
	else if (!f->question.root)
		progress_draw(&f->progress, f->stopping ? "stopping" : f->tool,
			      buf_str(&f->output));
}

static void
wait_for_news(struct follow *f)
{
	struct pollfd on[] = {
	    {.fd = client_fd(f->stream), .events = POLLIN},
	    {.fd = f->signals, .events = POLLIN},
	    {.fd = f->question.root ? fileno(f->person) : -1, .events = POLLIN},
	};
	int n = poll(on, ARRAY_LEN(on), f->question.root ? SECOND_MS : DRAW_MS);

	if (n <= 0) {
		draw(f);
		return;
	}
	if (on[1].revents)
		interrupted(f);
	else if (on[2].revents)
		typed(f);
}

int
follow_turn(struct follow *f, struct str turn)
{
	int code = EXIT_FINE;

	if (!keep(f->turn, sizeof(f->turn), turn))
		return refuse("the gateway's answer cannot be understood");
	while (code == EXIT_FINE && !f->over) {
		code = events(f);
		if (code == EXIT_FINE && !f->over)
			wait_for_news(f);
	}
	progress_erase(&f->progress);
	return code;
}
