/* settings.c - finding, checking and replacing the configuration file. */

#include "cli/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/term.h"
#include "holdfast.h"
#include "json/canon.h"

#define RELOAD_MS 5000
#define LOOK_MS 50

/* Which file */

static bool
path_copy(struct path *out, struct str text)
{
	if (text.len == 0 || text.len >= sizeof(out->text))
		return false;
	memcpy(out->text, text.ptr, text.len);
	out->text[text.len] = '\0';
	return true;
}

/* A link is followed: what it leads to is replaced, not the link. */
static void
resolve(struct path *file)
{
	struct path real;

	_Static_assert(sizeof(real.text) >= 4096, "realpath writes PATH_MAX");
	if (realpath(file->text, real.text))
		*file = real;
}

static bool
same_file(struct str a, const struct path *b)
{
	struct path other;

	if (!path_copy(&other, a))
		return false;
	resolve(&other);
	return strcmp(other.text, b->text) == 0;
}

static int
find_file(struct settings *s, const char *given)
{
	struct reply status = {0};
	struct str used = {NULL, 0};
	struct err e;
	bool found;

	if (s->api &&
	    api_request(s->api, "GET", "/status", (struct str){NULL, 0}, &status, &e) == 0)
		used = member(json_get(status.root, S("config")), "file");
	if (given)
		found = path_copy(&s->file, str_of(given));
	else if (used.len)
		found = path_copy(&s->file, used);
	else
		found = path_config(&s->file, &e) == 0;
	if (found) {
		resolve(&s->file);
		s->in_use = used.len && same_file(used, &s->file);
	}
	api_done(&status);
	return found ? EXIT_FINE : refuse("the path of the configuration is too long");
}

static int
make_dir(const struct path *file)
{
	struct path dir = *file;
	char *slash = strrchr(dir.text, '/');
	struct err e;

	if (!slash || slash == dir.text)
		return EXIT_FINE;
	*slash = '\0';
	return path_make_dir(dir.text, &e) < 0 ? refuse("%s", err_text(&e)) : EXIT_FINE;
}

/* Another command may be changing it: then it is waited for. Without a lock nothing is lost but
 * this. */
static int
lock_dir(const struct path *file)
{
	struct path dir = *file;
	char *slash = strrchr(dir.text, '/');
	int fd;

	if (slash)
		slash[slash == dir.text] = '\0';
	fd = open(slash ? dir.text : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)flock(fd, LOCK_EX);
	return fd;
}

/* Its text */

static int
read_text(struct settings *s)
{
	int fd = open(s->file.text, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	s->is_new = fd < 0 && errno == ENOENT;
	if (s->is_new)
		return EXIT_FINE;
	if (fd < 0)
		return refuse("%s: %s", s->file.text, strerror(errno));
	while (n > 0) {
		char *room = buf_room(&s->text, 4096);
		n = room ? read(fd, room, 4096) : -1;
		s->text.len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	return n < 0 ? refuse("%s: cannot be read, or is too large", s->file.text) : EXIT_FINE;
}

int
settings_open(const struct args *a, struct settings *ret)
{
	struct err e;
	int code;

	*ret = (struct settings){.text = BUF_INIT(LIMIT_CONFIG_BYTES), .lock = -1};
	if (api_open(API_DAEMON, NULL, &ret->api, &e) < 0)
		ret->api = NULL;
	code = find_file(ret, args_value(a, "config"));
	if (code == EXIT_FINE)
		code = make_dir(&ret->file);
	if (code != EXIT_FINE)
		return code;
	ret->lock = lock_dir(&ret->file);
	return read_text(ret);
}

void
settings_done(struct settings *s)
{
	if (s->lock >= 0)
		close(s->lock);
	api_close(s->api);
	buf_done(&s->text);
}

/* Replacing it */

/* As the old one, or for nobody but us: secrets may come to stand in it. */
static mode_t
mode_of(const struct settings *s)
{
	struct stat st;

	return stat(s->file.text, &st) == 0 ? st.st_mode & 0777 : 0600;
}

static bool
write_all(int fd, struct str text)
{
	while (text.len) {
		ssize_t n = write(fd, text.ptr, text.len);
		if (n < 0 && errno != EINTR)
			return false;
		text = str_from(text, n > 0 ? (size_t)n : 0);
	}
	return true;
}

/* "FILE: line 3: ..." of a file that nobody knows, without its name. */
static const char *
without_name(const char *text, const char *name)
{
	size_t len = strlen(name);

	return strncmp(text, name, len) == 0 && strncmp(text + len, ": ", 2) == 0 ? text + len + 2
										  : text;
}

static int
place(const struct settings *s, const char *draft, struct str text)
{
	int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return refuse("cannot make %s: %s", draft, strerror(errno));
	bool written = write_all(fd, text) && fchmod(fd, mode_of(s)) == 0 && fsync(fd) == 0;
	int errnum = errno, code = EXIT_FINE;
	close(fd);
	if (!written)
		code = refuse("cannot write %s: %s", draft, strerror(errnum));
	else if (hf_config_check(draft, NULL, NULL) < 0)
		code = refuse("nothing was changed, because the file would be wrong: %s",
			      without_name(hf_error(NULL), draft));
	else if (rename(draft, s->file.text) < 0)
		code = refuse("cannot replace %s: %s", s->file.text, strerror(errno));
	if (code != EXIT_FINE)
		unlink(draft);
	return code;
}

int
settings_write(const struct settings *s, struct str text)
{
	char draft[LIMIT_PATH];
	int n = snprintf(draft, sizeof(draft), "%s.%d.new", s->file.text, (int)getpid());

	if (n < 0 || (size_t)n >= sizeof(draft))
		return refuse("the path of the configuration is too long");
	return place(s, draft, text);
}

/* The running gateway */

/* EXIT_FINE with *ret_read: it has read these bytes. */
static int
look(const struct settings *s, const char *digest, bool *ret_read)
{
	struct reply status;
	int code = api_get(s->api, &status, "/status");

	if (code != EXIT_FINE)
		return code;
	const struct json *config = json_get(status.root, S("config"));
	struct str wrong = member(status.root, "config_error");
	*ret_read = str_is(member(config, "digest"), digest);
	if (*ret_read && wrong.len)
		code = refuse("the running gateway does not take it: %.*s", STR_ARG(wrong));
	api_done(&status);
	return code;
}

int
settings_reload(const struct settings *s, struct str text, bool *ret_taken)
{
	uint64_t until = clock_mono_ms() + RELOAD_MS;
	char digest[DIGEST_TEXT];
	struct reply asked;
	bool read = false;

	*ret_taken = false;
	if (!s->api || !s->in_use)
		return EXIT_FINE;
	digest_bytes(text, digest);
	int code = api_ask(s->api, "POST", "/reload", S("{}"), &asked);
	if (code != EXIT_FINE)
		return code;
	api_done(&asked);
	while ((code = look(s, digest, &read)) == EXIT_FINE && !read && clock_mono_ms() < until)
		poll(NULL, 0, LOOK_MS);
	*ret_taken = read && code == EXIT_FINE;
	if (!read && code == EXIT_FINE)
		code = refuse("the running gateway has not read the file yet");
	return code;
}
