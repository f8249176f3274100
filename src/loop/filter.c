/*
 * filter.c - the seccomp program: what a confined child has no business calling.
 *
 * A deny list: what is not here is allowed, so that programs work. What Landlock decides by path
 * is Landlock's. Numbers of system calls that came later than the list are let through; they need
 * privileges that a child does not have.
 *
 * libseccomp is there while a program is made, and no longer: that is once or twice in the life of
 * a gateway, and most of the time it would be memory that nobody uses.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/library.h"
#include "loop/confine_inside.h"

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

/* An int or unsigned int: the kernel does not look at the upper half, so neither must we. */
#define INT_IS(n, value) SCMP_CMP(n, SCMP_CMP_MASKED_EQ, 0xffffffff, value)
#define ALL_OF(n, bits) SCMP_CMP(n, SCMP_CMP_MASKED_EQ, bits, bits)

/* Never, whatever the arguments are. */
static const struct {
	int call;
	int error;
} denied[] = {
    /* others' memory and descriptors */
    {SCMP_SYS(ptrace), EPERM},
    {SCMP_SYS(process_vm_readv), EPERM},
    {SCMP_SYS(process_vm_writev), EPERM},
    {SCMP_SYS(process_madvise), EPERM},
    {SCMP_SYS(pidfd_getfd), EPERM},
    {SCMP_SYS(kcmp), EPERM},
    {SCMP_SYS(move_pages), EPERM},
    {SCMP_SYS(migrate_pages), EPERM},
    {SCMP_SYS(perf_event_open), EPERM},
    /* another view of the files */
    {SCMP_SYS(mount), EPERM},
    {SCMP_SYS(umount), EPERM},
    {SCMP_SYS(umount2), EPERM},
    {SCMP_SYS(mount_setattr), EPERM},
    {SCMP_SYS(move_mount), EPERM},
    {SCMP_SYS(open_tree), EPERM},
    {SCMP_SYS(fsopen), EPERM},
    {SCMP_SYS(fsconfig), EPERM},
    {SCMP_SYS(fsmount), EPERM},
    {SCMP_SYS(fspick), EPERM},
    {SCMP_SYS(pivot_root), EPERM},
    {SCMP_SYS(chroot), EPERM},
    {SCMP_SYS(open_by_handle_at), EPERM},
    {SCMP_SYS(unshare), EPERM},
    {SCMP_SYS(setns), EPERM},
    {SCMP_SYS(clone3), ENOSYS}, /* its flags cannot be seen; libc goes back to clone */
    /* large doors of the kernel, and ways around a filter */
    {SCMP_SYS(bpf), EPERM},
    {SCMP_SYS(io_uring_setup), EPERM},
    {SCMP_SYS(io_uring_enter), EPERM},
    {SCMP_SYS(io_uring_register), EPERM},
    {SCMP_SYS(userfaultfd), EPERM},
    {SCMP_SYS(fanotify_init), EPERM},
    {SCMP_SYS(add_key), EPERM},
    {SCMP_SYS(keyctl), EPERM},
    {SCMP_SYS(request_key), EPERM},
    /* the machine itself */
    {SCMP_SYS(kexec_load), EPERM},
    {SCMP_SYS(kexec_file_load), EPERM},
    {SCMP_SYS(init_module), EPERM},
    {SCMP_SYS(finit_module), EPERM},
    {SCMP_SYS(delete_module), EPERM},
    {SCMP_SYS(reboot), EPERM},
    {SCMP_SYS(swapon), EPERM},
    {SCMP_SYS(swapoff), EPERM},
    {SCMP_SYS(acct), EPERM},
    {SCMP_SYS(quotactl), EPERM},
    {SCMP_SYS(quotactl_fd), EPERM},
    {SCMP_SYS(settimeofday), EPERM},
    {SCMP_SYS(clock_settime), EPERM},
    {SCMP_SYS(stime), EPERM},
    {SCMP_SYS(sethostname), EPERM},
    {SCMP_SYS(setdomainname), EPERM},
    {SCMP_SYS(iopl), EPERM},
    {SCMP_SYS(ioperm), EPERM},
    {SCMP_SYS(syslog), EPERM},
    {SCMP_SYS(vhangup), EPERM},
};

/* Never with such an argument. */
struct condition {
	int call;
	struct scmp_arg_cmp arg;
};

static const struct condition conditions[] = {
    {SCMP_SYS(ioctl), INT_IS(1, TIOCSTI)}, /* types into a terminal */
    {SCMP_SYS(ioctl), INT_IS(1, TIOCLINUX)},
    {SCMP_SYS(ioctl), INT_IS(1, TIOCSETD)},
    {SCMP_SYS(clone), ALL_OF(0, CLONE_NEWNS)},
    {SCMP_SYS(clone), ALL_OF(0, CLONE_NEWCGROUP)},
    {SCMP_SYS(clone), ALL_OF(0, CLONE_NEWUTS)},
    {SCMP_SYS(clone), ALL_OF(0, CLONE_NEWIPC)},
    {SCMP_SYS(clone), ALL_OF(0, CLONE_NEWUSER)},
    {SCMP_SYS(clone), ALL_OF(0, CLONE_NEWPID)},
    {SCMP_SYS(clone), ALL_OF(0, CLONE_NEWNET)},
    {SCMP_SYS(prlimit64), SCMP_CMP(0, SCMP_CMP_NE, 0)}, /* others' limits */
};

/*
 * Where TCP is confined: Landlock looks at connect and bind of TCP alone. Data sent with
 * MSG_FASTOPEN connects without either, and these protocols carry streams beside TCP.
 */
