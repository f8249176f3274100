/* confine.c - profiles: what they are made of, what this kernel can do, and whose children. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/confine_inside.h"

#define GIB (UINT64_C(1024) * MIB)

#define HOUSE_NAME "holdfast-tmp-"
#define HOUSE_LOCK "/.lock"
#define HOUSE_TRIES 3

#define NAME 16 /* copied whole, which costs less than to look at it */
#define NAMED(z)                                                                                   \
	{                                                                                          \
		"" z, sizeof(z) - 1                                                                \
	}

struct name {
	char text[NAME];
	size_t len;
};

static const struct {
	uint32_t bit;
	struct name name;
	const char *origin;
} layers[] = {
    {LAYER_GROUP, NAMED("group"), "always there"},
    {LAYER_DEATH, NAMED("death"), "always there"},
    {LAYER_LIMITS, NAMED("limits"), "always there"},
    {LAYER_DESCRIPTORS, NAMED("descriptors"), "close_range, Linux 5.11"},
    {LAYER_PRIVILEGES, NAMED("privileges"), "always there"},
    {LAYER_FILES, NAMED("files"), "Landlock ABI 3, Linux 6.2"},
    {LAYER_SIGNALS, NAMED("signals"), "Landlock ABI 6, Linux 6.12"},
    {LAYER_TCP, NAMED("tcp"), "Landlock ABI 4, Linux 6.7"},
    {LAYER_SYSCALLS, NAMED("syscalls"), "seccomp"},
    {LAYER_ENVIRONMENT, NAMED("environment"), "always there"},
};

#define LAYERS_OPEN                                                                                \
	(LAYER_GROUP | LAYER_DEATH | LAYER_LIMITS | LAYER_DESCRIPTORS | LAYER_PRIVILEGES |         \
	 LAYER_ENVIRONMENT)
#define LAYERS_STANDARD (LAYERS_OPEN | LAYER_FILES | LAYER_SIGNALS | LAYER_SYSCALLS)

/* chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service */
#define CAPABILITIES UINT64_C(0x4fb)

static const struct profile {
	const char *name;
	uint32_t layers;
	uint64_t capabilities;
	struct minder_limit limits[MINDER_LIMITS]; /* up to the first {0,0} but RLIMIT_CPU */
} profiles[] = {
    [CONFINE_UNSET] = {"", 0, MINDER_KEEP, {{0}}},
    [CONFINE_OPEN] = {"open",
		      LAYERS_OPEN,
		      MINDER_KEEP,
		      {{RLIMIT_CORE, 0, 0, 0},
		       /* not what the owner raised it to: select(2) needs this */
		       {RLIMIT_NOFILE, 0, 1024, MINDER_KEEP}}},
    [CONFINE_STANDARD] = {"standard",
			  LAYERS_STANDARD,
			  CAPABILITIES,
			  {{RLIMIT_CORE, 0, 0, 0},
			   {RLIMIT_NOFILE, 0, 1024, MINDER_KEEP},
			   {RLIMIT_NPROC, 1, 512, 512},
			   {RLIMIT_FSIZE, 0, 64 * GIB, 64 * GIB}}},
    [CONFINE_STRICT] = {"strict",
			LAYERS_STANDARD | LAYER_TCP,
			CAPABILITIES,
			{{RLIMIT_CORE, 0, 0, 0},
			 {RLIMIT_NOFILE, 0, 1024, 4096},
			 {RLIMIT_NPROC, 1, 128, 128},
			 {RLIMIT_FSIZE, 0, 4 * GIB, 4 * GIB},
			 {RLIMIT_AS, 0, 64 * GIB, 64 * GIB}}},
};

const struct confine_settings confine_defaults = {
    .profiles = {[CONFINED_SHELL] = CONFINE_STANDARD,
		 [CONFINED_HOOKS] = CONFINE_STANDARD,
		 [CONFINED_PLUGINS] = CONFINE_STANDARD,
		 [CONFINED_SERVERS] = CONFINE_OPEN}, /* npx keeps what it fetches in home */
};

/* Names */

enum confinement_profile
confine_profile(struct str name)
{
	for (int i = CONFINE_OPEN; i <= CONFINE_STRICT; i++)
		if (str_is(name, profiles[i].name))
			return (enum confinement_profile)i;
	return CONFINE_UNSET;
}

const char *
confine_profile_name(enum confinement_profile p)
{
	return profiles[p].name;
}

_Static_assert(ARRAY_LEN(layers) * (NAME + 1) + 2 * NAME <= CONFINE_TEXT, "room for all at once");

/* Each call's row has one: no formatting. What is copied too much is written over by the next. */
static char *
name_add(char *to, const struct name *n)
{
	memcpy(to, n->text, NAME);
	return to + n->len;
}

