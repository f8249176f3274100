"""Confined children: what they cannot do, what they still can, and how they are told about it (issue 6)."""
import ctypes
import itertools
import json
import os
import platform
import shutil
import socket
import subprocess
import sys

from lib import Skip, until

HERE = os.path.dirname(os.path.abspath(__file__))
NOBODY = 65534

# What standard lets pass: the network is not its business. Unix sockets by path are nobody's but strict's.
NETWORK = {"net_connect", "net_connect_v6", "net_fast_open", "net_multipath", "net_listen", "net_datagram", "net_kernel", "net_gateway_socket"}
TCP = {"net_connect", "net_connect_v6", "net_fast_open", "net_multipath"}
# What an open child may fail in, too: without root, and by how the kernel is made or set.
FOR_ROOT = {"handle", "shadow", "device", "kernel_memory", "enter_namespace", "mount_here", "mount_anew", "change_root", "programs_in_kernel",
            "proc_memory_of_gateway", "proc_root_of_gateway", "proc_environment_of_minder", "type_into_terminal", "type_into_terminal_wide"}
BY_KERNEL = {"new_user_namespace", "clone_namespace", "clone3_namespace", "mount", "ring", "keys", "new_key", "page_faults", "performance",
             "programs_in_kernel", "net_fast_open", "net_multipath", "abi_32_bits", "kernel_memory", "shadow", "type_into_terminal",
             "type_into_terminal_wide", "net_connect_v6", "terminal", "take_descriptor"}

VICTIM = """
import ctypes, sys, time
room = ctypes.create_string_buffer(b"secret")
print(ctypes.addressof(room), flush=True)
sys.stdin.read()
"""


def landlock_abi():
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


def need_all():
    if platform.machine() != "x86_64":
        raise Skip("the numbers of system calls are those of x86_64")
    if landlock_abi() < 6:
        raise Skip("this kernel has no Landlock of ABI 6")


class Stage:
    """A victim, a listener and files, for commands that try to reach them."""

    def __init__(self, box, profile, more="", user=None):
        self.box, self.user = box, user
        self.become(user)
        self.outside = box.make_dir("outside")
        for name in self.attempts():
            with open(os.path.join(self.outside, name), "w") as out:
                out.write("secret")
        box.config("tool_confirmation: {default: {EXECUTE: auto}}\n"
                   "confinement: {shell: %s%s}\n" % (profile, more))
        state = box.make_dir("state/holdfast")
        open(os.path.join(state, "renamed"), "w").close()
        shutil.copy(os.path.join(HERE, "escapes.py"), box.workspace)
        if user:
            subprocess.run(["chown", "-R", "%d:%d" % (user, user), box.dir], check=True)
        self.gateway = box.serve("--workspace", box.workspace)
        self.session = self.gateway.session()
        self.open_doors()

    def attempts(self):
        with open(os.path.join(HERE, "escapes.py")) as source:
            lines = source.read().split("\n")
        return [line[4:line.index("(")] for before, line in zip(lines, lines[1:]) if before == "@attempt"]

    def become(self, user):
        """The box's program, as somebody else."""
        if not user:
            return
        wrapper = os.path.join(self.box.dir, "as-nobody")
        with open(wrapper, "w") as out:
            out.write("#!/bin/sh\nexec setpriv --reuid=%d --regid=%d --clear-groups %s \"$@\"\n" % (user, user, self.box.program))
        os.chmod(wrapper, 0o755)
        self.box.program = wrapper

    def open_doors(self):
        argv = [sys.executable, "-c", VICTIM]
        if self.user:
            argv = ["setpriv", "--reuid=%d" % self.user, "--regid=%d" % self.user, "--clear-groups", "/usr/bin/python3", "-c", VICTIM]
        self.victim = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.box.env, cwd="/")
        self.address = int(self.victim.stdout.readline())
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.name = "holdfast-test-%d" % os.getpid()
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.name)
        self.abstract.listen()

    def close(self):
        self.victim.stdin.close()
        self.victim.wait()
        self.victim.stdout.close()
        self.listener.close()
        self.abstract.close()
        self.gateway.stop()

    def run(self, **more):
        facts = {"outside": self.outside, "state": os.path.join(self.box.env["XDG_STATE_HOME"], "holdfast"),
                 "config": os.path.join(self.box.env["XDG_CONFIG_HOME"], "holdfast", "config.yaml"),
                 "socket": os.path.join(self.box.env["XDG_RUNTIME_DIR"], "holdfast.sock"), "victim": self.victim.pid,
                 "gateway": self.gateway.process.pid, "address": self.address, "abstract": self.name,
                 "port": self.listener.getsockname()[1], **more}
        self.box.write("facts.json", json.dumps(facts))
        os.chmod(os.path.join(self.box.workspace, "facts.json"), 0o644)
        python = "/usr/bin/python3" if self.user else sys.executable
        got = self.gateway.call(self.session, "shell", {"command": "exec %s escapes.py facts.json" % python})
        assert not got.is_error, got.text
        return json.loads(got.text.strip().split("\n")[-1])