#define PROTO_DCCP 33
#define PROTO_SCTP 132
#define PROTO_SMC 256
#define PROTO_MPTCP 262
#define FAMILY_SMC 43

static const struct condition tcp_conditions[] = {
    {SCMP_SYS(sendto), ALL_OF(3, MSG_FASTOPEN)},   {SCMP_SYS(sendmsg), ALL_OF(2, MSG_FASTOPEN)},
    {SCMP_SYS(sendmmsg), ALL_OF(3, MSG_FASTOPEN)}, {SCMP_SYS(socket), INT_IS(2, PROTO_DCCP)},
    {SCMP_SYS(socket), INT_IS(2, PROTO_SCTP)},     {SCMP_SYS(socket), INT_IS(2, PROTO_SMC)},
    {SCMP_SYS(socket), INT_IS(2, PROTO_MPTCP)},    {SCMP_SYS(socket), INT_IS(0, FAMILY_SMC)},
};

/* The library */

#define FUNCTIONS(X)                                                                               \
	X(attr_set)                                                                                \
	X(export_bpf)                                                                              \
	X(init)                                                                                    \
	X(release)                                                                                 \
	X(rule_add_array)

struct seccomp {
	void *library;
#define FUNCTION(name) __typeof__(&seccomp_##name) name;
	FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static const struct library_function functions[] = {
#define FUNCTION(name) {"seccomp_" #name, offsetof(struct seccomp, name)},
    FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* What is missing: a child that is to be confined does not run then. */
static int
library_open(struct seccomp *lib, struct err *e)
{
	static const char *const names[] = {"libseccomp.so.2", NULL};
	struct err why = ERR_NONE;

	lib->library = library_load(names, functions, ARRAY_LEN(functions), lib, &why);
	return lib->library
		   ? 0
		   : err_set(e, E_UNAVAILABLE, "confinement needs libseccomp: %s", err_text(&why));
}

/* The program */

struct making {
	struct seccomp lib;
	scmp_filter_ctx program;
};

static int
deny_always(struct making *m, int call, int error)
{
	return m->lib.rule_add_array(m->program, SCMP_ACT_ERRNO((unsigned)error), call, 0, NULL);
}

static int
deny(struct making *m, const struct condition *c)
{
	return m->lib.rule_add_array(m->program, SCMP_ACT_ERRNO(EPERM), c->call, 1, &c->arg);
}

static int
deny_all(struct making *m, const struct condition *list, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = deny(m, &list[i]);
	return rc;
}

/* socket() for anything but a TCP stream over IP: each value of an argument that is not one. */
static int
deny_sockets(struct making *m)
{
	int call = SCMP_SYS(socket), rc = 0;

	for (unsigned n = 0; rc == 0 && n < AF_INET6; n++)
		if (n != AF_INET)
			rc = deny(m, &(struct condition){call, INT_IS(0, n)});
	if (rc == 0)
		rc = deny(m, &(struct condition){call, SCMP_CMP(0, SCMP_CMP_GT, AF_INET6)});
	for (unsigned n = 0; rc == 0 && n < 16; n++)
		if (n != SOCK_STREAM)
			rc = deny(m, &(struct condition){call,
							 SCMP_CMP(1, SCMP_CMP_MASKED_EQ, 15, n)});
	for (unsigned n = 1; rc == 0 && n < IPPROTO_TCP; n++)
		rc = deny(m, &(struct condition){call, INT_IS(2, n)});
	if (rc == 0)
		rc = deny(m, &(struct condition){call, SCMP_CMP(2, SCMP_CMP_GT, IPPROTO_TCP)});
	return rc;
}

static int
deny_network(struct making *m, enum confinement_profile p, bool tcp)
{
	if (p == CONFINE_STRICT && !tcp)
		return deny_always(m, SCMP_SYS(socket), EPERM);
	int rc = tcp ? deny_all(m, tcp_conditions, ARRAY_LEN(tcp_conditions)) : 0;
	return rc == 0 && p == CONFINE_STRICT ? deny_sockets(m) : rc;
}

/* Calls of another ABI (32 bits, x32) have other numbers: a process that makes one is ended. */
static int
fill(struct making *m, enum confinement_profile p, bool tcp)
{
	int rc = m->lib.attr_set(m->program, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (rc == 0)
		rc = m->lib.attr_set(m->program, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(denied); i++)
		rc = deny_always(m, denied[i].call, denied[i].error);
	if (rc == 0)
		rc = deny_all(m, conditions, ARRAY_LEN(conditions));
	return rc == 0 ? deny_network(m, p, tcp) : rc;
}

/* The library writes to a descriptor. */
static int export(struct making *m, struct minder_orders *orders)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	int rc = m->lib.export_bpf(m->program, fd);
	ssize_t n = rc == 0 ? pread(fd, orders->filter, sizeof(orders->filter), 0) : -1;
	off_t whole = lseek(fd, 0, SEEK_END);
	close(fd);
	if (rc == 0 && (n <= 0 || n != whole))
		rc = -E2BIG;
	if (rc == 0)
		orders->filter_len = (uint32_t)((size_t)n / sizeof(orders->filter[0]));
	return rc;
}

int
filter__make(enum confinement_profile p, bool tcp, struct minder_orders *orders, struct err *e)
{
	struct making m;
	int rc = library_open(&m.lib, e);

	if (rc < 0)
		return rc;
	m.program = m.lib.init(SCMP_ACT_ALLOW);
	rc = m.program ? fill(&m, p, tcp) : -ENOMEM;
	if (rc == 0)
		rc = export(&m, orders);
	m.lib.release(m.program);
	dlclose(m.lib.library);
	return rc < 0 ? err_errno(e, E_SYSTEM, -rc, "the filter of system calls") : 0;
}

bool
filter__available(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
