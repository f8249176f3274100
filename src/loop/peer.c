/*
 * peer.c - is the other end of a TCP connection one of our children?
 *
 * The kernel tells the peer's process for a Unix socket only. For a connection within this machine
 * /proc does: the table of connections gives the peer's socket a number, and a process that holds
 * it has that number among its descriptors.
 */

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loop/child.h"
#include "minder/proc.h"

struct search {
	char link[40]; /* "socket:[12345]" */
	bool ours;
	bool stranger;
};

/* proc(5), net/tcp: "sl local:port remote:port st tx:rx tr:when retransmits uid timeout inode". */
static bool
row_parse(const char *row, unsigned *from, unsigned *to, unsigned long *inode)
{
	return sscanf(row, " %*[^:]: %*[^:]:%x %*[^:]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %lu", from,
		      to, inode) == 3;
}

/* The number of the peer's socket; 0 when nobody holds it, or it is not there any more. */
static unsigned long
socket_number(const char *table, uint16_t from, uint16_t to)
{
	FILE *f = fopen(table, "re");
	char row[512];
	unsigned row_from, row_to;
	unsigned long number, found = 0;

	while (f && !found && fgets(row, sizeof(row), f))
		if (row_parse(row, &row_from, &row_to, &number) && row_from == from && row_to == to)
			found = number;
	if (f)
		fclose(f);
	return found;
}

enum holding { HOLDS_NOT, HOLDS, HIDES };

static enum holding
holds(int pid, const char *link)
{
	char path[300], target[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	enum holding found = dir || access(path, F_OK) < 0 ? HOLDS_NOT : HIDES;

	for (struct dirent *d; dir && found == HOLDS_NOT && (d = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, d->d_name);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strcmp(target, link) == 0)
			found = HOLDS;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* One of ours that hides its descriptors has a reason, and is taken to hold this one. */
static void
look(const struct proc *p, void *arg)
{
	struct search *s = arg;
	enum holding found =
	    p->state == 'Z' || p->pid == getpid() ? HOLDS_NOT : holds(p->pid, s->link);

	if (found == HOLDS_NOT)
		return;
	if (child_is_ours(p->pid))
		s->ours = true;
	else
		s->stranger = s->stranger || found == HOLDS;
}

/*
 * A stranger must be seen to hold the socket. One that nobody is seen to hold may have been let go
 * of, or be on its way from one process to another: that is no answer.
 */
enum child_peer
child_tcp_peer(uint16_t peer_port, uint16_t our_port)
{
	struct search s = {0};
	unsigned long number = socket_number("/proc/net/tcp", peer_port, our_port);

	if (number == 0)
		number = socket_number("/proc/net/tcp6", peer_port, our_port);
	if (number == 0)
		return PEER_UNKNOWN;
	snprintf(s.link, sizeof(s.link), "socket:[%lu]", number);
	if (proc_each(look, &s) < 0)
		return PEER_UNKNOWN;
	return s.ours ? PEER_OURS : s.stranger ? PEER_STRANGER : PEER_UNKNOWN;
}