const char *
confine_text(uint32_t word, char out[static CONFINE_TEXT])
{
	uint32_t profile = word >> 24;
	char *end = out;

	if (profile > 0 && profile < ARRAY_LEN(profiles))
		end = stpcpy(stpcpy(end, profiles[profile].name), ": ");
	char *first = end;
	for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
		if (!(word & layers[i].bit))
			continue;
		if (end > first)
			*end++ = ',';
		end = name_add(end, &layers[i].name);
	}
	*end = '\0';
	return out;
}

const char *
confine_origin(uint32_t layer)
{
	for (size_t i = 0; i < ARRAY_LEN(layers); i++)
		if (layers[i].bit == layer)
			return layers[i].origin;
	BUG("a layer of no name");
}

/* What there is */

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static uint32_t available;
static int landlock;

static void
ask(void)
{
	landlock = rules__abi();
	available = LAYERS_OPEN | (landlock >= 3 ? LAYER_FILES : 0) |
		    (landlock >= 6 ? LAYER_SIGNALS : 0) | (landlock >= 4 ? LAYER_TCP : 0) |
		    (filter__available() ? LAYER_SYSCALLS : 0);
}

uint32_t
confine_available(void)
{
	pthread_once(&asked, ask);
	return available;
}

uint32_t
confine_wanted(enum confinement_profile p, bool tcp)
{
	return profiles[p == CONFINE_UNSET ? CONFINE_OPEN : p].layers |
	       (tcp && p > CONFINE_OPEN ? LAYER_TCP : 0);
}

/* Orders */

static size_t
limits_copy(const struct profile *p, struct minder_limit *out)
{
	size_t n = 0;

	for (; n < MINDER_LIMITS && (p->limits[n].resource || p->limits[n].soft); n++)
		out[n] = p->limits[n];
	return n;
}

static int
orders_make(enum confinement_profile p, bool tcp, struct minder_orders *o, struct err *e)
{
	uint32_t there = confine_available();

	/* Without ports strict makes no sockets at all, and that takes no Landlock. */
	if (p == CONFINE_STRICT && !tcp && (there & LAYER_SYSCALLS))
		there |= LAYER_TCP;
	o->layers = confine_wanted(p, tcp) & there;
	o->rules = p > CONFINE_OPEN && landlock > 0;
	o->limit_count = (uint32_t)limits_copy(&profiles[p], o->limits);
	o->capabilities = profiles[p].capabilities;
	return p > CONFINE_OPEN && (there & LAYER_SYSCALLS) ? filter__make(p, tcp, o, e) : 0;
}

/* Each kind of orders is made once: the filter takes a millisecond. */
static int
orders_get(enum confinement_profile p, bool tcp, const struct minder_orders **ret, struct err *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct minder_orders *made[CONFINE_STRICT + 1][2];
	int rc = 0;

	pthread_mutex_lock(&lock);
	struct minder_orders **slot = &made[p][tcp];
	if (!*slot) {
		struct minder_orders *new = calloc(1, sizeof(*new));
		rc = new ? orders_make(p, tcp, new, e) : err_plain(e, E_NOMEM);
		if (rc == 0)
			*slot = new;
		else
			free(new);
	}
	*ret = *slot;
	pthread_mutex_unlock(&lock);
	return rc;
}

static int
refuse(uint32_t missing, struct err *e)
{
	struct buf text = BUF_INIT(400);

	for (size_t i = 0; i < ARRAY_LEN(layers); i++)
		if (missing & layers[i].bit)
			buf_addf(&text, "%s%s (%s)", text.len ? ", " : "", layers[i].name.text,
				 layers[i].origin);
	err_set(e, E_UNAVAILABLE,
		"strict confinement is not to be had on this kernel, which lacks %.*s; standard "
		"does without",
		STR_ARG(buf_str(&text)));
	buf_done(&text);
	return E_UNAVAILABLE;
}

int
confine__orders(const struct confinement *c, const char *program, struct arena *a,
		const struct minder_orders **ret, int *ret_rules, struct err *e)
{
	enum confinement_profile p = c && c->profile ? c->profile : CONFINE_OPEN;
	bool tcp = p > CONFINE_OPEN && (p == CONFINE_STRICT ? c->tcp_count > 0 : c->tcp != NULL);
	int rc = orders_get(p, tcp, ret, e);

	*ret_rules = -1;
	if (rc != 0)
		return rc;
	uint32_t missing = confine_wanted(p, tcp) & ~(*ret)->layers;
	if (p == CONFINE_STRICT && missing)
		return refuse(missing, e);
	return (*ret)->rules ? rules__new(c, program, a, ret_rules, e) : 0;
}

/* The house */

