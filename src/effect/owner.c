/*
 * owner.c - who is at work on the ledger: a byte of effects.lock each, locked while they live.
 *
 * Process numbers are given again, and say nothing of a process in another namespace. The kernel
 * lets go of a lock when the last descriptor of its open file is closed, however a process ends;
 * and a lock of an open file (not of a process) is also seen by another ledger of this process.
 */

#include "effect/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/ulid.h"

#define TRIES 64

static int
lock_op(int fd, int op, int64_t byte, struct flock *ret)
{
	*ret = (struct flock){.l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)byte,
			      .l_len = 1};
	return fcntl(fd, op, ret);
}

/* Nobody alive has it; but something may be left that one who had it started. */
static bool
is_used(struct ledger *l, int64_t number)
{
	sqlite3_stmt *st = l->st[ST_ORPHANS];

	db_bind(st, 1, &(struct value){VALUE_INT, number, NULL});
	bool used = sqlite3_step(st) == SQLITE_ROW;
	sqlite3_reset(st);
	return used;
}

int
ledger__own(struct ledger *l, struct err *e)
{
	struct flock lock;
	char path[LIMIT_PATH];

	l->owner = 1;
	if (!l->path)
		return 0;
	int n = snprintf(path, sizeof(path), "%.*s.lock",
			 (int)(strlen(l->path) - (str_ends(str_of(l->path), S(".db")) ? 3 : 0)),
			 l->path);
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_errno(e, E_STORE, ENAMETOOLONG, "effects.lock");
	l->lock_fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->lock_fd < 0)
		return err_errno(e, E_STORE, errno, path);
	for (int i = 0; i < TRIES; i++) {
		uint32_t dice;
		random_bytes(&dice, sizeof(dice));
		l->owner = 1 + (int64_t)(dice & INT32_MAX);
		if (lock_op(l->lock_fd, F_OFD_SETLK, l->owner, &lock) < 0) {
			if (errno != EAGAIN && errno != EACCES)
				return err_errno(e, E_STORE, errno, path);
			continue;
		}
		if (!is_used(l, l->owner))
			return 0;
		lock.l_type = F_UNLCK;
		(void)fcntl(l->lock_fd, F_OFD_SETLK, &lock);
	}
	return err_set(e, E_STORE, "the ledger has no number left for this process");
}

/* Fail closed: whoever cannot be asked about is alive. */
bool
ledger__alive(const struct ledger *l, int64_t owner)
{
	struct flock lock;

	if (owner == l->owner)
		return true;
	if (l->lock_fd < 0 || lock_op(l->lock_fd, F_OFD_GETLK, owner, &lock) < 0)
		return l->lock_fd >= 0;
	return lock.l_type != F_UNLCK;
}

void
ledger__disown(struct ledger *l)
{
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	l->lock_fd = -1;
}