def tried(box, profile, more="", user=None):
    stage = Stage(box, profile, more, user)
    try:
        return stage.run()
    finally:
        stage.close()


def escaped(outcome):
    return {name for name, words in outcome.items() if words == "escaped"}


def check_open(outcome, user):
    """Every wall must be the confinement's: without it the attempts succeed."""
    root = os.geteuid() == 0 and not user
    excused = BY_KERNEL | (set() if root else FOR_ROOT)
    failed = set(outcome) - escaped(outcome)
    assert failed <= excused, {name: outcome[name] for name in failed - excused}
    assert len(escaped(outcome)) > len(outcome) * 0.6, outcome


def test_an_open_command_reaches_everything(box):
    need_all()
    check_open(tried(box, "open"), None)


def test_nothing_escapes_standard(box):
    need_all()
    outcome = tried(box, "standard")
    assert escaped(outcome) <= NETWORK, outcome
    assert "net_connect" in escaped(outcome), outcome  # it is no part of it


def test_nothing_escapes_strict(box):
    need_all()
    outcome = tried(box, "strict")
    assert escaped(outcome) == set(), outcome


def test_only_the_ports_that_were_named_are_reached(box):
    need_all()
    stage = Stage(box, "standard", ", tcp: [9]")
    try:
        outcome = stage.run()
        assert escaped(outcome) & TCP == set(), outcome
        assert {"net_datagram", "net_listen"} <= escaped(outcome), outcome  # so the documents say
    finally:
        stage.close()


def test_strict_reaches_a_port_that_was_named_by_tcp_alone(box):
    need_all()
    with socket.create_server(("127.0.0.1", 0)) as named:
        stage = Stage(box, "strict", ", tcp: [%d]" % named.getsockname()[1])
        try:
            assert escaped(stage.run()) == set()
            reached = stage.run(port=named.getsockname()[1])
            assert escaped(reached) <= {"net_connect", "net_connect_v6"}, reached
            assert "net_connect" in escaped(reached), reached
        finally:
            stage.close()


def as_nobody(box):
    need_all()
    if os.geteuid() != 0:
        raise Skip("this is no root, so the other tests were the same")
    if not shutil.which("setpriv") or not os.path.exists("/usr/bin/python3"):
        raise Skip("setpriv or the system's python3 is missing")
    readable = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", "test", "-x", box.program]
    if subprocess.run(readable).returncode != 0:
        raise Skip("nobody may not run %s" % box.program)


def test_a_common_user_escapes_when_open(box):
    as_nobody(box)
    check_open(tried(box, "open", user=NOBODY), NOBODY)


def test_a_common_user_does_not_escape_standard(box):
    as_nobody(box)
    outcome = tried(box, "standard", user=NOBODY)
    assert escaped(outcome) <= NETWORK, outcome


def test_a_common_user_does_not_escape_strict(box):
    as_nobody(box)
    outcome = tried(box, "strict", user=NOBODY)
    assert escaped(outcome) == set(), outcome


def test_a_fork_bomb_stays_small(box):
    """Each process waits for the end of a pipe and ends by itself; the limit counts what the machine runs already."""
    as_nobody(box)
    reached = {}
    program = box.program
    for profile in ("open", "standard", "strict"):
        box.program = program
        stage = Stage(box, profile, user=NOBODY)
        try:
            reached[profile] = stage.run(bomb=1500)["processes"]
            assert stage.gateway.alive()
        finally:
            stage.close()
    assert reached["open"] == 1500 and reached["standard"] < 1400 and reached["strict"] < reached["standard"], reached


# What still works, and how it is told

CONFIG = "tool_confirmation: {default: {EXECUTE: auto, NETWORK: auto, READ: auto}}\n"


