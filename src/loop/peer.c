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
	bool found;
};

/* proc(5), net/tcp: "sl local:port remote:port st tx:rx tr:when retransmits uid timeout inode". */
static bool
row_parse(const char *row, unsigned *from, unsigned *to, unsigned long *inode)
{
	return sscanf(row, " %*[^:]: %*[^:]:%x %*[^:]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %lu", from,
		      to, inode) == 3;
}

/* 1: found, with the number (0 when nobody holds it any more); 0: not there. */
static int
socket_number(const char *table, uint16_t from, uint16_t to, unsigned long *ret)
{
	FILE *f = fopen(table, "re");
	char row[512];
	unsigned row_from, row_to;
	int found = 0;

	if (!f)
		return 0;
	while (!found && fgets(row, sizeof(row), f))
		found = row_parse(row, &row_from, &row_to, ret) && row_from == from && row_to == to;
	fclose(f);
	return found;
}

/* True also when it may not be told: what hides its descriptors has a reason. */
static bool
holds(int pid, const char *link)
{
	char path[300], target[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	bool found = !dir && access(path, F_OK) == 0;

	for (struct dirent *d; dir && !found && (d = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, d->d_name);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		found = strcmp(target, link) == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

static void
look(const struct proc *p, void *arg)
{
	struct search *s = arg;

	if (!s->found && p->state != 'Z' && p->pid != getpid() && child_is_ours(p->pid))
		s->found = holds(p->pid, s->link);
}

enum child_peer
child_tcp_peer(uint16_t peer_port, uint16_t our_port)
{
	struct search s = {0};
	unsigned long number = 0;

	if (!socket_number("/proc/net/tcp", peer_port, our_port, &number) &&
	    !socket_number("/proc/net/tcp6", peer_port, our_port, &number))
		return PEER_UNKNOWN;
	if (number == 0)
		return PEER_UNKNOWN;
	snprintf(s.link, sizeof(s.link), "socket:[%lu]", number);
	if (proc_each(look, &s) < 0)
		return PEER_UNKNOWN;
	return s.found ? PEER_OURS : PEER_STRANGER;
}
