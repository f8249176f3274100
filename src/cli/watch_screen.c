/*
 * watch_screen.c - the terminal taken over, and given back on every way out.
 *
 * Handlers only leave word in a pipe. One exception: while an exchange with the gateway blocks, a
 * signal gives the terminal back and ends the process there and then, by calls that a handler may
 * make.
 */

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/watch.h"

#include <curses.h>
#include <term.h>

static SCREEN *screen;
static struct termios before;
static char leave[256]; /* what gives the terminal back, as bytes */
static size_t leave_len;
static int news[2] = {-1, -1};
static volatile sig_atomic_t busy;
static bool coloured;

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT};
static struct sigaction old[ARRAY_LEN(watched)];

static bool
ends_us(int signum)
{
	return signum == SIGINT || signum == SIGTERM || signum == SIGHUP;
}

static void
heard(int signum)
{
	unsigned char letter = (unsigned char)signum;
	int errnum = errno;

	if (busy && ends_us(signum)) {
		ssize_t n = write(STDOUT_FILENO, leave, leave_len);
		(void)n;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
		_exit(EXIT_SIGNAL + signum);
	}
	ssize_t n = write(news[1], &letter, 1); /* a full pipe is news enough */
	(void)n;
	errno = errnum;
}

void
screen_busy(bool yes)
{
	busy = yes;
}

int
screen_news_fd(void)
{
	return news[0];
}

int
screen_news(bool *resized, bool *shown_again)
{
	unsigned char letters[64];
	ssize_t n = read(news[0], letters, sizeof(letters));
	int end = 0;

	for (ssize_t i = 0; i < n; i++) {
		*resized = *resized || letters[i] == SIGWINCH;
		*shown_again = *shown_again || letters[i] == SIGCONT;
		if (ends_us(letters[i]) && !end)
			end = letters[i];
	}
	return end;
}

/* A capability of the terminal, without the delays of old ones. */
static void
leave_add(const char *name)
{
	const char *z = tigetstr(name);

	for (; z && *z && leave_len < sizeof(leave); z++) {
		if (z[0] == '$' && z[1] == '<')
			z = strchr(z, '>') ? strchr(z, '>') : z + strlen(z) - 1;
		else
			leave[leave_len++] = *z;
	}
}

static bool
signals_begin(void)
{
	struct sigaction act = {.sa_handler = heard};

	if (pipe2(news, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		sigaction(watched[i], &act, &old[i]);
	return true;
}

static void
signals_end(void)
{
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		sigaction(watched[i], &old[i], NULL);
	close(news[0]);
	close(news[1]);
	news[0] = news[1] = -1;
}

static void
colours_begin(void)
{
	static const short colours[] = {
	    [INK_RED] = COLOR_RED,
	    [INK_GREEN] = COLOR_GREEN,
	    [INK_YELLOW] = COLOR_YELLOW,
	    [INK_CYAN] = COLOR_CYAN,
	};
	const char *no_colour = getenv("NO_COLOR");

	coloured = !(no_colour && no_colour[0]) && has_colors();
	if (!coloured)
		return;
	start_color();
	use_default_colors();
	for (int i = INK_RED; i <= INK_CYAN; i++)
		init_pair((short)i, colours[i], -1);
}

bool
screen_coloured(void)
{
	return coloured;
}

static int
refuse_terminal(void)
{
	refuse("watch needs a terminal that can be drawn on; `holdfast events --follow` tells the "
	       "same line by line");
	return EXIT_USAGE;
}

int
screen_check(void)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &before) < 0 || !kind || !kind[0] || strcmp(kind, "dumb") == 0)
		return refuse_terminal();
	return EXIT_FINE;
}

int
screen_open(void)
{
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
	screen = newterm(NULL, stdout, stdin);
	if (!screen || !tigetstr("cup")) {
		if (screen)
			screen_close();
		return refuse_terminal();
	}
	static const char *const ends[] = {"sgr0", "rmkx", "cnorm", "rmcup"};
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		leave_add(ends[i]);
	if (!signals_begin()) {
		screen_close();
		return refuse("signals cannot be received: %s", strerror(errno));
	}
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	colours_begin();
	return EXIT_FINE;
}

void
screen_close(void)
{
	if (!screen)
		return;
	flushinp(); /* what is typed half would go to the shell */
	endwin();
	delscreen(screen);
	screen = NULL;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	if (news[0] >= 0)
		signals_end();
}
