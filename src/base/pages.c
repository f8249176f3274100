/* pages.c - segments of the program that nobody writes to, let go. */

#include "base/pages.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A breakpoint is a change to a page, and would be lost with it. In doubt there may be some. */
static bool
is_traced(void)
{
	static const char field[] = "\nTracerPid:";
	char text[2048];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (len < 0)
		return true;
	text[len] = '\0';
	const char *at = strstr(text, field);
	return !at || strtol(at + sizeof(field) - 1, NULL, 10) != 0;
}

/* The linker tells where things are as numbers. */
static void *
place(const struct dl_phdr_info *info, uintptr_t at)
{
	return (void *)(info->dlpi_addr + at); /* NOLINT(performance-no-int-to-ptr) */
}

/* Some old linkers left addresses in the code to be filled in at the start. */
static bool
is_patched(const struct dl_phdr_info *info)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		const ElfW(Dyn) *d = place(info, info->dlpi_phdr[i].p_vaddr);
		for (; d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_TEXTREL ||
			    (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
				return true;
	}
	return false;
}

/* MADV_DONTNEED forgets what was written, so only where nothing can have been. */
static int
object_release(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size, (void)arg;
	if (is_patched(info))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD || p->p_flags & PF_W)
			continue;
		uintptr_t within = p->p_vaddr & (page - 1);
		/* A refusal costs memory and nothing else. */
		(void)madvise(place(info, p->p_vaddr - within), within + p->p_filesz,
			      MADV_DONTNEED);
	}
	return 0;
}

void
pages_release(void)
{
	if (!is_traced())
		dl_iterate_phdr(object_release, NULL);
}