def test_ordinary_work_goes_on_in_standard(box):
    box.config(CONFIG)
    gateway = box.serve()
    session = gateway.session()

    def sh(command):
        got = gateway.call(session, "shell", {"command": command})
        assert not got.is_error and "exit_code=0" in got.text, got.text
        return got.text

    sh("mkdir -p a/b && echo x > a/b/c && mv a/b/c a/c && ln -s c a/l && cat a/l && rm -r a")
    sh("echo kept > $TMPDIR/x")
    assert "kept" in sh("cat $TMPDIR/x")  # the next command finds it
    sh("%s -c 'import json, subprocess, tempfile, multiprocessing; subprocess.run([\"true\"]); tempfile.TemporaryFile(); "
       "multiprocessing.Lock()'" % sys.executable)
    sh("(echo one; echo two) | sort > out && echo x > /dev/null && echo y > /dev/stderr && sh -c 'sleep 0 & wait'")
    if shutil.which("git"):
        with open(os.path.join(box.env["HOME"], ".gitconfig"), "w") as out:
            out.write("[user]\n\tname = a\n\temail = a@example.com\n")
        sh("git init -q repo && cd repo && touch f && git add f && git commit -qm one && git log --oneline")
    if shutil.which("gcc"):
        sh("echo 'int main(void) { return 0; }' > m.c && gcc m.c -o m && ./m")
    if shutil.which("node"):
        sh("node -e 'console.log(1)'")


def test_the_journal_says_what_was_put_on(box):
    box.config(CONFIG + "tools: {shell: {confinement: open}}\n")
    gateway = box.serve()
    session = gateway.session()
    gateway.call(session, "shell", {"command": "true"})
    row = gateway.ok("GET", "/sessions/%s/calls" % session)["calls"][0]
    assert row["confinement"] == "open: group,death,limits,descriptors,privileges,environment", row
    gateway.call(session, "list_dir", {"path": "."})
    row = gateway.ok("GET", "/sessions/%s/calls" % session)["calls"][1]
    assert row["confinement"] is None, row  # it started nothing


def test_a_refusal_says_that_it_was_the_confinement(box):
    need_all()
    outside = box.make_dir("outside")
    box.config(CONFIG)
    gateway = box.serve()
    session = gateway.session()
    got = gateway.call(session, "shell", {"command": "echo x > %s/x" % outside})
    assert "this ran confined (standard)" in got.text and box.workspace in got.text and "`confinement`" in got.text, got.text
    assert not os.path.exists(outside + "/x")
    row = gateway.ok("GET", "/sessions/%s/calls" % session)["calls"][0]
    assert row["confinement"].startswith("standard: group,death,limits,"), row
    shown = box.run("log", row["call_id"]).stdout
    assert "standard: group,death" in shown, shown
    plain = gateway.call(session, "shell", {"command": "echo Permission denied"})
    assert "confined" not in plain.text, plain.text
    box.config(CONFIG + "confinement: {write: [%s]}\n" % outside)
    gateway.ok("POST", "/reload")
    again = itertools.count()  # the same thing again and again would be asked about
    until(lambda: "exit_code=0" in gateway.call(session, "shell", {"command": "echo %d > %s/x" % (next(again), outside)}).text,
          "what was allowed counts")


def test_a_workspace_that_holds_our_state(box):
    """As the home directory does: it is granted around what is ours."""
    need_all()
    home = box.env["HOME"]
    box.env["XDG_STATE_HOME"] = os.path.join(home, ".local", "state")
    box.env["XDG_CONFIG_HOME"] = os.path.join(home, ".config")
    os.makedirs(os.path.join(home, "project"))
    os.makedirs(os.path.join(home, ".config", "other"))
    box.config(CONFIG)
    gateway = box.serve()
    session = gateway.session(workspace=home)
    fine = gateway.call(session, "shell", {"command": "ls && echo x > project/x && echo y > .config/other/y && cat project/x"})
    assert "exit_code=0" in fine.text, fine.text
    for command in ("cat .local/state/holdfast/token", "cat .local/state/holdfast/holdfast.db", "cat .config/holdfast/config.yaml",
                    "echo x >> .config/holdfast/config.yaml", "mv .config project/", "mv .local/state/holdfast project/",
                    "rm -r .local/state/holdfast", "mkdir .config/holdfast2", "ln -s ../.local/state/holdfast project/way && cat project/way/token"):
        got = gateway.call(session, "shell", {"command": command})
        assert "exit_code=0" not in got.text, got.text


