"""Ways out of a confined command, each tried by itself. Started in the workspace as `python3 escapes.py FACTS.json`.

The last line of the output is a JSON object: what became of each attempt, "escaped" or why it was held. Every attempt is
harmless where it succeeds: it works on files and processes made for it.
"""
import ctypes
import errno
import json
import mmap
import os
import signal
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
CALLS = {  # of x86_64
    "ptrace": 101, "chroot": 161, "mount": 165, "tgkill": 234, "add_key": 248, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
    "prlimit64": 302, "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "clone": 56, "bpf": 321,
    "userfaultfd": 323, "pidfd_send_signal": 424, "io_uring_setup": 425, "fsopen": 430, "clone3": 435, "pidfd_getfd": 438,
}
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
ATTEMPTS = {}


def attempt(function):
    ATTEMPTS[function.__name__] = function
    return function


def call(name, *args):
    """A system call; OSError when it fails."""
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(CALLS[name]), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if got < 0:
        raise OSError(ctypes.get_errno(), name)
    return got


# Files

@attempt
def read_outside(f):
    open(f["outside"] + "/read_outside").read()


@attempt
def list_outside(f):
    os.listdir(f["outside"])


@attempt
def read_journal(f):
    open(f["state"] + "/holdfast.db", "rb").read(16)


@attempt
def read_token(f):
    open(f["state"] + "/token").read()


@attempt
def read_configuration(f):
    open(f["config"]).read()


@attempt
def write_configuration(f):
    with open(f["config"], "a") as out:
        out.write("\n")


@attempt
def write_state(f):
    open(f["state"] + "/escaped", "w").close()


@attempt
def replace_state(f):
    os.rename(f["state"] + "/renamed", f["state"] + "/renamed-away")


@attempt
def write_outside(f):
    open(f["outside"] + "/new", "w").close()


@attempt
def append_outside(f):
    with open(f["outside"] + "/append_outside", "a") as out:
        out.write("x")


@attempt
def truncate_outside(f):
    os.truncate(f["outside"] + "/truncate_outside", 0)


@attempt
def truncate_by_open(f):
    os.close(os.open(f["outside"] + "/truncate_by_open", os.O_RDONLY | os.O_TRUNC))


@attempt
def remove_outside(f):
    os.unlink(f["outside"] + "/remove_outside")


@attempt
def directory_outside(f):
    os.mkdir(f["outside"] + "/directory")


@attempt
def symlink_out(f):
    os.symlink(f["outside"] + "/symlink_out", "symlink_out")
    open("symlink_out").read()


@attempt
def symlink_to_state(f):
    os.symlink(f["state"], "symlink_to_state")
    open("symlink_to_state/holdfast.db", "rb").read(16)


@attempt
def hard_link(f):
    os.link(f["outside"] + "/hard_link", "hard_link")
    open("hard_link").read()


@attempt
def move_in(f):
    os.rename(f["outside"] + "/move_in", "move_in")


@attempt
def by_dots(f):
    open(os.path.relpath(f["outside"]) + "/by_dots").read()


@attempt
def by_proc_cwd(f):
    open("/proc/self/cwd/" + os.path.relpath(f["outside"]) + "/by_proc_cwd").read()


@attempt
def by_proc_root(f):
    open("/proc/self/root" + f["outside"] + "/by_proc_root").read()


@attempt
def temporary_of_others(f):
    open("/tmp/holdfast-escape-%d" % os.getpid(), "w").close()
    os.unlink("/tmp/holdfast-escape-%d" % os.getpid())


@attempt
def handle(f):
    """open_by_handle_at knows no paths."""
    room = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, ctypes.c_char_p((f["outside"] + "/handle").encode()), room, ctypes.byref(mount), 0)
    at = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    os.read(call("open_by_handle_at", at, room, os.O_RDONLY), 1)


@attempt
def shadow(f):
    open("/etc/shadow").read()


