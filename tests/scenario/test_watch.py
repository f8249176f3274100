"""`holdfast watch` in a real terminal (tmux): what runs, what is asked, and that a key answers what is seen."""
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

from lib import Skip, until

SERVER = r'''
import json, os, sys, threading, time
folder, lock = sys.argv[1], threading.Lock()
TELLS = {"copy": {"progress": 50, "total": 200, "message": "copying files"},
         "count": {"progress": 3, "total": 7, "message": "step three"},
         "hostile": {"progress": 1, "total": 4, "message": "a\u001b[2Jb\u202ec\r\nd"}}
def say(message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def work(m):
    name = m["params"]["name"]
    say({"method": "notifications/progress", "params": {"progressToken": m["params"]["_meta"]["progressToken"], **TELLS[name]}})
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.02)
    say({"id": m["id"], "result": {"content": [{"type": "text", "text": "done"}]}})
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m or "method" not in m:
        continue
    if m["method"] == "initialize":
        say({"id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}})
    elif m["method"] == "tools/list":
        say({"id": m["id"], "result": {"tools": [{"name": n, "description": "Works.", "inputSchema": {"type": "object"}} for n in [*TELLS, "broken", "apply"]]}})
    elif m["method"] == "tools/call" and m["params"]["name"] in TELLS:
        threading.Thread(target=work, args=(m,), daemon=True).start()
    else:
        say({"id": m["id"], "error": {"code": -32000, "message": "the disk is full"}})
'''