static size_t
count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static const char *const *
join(struct arena *a, const char *const *first, const char *const *second)
{
	const char **list = arena_alloc(a, (count(first) + count(second) + 1) * sizeof(*list));
	size_t n = 0;

	for (; list && first && *first; first++)
		list[n++] = *first;
	for (; list && second && *second; second++)
		list[n++] = *second;
	if (list)
		list[n] = NULL;
	return list;
}

/* Where houses are built. */
static const char *
house_place(void)
{
	const char *base = getenv("TMPDIR");

	return base && base[0] == '/' && strlen(base) <= LIMIT_PATH / 2 ? base : "/tmp";
}

static bool
is_own_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static void
house_unlock(struct confine_house *h)
{
	if (h->locked)
		close(h->lock);
	h->locked = false;
}

/*
 * As long as it is held nobody sweeps the house away; it goes with the process, however that ends.
 * False: a sweep was quicker. Where files cannot be locked there is none, and no sweep either.
 */
static bool
house_lock(struct confine_house *h)
{
	char path[LIMIT_PATH + sizeof(HOUSE_LOCK)];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", h->temporary, HOUSE_LOCK);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return true;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
		h->lock = fd;
		return h->locked = true;
	}
	bool swept = errno == EWOULDBLOCK || access(path, F_OK) < 0;
	if (!swept)
		(void)unlink(path);
	close(fd);
	return !swept;
}

/* Whoever tidies up may have taken it away since, and somebody else its name. */
static bool
house_has_temporary(struct confine_house *h)
{
	if (h->temporary[0] && is_own_dir(h->temporary) && access(h->temporary, W_OK) == 0)
		return true;
	house_unlock(h);
	for (int tries = 0; tries < HOUSE_TRIES; tries++) {
		snprintf(h->temporary, sizeof(h->temporary), "%s/" HOUSE_NAME "XXXXXX",
			 house_place());
		if (!mkdtemp(h->temporary))
			break;
		if (house_lock(h))
			return true;
	}
	h->temporary[0] = '\0';
	return false;
}

/* One for each name: what one command leaves there, the next one finds. */
static int
temporary_make(struct confine_house *h, enum confined who, struct str name, struct arena *a,
	       const char **ret, struct err *e)
{
	if (!house_has_temporary(h))
		return err_errno(e, E_SYSTEM, errno, "a temporary directory");
	*ret = arena_printf(a, "%s/%d-%016llx", h->temporary, (int)who,
			    (unsigned long long)str_hash(name));
	if (!*ret)
		return err_plain(e, E_NOMEM);
	return mkdir(*ret, 0700) == 0 || errno == EEXIST
		   ? 0
		   : err_errno(e, E_SYSTEM, errno, "a temporary directory");
}

int
confine_child(struct confine_house *h, enum confined who, const struct confinement *said,
	      struct str name, struct arena *a, struct confinement *ret, struct err *e)
{
	static const struct confinement nothing;

	*ret = (struct confinement){.profile = CONFINE_OPEN};
	if (!h)
		return 0;
	const struct confine_settings *s = h->settings;
	said = said ? said : &nothing;
	ret->profile = said->profile ? said->profile : s->profiles[who];
	if (ret->profile == CONFINE_OPEN)
		return 0;
	ret->shut = h->shut;
	ret->kept = &h->kept;
	ret->tcp = said->tcp ? said->tcp : s->tcp;
	ret->tcp_count = said->tcp ? said->tcp_count : s->tcp_count;
	ret->read = join(a, s->read, said->read);
	ret->write = join(a, s->write, said->write);
	if (!ret->read || !ret->write)
		return err_plain(e, E_NOMEM);
	return temporary_make(h, who, name, a, &ret->temporary, e);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	(void)remove(path);
	return 0;
}

void
confine_house_done(struct confine_house *h)
{
	if (h->temporary[0])
		(void)nftw(h->temporary, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	house_unlock(h);
	rules__forget(&h->kept);
	h->temporary[0] = '\0';
}

static void
sweep_house(const char *path)
{
	char lock[LIMIT_PATH + sizeof(HOUSE_LOCK)];

	snprintf(lock, sizeof(lock), "%s%s", path, HOUSE_LOCK);
	int fd = is_own_dir(path) ? open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	close(fd);
}

void
confine_sweep(void)
{
	DIR *place = opendir(house_place());
	char path[LIMIT_PATH];

	for (struct dirent *at; place && (at = readdir(place));) {
		int n = snprintf(path, sizeof(path), "%s/%s", house_place(), at->d_name);
		if (str_starts(str_of(at->d_name), S(HOUSE_NAME)) && n < (int)sizeof(path))
			sweep_house(path);
	}
	if (place)
		closedir(place);
}