def test_a_server_is_confined_as_it_is_said(box):
    need_all()
    with open(os.path.join(box.dir, "tools.json"), "w") as out:
        json.dump([{"name": "t", "description": "A tool.", "inputSchema": {"type": "object"}}], out)
    server = {"command": sys.executable, "args": [os.path.join(HERE, "small_server.py"), os.path.join(box.dir, "tools.json")]}
    box.config(CONFIG + "mcpServers: %s\n" % json.dumps({
        "free": server, "blind": {**server, "confinement": "standard"},
        "held": {**server, "confinement": {"profile": "strict", "read": [HERE, os.path.join(box.dir, "tools.json")]}}}))
    gateway = box.serve()

    def seen(name, state):
        return until(lambda: [s for s in gateway.ok("GET", "/servers")["servers"] if s["name"] == name and s["state"] in state], name)[0]

    assert seen("held", ["started"])["confinement"].startswith("strict: ")
    assert seen("free", ["started"])["confinement"].startswith("open: ")
    assert "problem" in seen("blind", ["failed", "quarantined"])  # its own file cannot be read
    session = gateway.session()
    assert "t {}" in gateway.call(session, "held__t", {}).text
    row = gateway.ok("GET", "/sessions/%s/calls" % session)["calls"][0]
    assert row["confinement"].startswith("strict: ") and "tcp" in row["confinement"], row


WITHOUT = """
import ctypes, os, struct, sys
# A filter that says ENOSYS to landlock_create_ruleset, as an older kernel would.
lines = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("=HBBI", *line) for line in lines)
room = ctypes.create_string_buffer(code)
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
program = struct.pack("@HP", len(lines), ctypes.addressof(room))
assert libc.prctl(22, 2, ctypes.c_char_p(program)) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_what_the_kernel_lacks_is_said(box):
    need_all()
    wrapper = os.path.join(box.dir, "older")
    with open(wrapper + ".py", "w") as out:
        out.write(WITHOUT)
    with open(wrapper, "w") as out:
        out.write("#!/bin/sh\nexec %s %s.py %s \"$@\"\n" % (sys.executable, wrapper, box.program))
    os.chmod(wrapper, 0o755)
    box.program = wrapper
    box.config(CONFIG + "tools: {shell: {confinement: strict}}\n")
    gateway = box.serve()
    session = gateway.session()
    got = gateway.call(session, "shell", {"command": "true"})
    assert got.is_error and "files (Landlock ABI 3, Linux 6.2)" in got.text and "strict" in got.text, got.text
    assert "cannot confine" in gateway.log() and "files,signals" in gateway.log(), gateway.log()
    box.config(CONFIG)
    gateway.ok("POST", "/reload")
    again = itertools.count()
    until(lambda: not gateway.call(session, "shell", {"command": "echo %d" % next(again)}).is_error, "standard does without")
    row = gateway.ok("GET", "/sessions/%s/calls" % session)["calls"][-1]
    assert row["confinement"].endswith("privileges,syscalls,environment"), row
    doctor = box.run("doctor", limit=120).stdout
    assert "this kernel lacks files (Landlock ABI 3, Linux 6.2)" in doctor, doctor


def test_the_configuration_is_checked(box):
    for text, words in (("confinement: {shell: loose}", "confinement.shell"), ("confinement: {write: [rel]}", "must begin with"),
                        ("confinement: {tcp: [70000]}", "confinement.tcp"), ("confinement: {shel: open}", "shel"),
                        ("mcpServers: {a: {command: x, confinement: loose}}", "confinement"),
                        ("mcpServers: {a: {command: x, confinement: {profil: open}}}", "profil")):
        box.config(text + "\n")
        seen = box.run("config", "check")
        assert seen.returncode != 0 and words in seen.stderr, (text, seen.stdout, seen.stderr)
    box.config("confinement: {shell: strict, servers: standard, read: [~/x], write: [/y], tcp: [443]}\n"
               "mcpServers: {a: {command: 'true', confinement: {profile: open, tcp: []}}}\n")
    assert box.run("config", "check").returncode == 0


def test_a_workspace_that_was_replaced_opens_no_other_directory(box):
    """A command of the workspace around it may put anything in its place."""
    if landlock_abi() < 1:
        raise Skip("this kernel has no Landlock")
    box.config("tool_confirmation: {default: {EXECUTE: auto}}\n")
    outside = box.make_dir("outside")
    open(os.path.join(outside, "secret"), "w").close()
    inner = os.path.join(box.workspace, "inner")
    os.mkdir(inner)
    g = box.serve()
    around, inside = g.session(), g.session(workspace=inner)
    assert not g.call(inside, "shell", {"command": "touch mine"}).is_error
    swapped = g.call(around, "shell", {"command": "mv inner old && ln -s %s inner" % outside})
    assert not swapped.is_error, swapped.text
    assert g.call(inside, "shell", {"command": "cat %s/secret" % outside}).is_error
    assert g.call(inside, "shell", {"command": "touch %s/new" % outside}).is_error
    assert os.listdir(outside) == ["secret"]
    assert not g.call(inside, "shell", {"command": "touch mine.too"}).is_error