class Tmux:
    """A terminal somebody sits at: one window with a shell, what it shows, and its keyboard."""

    def __init__(self, box, columns=100, rows=30, **env):
        if not shutil.which("tmux"):
            raise Skip("there is no tmux")
        self.socket = os.path.join(box.dir, "tmux")
        self.box = box
        self.run("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "env", "PS1=shell> ", "sh",
                 env={**box.env, "TERM": "xterm-256color", **env}, cwd=box.workspace)
        self.run("set", "-g", "escape-time", "0")
        self.run("set", "-g", "window-size", "manual")
        self.see("shell>")

    def run(self, *args, env=None, cwd=None):
        return subprocess.run(["tmux", "-S", self.socket, *args], env=env or self.box.env, cwd=cwd, capture_output=True, text=True, check=True).stdout

    def screen(self, colours=False):
        return self.run("capture-pane", "-p", *(["-e"] if colours else []))

    def see(self, what, seconds=20):
        def seen():
            screen = self.screen()
            return screen if re.search(what, screen) else None
        try:
            return until(seen, "%r on the screen" % what, seconds)
        except AssertionError:
            raise AssertionError("%r is not on the screen:\n%s" % (what, self.screen()))

    def gone(self, what):
        until(lambda: not re.search(what, self.screen()), "%r is gone from the screen" % what)

    def type(self, *keys):
        self.run("send-keys", *keys)

    def command(self, text):
        self.run("send-keys", "-l", text)
        self.run("send-keys", "Enter")

    def child(self):
        """What the shell runs: its id."""
        shell = self.run("display", "-p", "#{pane_pid}").strip()

        def running():
            with open("/proc/%s/task/%s/children" % (shell, shell)) as file:
                return file.read().split()
        return int(until(running, "the shell runs something")[0])

    def resize(self, columns, rows):
        self.run("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


def at_terminal(test):
    """The test gets a function that opens a terminal; it is closed after it."""
    def run(box):
        opened = []

        def terminal(**more):
            opened.append(Tmux(box, **more))
            return opened[-1]
        try:
            test(box, terminal)
        except BaseException:
            for each in opened:
                print("--- screen\n" + each.screen())
            raise
        finally:
            for each in opened:
                each.close()
    return run


def watch(box, terminal, **more):
    t = terminal(**more)
    t.command(box.program + " watch")
    t.see(r"holdfast  \d+ call")
    return t


def slow(box):
    """A gateway with a server whose calls tell how far they are, and end when a file is there."""
    script = os.path.join(box.dir, "slow.py")
    with open(script, "w") as out:
        out.write(SERVER)
    box.config("mcpServers:\n  slow:\n    command: %s\n    args: [%s, %s]\ntool_confirmation:\n  per_tool:\n%s" % (
        sys.executable, script, box.workspace, "".join("    slow__%s: auto\n" % n for n in ("copy", "count", "hostile", "broken"))))
    gateway = box.serve()
    until(lambda: "slow__copy" in [t["name"] for t in gateway.ok("GET", "/tools")["tools"]], "its tools are known")
    return gateway


# A person who has looked at it: longer than a question must have stood there, however slow this machine is.
def look():
    time.sleep(0.6)


def answer_by(t, key):
    """Press it until the question is taken; the first may come before its time."""
    def taken():
        t.type(key)
        time.sleep(0.1)
        return "wants to" not in t.screen()
    look()
    until(taken, "the question is answered")


@at_terminal
def test_a_person_sees_the_diff_and_allows_a_write_by_key(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    box.write("conf.txt", "keep\nport 8080\nkeep too\n")
    t = watch(box, terminal)
    turn = gateway.start(session, "write_file", {"path": "conf.txt", "content": "keep\nport 9090\nkeep too\n"})
    screen = t.see(r"│ \+port 9090")
    assert "│ -port 8080" in screen and "write_file wants to write in" in screen and "a allow" in screen, screen
    coloured = t.screen(colours=True)
    assert re.search(r"\x1b\[31m(\x1b\[49m)?-port 8080", coloured) and re.search(r"\x1b\[32m(\x1b\[49m)?\+port 9090", coloured), coloured
    assert box.read("conf.txt") == "keep\nport 8080\nkeep too\n"
    answer_by(t, "a")
    gateway.turn(session, turn["turn_id"])
    assert box.read("conf.txt") == "keep\nport 9090\nkeep too\n"
    resolved = [e["payload"] for e in gateway.events(session) if e["type"] == "tool.confirmation_resolved"]
    assert [(r["decision"], r["scope"], r["by"]) for r in resolved] == [("allow", "once", "holdfast watch")], resolved
    t.see(r"ok +write_file")


@at_terminal
def test_d_denies_and_nothing_happens(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    t = watch(box, terminal)
    turn = gateway.start(session, "shell", {"command": "touch did-it; echo a long command to read"})
    t.see("│ touch did-it; echo a long command to read")
    answer_by(t, "d")
    result = gateway.turn(session, turn["turn_id"])
    assert result["content"][0]["is_error"] and result["calls"][0]["error_class"] == "user_denied", result
    assert not box.exists("did-it")


@at_terminal
def test_s_is_for_the_session_and_tab_shows_the_next(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    t = watch(box, terminal)
    first = gateway.start(session, "shell", {"command": "echo number one"})
    t.see("│ echo number one")
    second = gateway.start(session, "shell", {"command": "echo number two"})
    t.see(r"\(1/2\)")
    assert "echo number two" not in t.screen().split("echo number one")[0]
    t.type("Tab")
    t.see(r"\(2/2\)")
    assert "│ echo number two" in t.screen()
    t.type("Tab")
    t.see(r"\(1/2\)")
    answer_by(t, "s")
    for turn in (first, second):  # what was allowed covers the other one, too
        assert not gateway.turn(session, turn["turn_id"])["content"][0]["is_error"]
    assert not gateway.call(session, "shell", {"command": "echo three"}).is_error


@at_terminal
def test_a_key_answers_what_was_seen_and_never_the_question_after_it(box, terminal):
    """What was typed before a question could be seen is no answer to it, however late it is read."""
    gateway = box.serve()
    session = gateway.session()
    t = terminal()
    t.command("set +m; %s watch" % box.program)  # no job control: what is stopped goes on where it was
    t.see("holdfast  0 calls")
    pid = t.child()
    for i in range(3):
        os.kill(pid, signal.SIGSTOP)
        unseen = gateway.start(session, "shell", {"command": "touch did-%d" % i})
        question = gateway.question(session)
        t.type("a", "a", "a")
        os.kill(pid, signal.SIGCONT)
        t.see("│ touch did-%d" % i)
        os.kill(pid, signal.SIGSTOP)  # it is settled elsewhere, and another one comes while we do not look
        assert gateway.answer(question, "deny", by="a colleague")[0] == 200
        gateway.turn(session, unseen["turn_id"])
        other = gateway.start(session, "shell", {"command": "touch other-%d" % i})
        question = gateway.question(session)
        t.type("a", "a", "a")
        os.kill(pid, signal.SIGCONT)
        t.see("│ touch other-%d" % i)
        assert gateway.answer(question, "deny", by="a colleague")[0] == 200
        gateway.turn(session, other["turn_id"])
        t.gone("wants to")
    assert not [name for name in os.listdir(box.workspace) if name.startswith(("did-", "other-"))]
    resolved = [e["payload"]["by"] for e in gateway.events(session) if e["type"] == "tool.confirmation_resolved"]
    assert resolved == ["a colleague"] * 6, resolved


@at_terminal
def test_6_a_patch_hides_no_other_argument(box, terminal):
    gateway = slow(box)
    t = watch(box, terminal)
    gateway.start(gateway.session(), "slow__apply", {"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n", "root": "/etc"})
    screen = t.see(r"│ \+two")
    assert "the whole input" in screen and '"root":"/etc"' in screen.replace(" ", ""), screen


@at_terminal
def test_a_long_diff_is_scrolled(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    t = watch(box, terminal, rows=20)
    gateway.start(session, "write_file", {"path": "long.txt", "content": "".join("line number %d\n" % i for i in range(100))})
    t.see(r"\+line number 3\b")
    assert not re.search(r"line number 50\b", t.screen())
    t.type("j", "j", "j", "j")
    t.gone(r"@@")
    t.type("G")
    t.see(r"\+line number 99\b")
    t.type("g")
    t.see("@@")
    t.type("NPage")
    t.gone("@@")
    t.type("k", "PPage", "PPage")
    t.see("@@")


@at_terminal
def test_what_is_hostile_is_shown_as_what_it_is(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    t = watch(box, terminal)
    command = "echo \x1b[2J\x1b]0;gone\x07 \u202eevil\u2066 \x9b31m \r\n a allow  all is well\tx"
    gateway.start(session, "shell", {"command": command})
    screen = t.see(r"│ echo \\e\[2J")
    assert "\\e]0;gone\\x07 \\u{202e}evil\\u{2066} \\u{9b}31m \\r" in screen, screen
    # A line of the command stands behind the margin, where nothing of ours does.
    assert re.search(r"^│  a allow  all is well +x", screen, re.M), screen
    assert screen.startswith(" holdfast  0 calls  1 question"), screen
    assert t.run("display", "-p", "#{pane_title}").strip() != "gone"


@at_terminal
def test_running_calls_have_bars_and_can_be_cancelled(box, terminal):
    gateway = slow(box)
    session = gateway.session(client="my agent")
    t = watch(box, terminal)
    copy = gateway.start(session, "slow__copy", {})
    screen = t.see(r"██░░░░░░░░  25%")
    assert re.search(r"25% +slow__copy +\d+s +copying files  \[my agent\]", screen), screen
    count = gateway.start(session, "slow__count", {})
    t.see(r"████░░░░░░ 3/7 +slow__count +\d+s +step three")
    rows = gateway.ok("GET", "/progress")["progress"]
    assert [(r["tool_name"], r["kind"], r["current"], r["total"], r["percent"], r["label"], r["cancellable"]) for r in rows] == [
        ("slow__copy", "determinate", 50, 200, 0.25, "copying files", True), ("slow__count", "steps", 3, 7, 3 / 7, "step three", True)], rows
    live = gateway.ok("GET", "/calls")["calls"]
    assert {c["tool_name"]: c["progress"]["kind"] for c in live} == {"slow__copy": "determinate", "slow__count": "steps"}
    t.see(r"server slow +started +5 tools")
    box.write("count", "")
    assert not gateway.turn(session, count["turn_id"])["content"][0]["is_error"]
    t.gone("step three")
    t.type("x")
    t.see("x again cancels")
    t.type("x")
    assert gateway.turn(session, copy["turn_id"])["calls"][0]["error_class"] == "cancelled"
    t.gone("copying files")
    assert gateway.ok("GET", "/progress")["progress"] == []


@at_terminal
def test_a_hostile_label_does_no_harm(box, terminal):
    gateway = slow(box)
    session = gateway.session()
    t = watch(box, terminal)
    gateway.start(session, "slow__hostile", {})
    t.see(r"a\\e\[2Jb\\u\{202e\}c\\r\\nd")


@at_terminal
def test_a_call_that_says_nothing_is_shown_when_it_takes_long(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    stream = gateway.stream("/events?event_types=progress.started,progress.ended")
    t = watch(box, terminal)
    turn = gateway.start(session, "shell", {"command": "until [ -e release ]; do sleep 0.05; done"})
    t.see("wants to execute")
    answer_by(t, "a")
    started = stream.next_of("progress.started")
    assert started["payload"]["kind"] == "indeterminate" and started["payload"]["percent"] is None, started
    t.see(r"[⠀-⣿] running +shell +\d+s")
    box.write("release", "")
    assert stream.next_of("progress.ended")["payload"]["call_id"] == started["payload"]["call_id"]
    gateway.turn(session, turn["turn_id"])


@at_terminal
def test_failures_and_questions_are_told_as_toasts(box, terminal):
    gateway = slow(box)
    session = gateway.session()
    t = watch(box, terminal)
    gateway.start(session, "shell", {"command": "true"})
    t.see("! shell needs an answer")
    for n in range(3):
        assert gateway.call(session, "slow__broken", {"n": n}).is_error
    t.see("! slow__broken failed.*the disk is full")
    toasts = {x["title"]: x for x in gateway.ok("GET", "/toasts")["toasts"]}
    failed = toasts["slow__broken failed"]
    assert failed["count"] == 3 and failed["level"] == "error" and failed["duration_ms"] == 8000, toasts
    assert failed["action"]["command"].startswith("holdfast log call_"), toasts
    assert toasts["shell needs an answer"]["duration_ms"] is None and toasts["shell needs an answer"]["level"] == "warning"
    gateway.call(session, "read_file", {})  # the agent's own mistake: nobody needs to hear of it
    assert gateway.call(session, "no_such_tool", {}).is_error
    assert set(toasts) == {x["title"] for x in gateway.ok("GET", "/toasts")["toasts"]}
    gateway.refused(404, "toast_not_found", "POST", "/toasts/nothing/dismiss", {})
    gateway.ok("POST", "/toasts/%s/dismiss" % failed["id"], {})
    t.gone("! slow__broken failed")
    answer_by(t, "d")
    t.gone("! shell needs an answer")


@at_terminal
def test_5_the_newest_calls_are_shown_and_servers_that_are_not_are_counted(box, terminal):
    box.config(json.dumps({"mcpServers": {"s%02d" % n: {"command": "true", "args": ["${NOT_SET}"]} for n in range(12)}}))
    g = box.serve()
    s = g.session()
    for n in range(40):
        g.call(s, "list_dir", {"path": "dir-%02d" % n})
    t = terminal()
    t.command("%s watch" % box.program)
    screen = t.see("dir-39")
    assert "dir-00" not in screen, screen
    more = int(re.search(r"and (\d+) more \(holdfast servers\)", screen).group(1))
    assert more + screen.count("server s") == 12, screen
    g.call(s, "list_dir", {"path": "dir-40"})
    t.see("dir-40")


@at_terminal
def test_small_and_changing_windows(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    t = watch(box, terminal, columns=40, rows=10)
    gateway.start(session, "shell", {"command": "echo " + "word " * 30 + "end"})
    screen = t.see("│ echo word word")
    assert all(len(line) <= 40 for line in screen.splitlines())
    t.type("G")
    t.see("rule")
    t.resize(120, 40)
    screen = t.see(r"q quit")
    assert "│ echo " + "word " * 20 in screen and re.search(r"word end$", screen, re.M), screen
    t.resize(40, 4)  # nothing of the question can be shown: nothing can be answered
    t.see("too small for the question")
    t.type("a")
    look()
    t.type("a")
    look()
    assert gateway.ok("GET", "/confirmations")["confirmations"]
    t.resize(80, 24)
    t.see("│ echo word")
    t.type("?")
    t.see("any key closes this")
    t.type("a")  # only closes it
    t.see("│ echo word")
    assert gateway.ok("GET", "/confirmations")["confirmations"]


@at_terminal
def test_the_gateway_may_go_and_come_back(box, terminal):
    gateway = box.serve()
    t = watch(box, terminal)
    gateway.stop()
    t.see("gateway stopped; waiting for it")
    box.gateways.remove(gateway)
    gateway = box.serve()
    t.see("holdfast  0 calls")
    session = gateway.session()
    gateway.start(session, "shell", {"command": "touch did-it"})
    t.see("│ touch did-it")
    answer_by(t, "a")
    until(lambda: box.exists("did-it"), "the command has run")


@at_terminal
def test_the_terminal_is_itself_again_on_every_way_out(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    gateway.start(session, "shell", {"command": "touch did-it"})
    t = terminal()
    modes = "stty -a | md5sum | tr -d ' -' > modes-%d"
    t.command(modes % 0)

    def signalled(number):
        return lambda: os.kill(t.child(), number)
    ways = [(lambda: t.type("q"), 0), (lambda: t.type("C-c"), 130), (signalled(signal.SIGTERM), 143), (signalled(signal.SIGHUP), 129)]
    for n, (leave, code) in enumerate(ways, 1):
        t.command("clear; %s watch; echo left with $?." % box.program)
        t.see("│ touch did-it")
        assert t.run("display", "-p", "#{alternate_on} #{cursor_flag}").strip() == "1 0"
        leave()
        t.see("left with %d[.]" % code)
        assert t.run("display", "-p", "#{alternate_on} #{cursor_flag}").strip() == "0 1"
        t.command(modes % n)
        until(lambda: box.exists("modes-%d" % n) and box.read("modes-%d" % n), "the modes are known")
        assert box.read("modes-%d" % n) == box.read("modes-0")
    assert len(gateway.ok("GET", "/confirmations")["confirmations"]) == 1, "leaving is no answer"


def test_6_it_ends_when_its_terminal_is_gone(box):
    """Also where no signal tells it so: the terminal is nobody's."""
    box.serve()
    here, there = os.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen([box.program, "watch"], stdin=there, stdout=there, stderr=subprocess.DEVNULL, env={**box.env, "TERM": "xterm"})
    os.close(there)
    shown = b""
    try:
        while b"holdfast" not in shown:
            shown += os.read(here, 4096)
        os.close(here)
        assert process.wait(20) == 129
    finally:
        process.kill()
        process.wait()


@at_terminal
def test_a_gateway_that_hangs_does_not_keep_the_terminal(box, terminal):
    gateway = box.serve()
    t = terminal()
    t.command("%s watch; echo left with $?." % box.program)
    t.see("holdfast  0 calls")
    session = gateway.session()
    gateway.process.send_signal(signal.SIGSTOP)
    try:
        t.type("t", "x")
        t.type("C-c")
        t.see("left with 130[.]")
        t.command("%s watch; echo gone with $?." % box.program)
        time.sleep(0.5)  # it waits for an answer that does not come
        t.type("C-c")
        t.see("gone with 130[.]")
        assert t.run("display", "-p", "#{alternate_on} #{cursor_flag}").strip() == "0 1"
    finally:
        gateway.process.send_signal(signal.SIGCONT)
    assert session


@at_terminal
def test_without_colours_where_they_are_not_wanted(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    t = watch(box, terminal, NO_COLOR="1")
    gateway.start(session, "write_file", {"path": "a.txt", "content": "new\n"})
    t.see(r"│ \+new")
    assert not re.search(r"\x1b\[[0-9;]*3[1-6]m", t.screen(colours=True))


def test_without_a_terminal_it_says_what_to_use(box):
    box.serve()
    done = box.run("watch")
    assert done.returncode == 2 and "holdfast events --follow" in done.stderr and done.stdout == "", (done.returncode, done.stderr)


@at_terminal
def test_without_a_gateway_it_says_so(box, terminal):
    t = terminal()
    t.command("%s watch; echo left with $?." % box.program)
    screen = t.see("left with 3[.]")
    assert "no gateway is running" in screen, screen
