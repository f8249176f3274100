/*
 * watch.c - holdfast-watch: a live screen of what runs, what is asked, what went wrong.
 *
 * A program of its own, which `holdfast watch` becomes: the gateway need not carry a terminal's
 * library around.
 */

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/args.h"
#include "cli/term.h"
#include "cli/watch.h"

#include <curses.h>

/* As the terminal says: the variables LINES and COLUMNS are of another day. */
static void
resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

/* The signal that ends us, or 0. */
static int
signals(struct watch *w)
{
	bool resized = false, shown_again = false;
	int end = screen_news(&resized, &shown_again);

	if (resized)
		resize();
	/* What stood there was hidden meanwhile, and typed at something else. */
	if (shown_again)
		w->drawn[0] = '\0', clearok(curscr, TRUE);
	w->dirty = w->dirty || resized || shown_again;
	return end;
}

/* Before the news: they are for what is on the screen now. */
static void
typed(struct watch *w)
{
	for (int key; !w->quit && (key = getch()) != ERR;)
		watch_key(w, key);
}

static int
wait_for_news(struct watch *w)
{
	struct pollfd on[] = {
	    {.fd = screen_news_fd(), .events = POLLIN},
	    {.fd = STDIN_FILENO, .events = POLLIN},
	    {.fd = w->stream ? client_fd(w->stream) : -1, .events = POLLIN},
	};
	int n = poll(on, ARRAY_LEN(on), watch_patience_ms(w)), end = signals(w);

	if (n == 0)
		w->dirty = true; /* the clock has moved something */
	if (n > 0 && on[1].revents & POLLIN)
		typed(w);
	if (n > 0 && on[1].revents & ~POLLIN)
		end = SIGHUP; /* nobody sits there any more, and there may be no signal for it */
	return end;
}

static int
run(struct watch *w)
{
	int end = 0;

	watch_connect(w);
	while (!end && !w->quit) {
		watch_events(w);
		watch_fetch(w);
		if (w->dirty)
			watch_draw(w);
		end = wait_for_news(w);
	}
	return end ? EXIT_SIGNAL + end : EXIT_FINE;
}

static int
watch(void)
{
	struct watch w = {0};
	int code = screen_check();

	if (code == EXIT_FINE)
		code = api_enter_daemon(&w.api);
	if (code != EXIT_FINE)
		return code;
	if ((code = screen_open()) == EXIT_FINE) {
		code = run(&w);
		screen_close();
	}
	watch_done(&w);
	return code;
}

int
main(void)
{
	term_init();
	return watch();
}