@attempt
def device(f):
    os.mknod("device", 0o600 | 0o020000, os.makedev(1, 1))


@attempt
def kernel_memory(f):
    os.close(os.open("/proc/kcore", os.O_RDONLY))


@attempt
def terminal(f):
    os.close(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))


@attempt
def write_proc(f):
    with open("/proc/self/../self/oom_score_adj", "w") as out:
        out.write("500")


# Other processes

@attempt
def signal_gateway(f):
    os.kill(f["gateway"], signal.SIGURG)


@attempt
def signal_minder(f):
    os.kill(f["minder"], signal.SIGURG)


@attempt
def signal_victim(f):
    os.kill(f["victim"], signal.SIGURG)


@attempt
def signal_by_pidfd(f):
    call("pidfd_send_signal", os.pidfd_open(f["victim"]), int(signal.SIGURG), 0, 0)


@attempt
def signal_by_thread(f):
    call("tgkill", f["victim"], f["victim"], int(signal.SIGURG))


@attempt
def trace(f):
    call("ptrace", 0x4206, f["victim"], 0, 0)  # PTRACE_SEIZE: it runs on


@attempt
def read_memory(f):
    room = ctypes.create_string_buffer(6)
    ours = struct.pack("=QQ", ctypes.addressof(room), 6)
    theirs = struct.pack("=QQ", f["address"], 6)
    call("process_vm_readv", f["victim"], ctypes.c_char_p(ours), 1, ctypes.c_char_p(theirs), 1, 0)
    assert room.raw == b"secret"


@attempt
def proc_memory(f):
    with open("/proc/%d/mem" % f["victim"], "rb", 0) as memory:
        memory.seek(f["address"])
        assert memory.read(6) == b"secret"


@attempt
def proc_memory_of_gateway(f):
    os.close(os.open("/proc/%d/mem" % f["gateway"], os.O_RDONLY))


@attempt
def proc_root_of_gateway(f):
    open("/proc/%d/root%s/proc_root_of_gateway" % (f["gateway"], f["outside"])).read()


@attempt
def proc_root_of_victim(f):
    open("/proc/%d/root%s/proc_root_of_victim" % (f["victim"], f["outside"])).read()


@attempt
def proc_descriptor(f):
    os.readlink("/proc/%d/fd/0" % f["victim"])


@attempt
def proc_environment(f):
    assert open("/proc/%d/environ" % f["victim"], "rb").read()


@attempt
def proc_environment_of_minder(f):
    open("/proc/%d/environ" % f["minder"], "rb").read()


@attempt
def take_descriptor(f):
    os.close(call("pidfd_getfd", os.pidfd_open(f["victim"]), 0, 0))


@attempt
def limit_victim(f):
    call("prlimit64", f["victim"], 4, ctypes.c_char_p(struct.pack("=QQ", 0, 0)), 0)


@attempt
def adjust_victim(f):
    with open("/proc/%d/oom_score_adj" % f["victim"], "w") as out:
        out.write("500")


# The kernel

@attempt
def new_user_namespace(f):
    call("unshare", CLONE_NEWUSER)


