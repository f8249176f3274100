/* tree.c - processor time and memory of a process and all it started, from /proc. */

#include "tree.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void look(struct tree *t, long pid);

/* A small file of a process, or of one of its threads, as text; false when that is gone. */
static bool
slurp(char *text, size_t size, long pid, const char *task, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%ld%s%s/%s", pid, task ? "/task/" : "",
		 task ? task : "", name);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	return f && n > 0;
}

/* The thread's time, and what it started. */
static void
look_at_task(struct tree *t, long pid, const char *task, bool apart)
{
	char text[4096];

	if (!apart && slurp(text, sizeof(text), pid, task, "schedstat"))
		t->cpu_ns += strtoull(text, NULL, 10);
	if (!slurp(text, sizeof(text), pid, task, "children"))
		return;
	for (char *at = text, *end; (pid = strtol(at, &end, 10)) > 0; at = end)
		look(t, pid);
}

static void
look(struct tree *t, long pid)
{
	char text[256];
	char path[64];
	bool apart =
	    slurp(text, sizeof(text), pid, NULL, "comm") && strcmp(text, TREE_APART "\n") == 0;

	if (!apart && slurp(text, sizeof(text), pid, NULL, "statm")) {
		const char *resident = strchr(text, ' ');
		uint64_t pages = resident ? strtoull(resident, NULL, 10) : 0;
		t->rss_kb += pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
		t->processes++;
	}
	snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.')
			look_at_task(t, pid, e->d_name, apart);
	if (d)
		closedir(d);
}

struct tree
tree_look(pid_t root)
{
	struct tree t = {0};

	if (root > 0)
		look(&t, root);
	return t;
}