@attempt
def clone_namespace(f):
    pid = call("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attempt
def clone3_namespace(f):
    pid = call("clone3", ctypes.c_char_p(struct.pack("=8Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)), 64)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@attempt
def enter_namespace(f):
    call("setns", os.open("/proc/self/ns/uts", os.O_RDONLY), 0)


@attempt
def mount(f):
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS)  # in a namespace of its own, where it does no harm
    os.mkdir("mounted")
    call("mount", ctypes.c_char_p(b"none"), ctypes.c_char_p(b"mounted"), ctypes.c_char_p(b"tmpfs"), 0, 0)


@attempt
def mount_here(f):
    """No such file system: a kernel that is asked says ENODEV."""
    reaches(call, "mount", ctypes.c_char_p(b"none"), ctypes.c_char_p(b"."), ctypes.c_char_p(b"no-such-type"), 0, 0)


@attempt
def mount_anew(f):
    reaches(call, "fsopen", ctypes.c_char_p(b"no-such-type"), 0)


@attempt
def change_root(f):
    call("chroot", ctypes.c_char_p(b"."))


@attempt
def ring(f):
    os.close(call("io_uring_setup", 2, ctypes.create_string_buffer(120)))


@attempt
def keys(f):
    call("keyctl", 0, -3 & 0xffffffff, 0)


@attempt
def new_key(f):
    call("add_key", ctypes.c_char_p(b"user"), ctypes.c_char_p(b"holdfast-escape"), ctypes.c_char_p(b"x"), 1, -1 & 0xffffffff)


@attempt
def page_faults(f):
    os.close(call("userfaultfd", 1 | os.O_CLOEXEC))


@attempt
def programs_in_kernel(f):
    reaches(call, "bpf", 0, ctypes.create_string_buffer(128), 128)


@attempt
def performance(f):
    reaches(call, "perf_event_open", 0, 0, -1 & 0xffffffff, -1 & 0xffffffff, 0)


@attempt
def type_into_terminal(f):
    reaches(ioctl, 0x5412)


@attempt
def type_into_terminal_wide(f):
    """The kernel looks at 32 bits of it (CVE-2019-10063)."""
    reaches(ioctl, 0x100005412)


@attempt
def abi_32_bits(f):
    """getpid of i386, whose numbers are others."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    assert ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))() == os.getpid()


def reaches(function, *args):
    """It came to where the kernel looks at what was asked; what it said to that does not matter."""
    try:
        function(*args)
    except OSError as why:
        if why.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise


def ioctl(request):
    libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
    ctypes.set_errno(0)
    if libc.ioctl(0, request, b"x") < 0:
        raise OSError(ctypes.get_errno(), "ioctl")


# The network

@attempt
def abstract_socket(f):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + f["abstract"])


@attempt
def net_connect(f):
    socket.create_connection(("127.0.0.1", f["port"]), 5).close()


@attempt
def net_connect_v6(f):
    with socket.socket(socket.AF_INET6) as s:
        s.connect(("::ffff:127.0.0.1", f["port"]))


@attempt
def net_fast_open(f):
    with socket.socket() as s:
        s.sendto(b"x", 0x20000000, ("127.0.0.1", f["port"]))


@attempt
def net_multipath(f):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as s:
        s.connect(("127.0.0.1", f["port"]))


@attempt
def net_listen(f):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()


@attempt
def net_datagram(f):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"x", ("127.0.0.1", f["port"]))


@attempt
def net_kernel(f):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()


@attempt
def net_gateway_socket(f):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(f["socket"])


def one(function, facts):
    """In a process of its own: some of these end it."""
    said, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            function(facts)
            os.write(tell, b"escaped")
        except OSError as why:
            os.write(tell, b"held: " + errno.errorcode.get(why.errno, "?").encode())
        except BaseException as why:
            os.write(tell, ("held: %s" % why).encode())
        os._exit(0)
    os.close(tell)
    words = os.read(said, 4096).decode()
    os.close(said)
    status = os.waitpid(pid, 0)[1]
    return words or "held: ended with %d" % status


def bomb(most):
    """How many processes there can be at once, up to a limit; each ends by itself."""
    pids = []
    hold, held = os.pipe()
    try:
        while len(pids) < most:
            pid = os.fork()
            if pid == 0:
                os.close(held)
                os.read(hold, 1)
                os._exit(0)
            pids.append(pid)
    except OSError:
        pass
    os.close(held)
    for pid in pids:
        os.waitpid(pid, 0)
    return len(pids)


if __name__ == "__main__":
    facts = json.load(open(sys.argv[1]))
    facts["minder"] = os.getppid()
    if "bomb" in facts:
        print(json.dumps({"processes": bomb(facts["bomb"])}))
    else:
        print(json.dumps({name: one(function, facts) for name, function in ATTEMPTS.items()}))
