"""Servers that go wrong in every way that was seen in the field (issue 5): every call ends in time with an error that says what
it was, is made once, and nobody else notices."""
import concurrent.futures
import contextlib
import json
import os
import subprocess
import sys
import threading

from fake_upstream import HTTP, STARTS, STDIO
from lib import processes_with, until

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_upstream.py")
HASTE, PATIENCE = {"timeout": 1, "max_timeout": 2}, {"timeout": 30, "max_timeout": 30}
LIMIT_SECONDS = 40  # how long a hang takes to be called one
MEMORY_KIB = 900 * 1024  # of a gateway with sanitizers, after a gibibyte was thrown at it

TIMEOUT, BROKEN, GOOD, ANY = {"timeout"}, {"execution_error"}, {None}, {"timeout", "execution_error", None}
EXPECTED_STDIO = {
    "fine": GOOD, "hang": TIMEOUT, "late": TIMEOUT, "half": BROKEN, "half_forever": TIMEOUT, "garbage": TIMEOUT, "garbage_first": GOOD, "wrong_id": TIMEOUT,
    "wrong_type_of_id": TIMEOUT | GOOD, "twice": GOOD, "drip": TIMEOUT, "huge": BROKEN | TIMEOUT, "large": BROKEN, "flood": TIMEOUT, "notes": GOOD, "storm": GOOD,
    "crash_before": BROKEN, "crash_during": BROKEN, "crash_after": GOOD, "close_stdin": TIMEOUT | BROKEN, "close_stdout": BROKEN | TIMEOUT,
    "noisy": GOOD, "deaf": TIMEOUT, "brood": TIMEOUT, "rpc_error": BROKEN, "header_error": BROKEN, "no_content": ANY, "text_result": BROKEN, "odd_content": ANY, "both": BROKEN | TIMEOUT,
}
EXPECTED_HTTP = {
    "hang": TIMEOUT, "late": TIMEOUT, "half": BROKEN, "garbage": BROKEN, "html": BROKEN, "wrong_id": BROKEN | TIMEOUT, "twice": GOOD, "drip": TIMEOUT,
    "huge": BROKEN | TIMEOUT, "bomb": BROKEN | TIMEOUT, "flood": TIMEOUT, "comments": TIMEOUT, "endless_line": BROKEN | TIMEOUT, "interim": GOOD | BROKEN,
    "headers": BROKEN | TIMEOUT, "reset": BROKEN, "ended": BROKEN | TIMEOUT, "status_500": BROKEN, "status_401": BROKEN, "redirect": BROKEN, "accepted": BROKEN | TIMEOUT,
    "bad_chunk": BROKEN,
}
# They say something all the time, and nothing tells that from one that thinks long.
LOST = {"drip", "flood"}


def configured(box, servers):
    box.config(json.dumps({
        "mcpServers": {name: {"startup_timeout": 20, **PATIENCE, **server} for name, server in servers.items()},
        "tool_confirmation": {"default": {"NETWORK": "auto"}}}))
    return box.serve("--no-auth")


def stdio(box, fault):
    return {"command": sys.executable, "args": [FAKE, "stdio", fault, box.dir], **given(EXPECTED_STDIO.get(fault))}


def given(expected):
    """A short deadline where it is what ends the call; a busy machine must not end the others."""
    return HASTE if expected and "timeout" in expected else PATIENCE


@contextlib.contextmanager
def http_server(box):
    process = subprocess.Popen([sys.executable, FAKE, "http", box.dir], stdout=subprocess.PIPE)
    try:
        yield "http://127.0.0.1:%d" % int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def states(gateway):
    return {s["name"]: s["state"] for s in gateway.ok("GET", "/servers")["servers"]}


def wait_started(gateway, names):
    def there():
        now = states(gateway)
        return all(now.get(name) == "started" for name in names)
    try:
        until(there, "all servers are started", 40)
    except AssertionError:
        raise AssertionError([(n, s) for n, s in states(gateway).items() if n in names and s != "started"])


def calls_noted(box, fault):
    path = os.path.join(box.dir, fault + ".calls")
    return open(path).read().count("\n") if os.path.exists(path) else 0


class Bystander:
    """Somebody who works with a good server meanwhile."""

    def __init__(self, gateway):
        self.gateway, self.over, self.failed, self.done = gateway, False, [], 0
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        session = self.gateway.session()
        while not self.over:
            result = self.gateway.call(session, "good__fine", {"n": self.done % 2})
            self.done += 1
            if result.is_error or result.text != "fine":
                self.failed.append(result.text)

    def end(self):
        self.over = True
        self.thread.join()
        assert self.done > 3 and not self.failed, (self.done, self.failed[:3])


def outcomes(gateway, expected, tool="work"):
    """{fault: Result} of a call to each at once, none of which may hang."""
    def one(fault):
        return gateway.call(gateway.session(), "%s__%s" % (fault, tool), {})
    with concurrent.futures.ThreadPoolExecutor(len(expected)) as pool:
        jobs = {fault: pool.submit(one, fault) for fault in expected}
        done, hanging = concurrent.futures.wait(jobs.values(), LIMIT_SECONDS)
        assert not hanging, "no end: %s" % [fault for fault, job in jobs.items() if job in hanging]
        return {fault: job.result() for fault, job in jobs.items()}


def check(box, gateway, expected):
    wrong = []
    for fault, result in outcomes(gateway, expected).items():
        if result.error_class not in expected[fault] or not result.text and result.is_error:
            wrong.append((fault, result.error_class, result.text[:200]))
        if result.error_class is None and "too late" in result.text + "" or "once more" in result.text:
            wrong.append((fault, "the wrong answer", result.text[:200]))
        if calls_noted(box, fault) != 1:
            wrong.append((fault, "called %d times" % calls_noted(box, fault)))
    assert not wrong, "\n".join(map(str, wrong))


def check_recovery(gateway, faults):
    """Each does what it can again, and nobody's late answer comes to somebody else."""
    waiting = set(faults)

    def again():
        for fault in list(waiting):
            result = gateway.call(gateway.session(), fault + "__fine", {})
            assert result.is_error or result.text == "fine", (fault, result.text)
            if not result.is_error:
                waiting.discard(fault)
        return not waiting
    try:
        until(again, "all are well again", 80)
    except AssertionError as why:
        raise AssertionError("%s; not: %s, %s" % (why, sorted(waiting), {f: states(gateway)[f] for f in waiting}))


def check_memory(gateway):
    with open("/proc/%d/status" % gateway.process.pid) as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    assert peak < MEMORY_KIB, "%d MiB at most" % (peak >> 10)


def test_every_fault_of_a_child_ends_its_call_and_no_other(box):
    assert set(EXPECTED_STDIO) == set(STDIO)
    gateway = configured(box, {**{fault: stdio(box, fault) for fault in STDIO}, "good": stdio(box, "fine")})
    wait_started(gateway, [*STDIO, "good"])
    bystander = Bystander(gateway)
    try:
        check(box, gateway, EXPECTED_STDIO)
        check_recovery(gateway, set(STDIO) - LOST)
    finally:
        bystander.end()
    check_memory(gateway)
    gateway.stop()
    until(lambda: not processes_with(box.dir), "nothing of them is left")


def test_every_fault_over_http_ends_its_call_and_no_other(box):
    assert set(EXPECTED_HTTP) == set(HTTP)
    with http_server(box) as url:
        gateway = configured(box, {**{fault: {"url": "%s/%s" % (url, fault), **given(EXPECTED_HTTP[fault])} for fault in HTTP}, "good": {"url": url + "/none"}})
        wait_started(gateway, [*HTTP, "good"])
        bystander = Bystander(gateway)
        try:
            check(box, gateway, EXPECTED_HTTP)
            check_recovery(gateway, HTTP)
        finally:
            bystander.end()
        check_memory(gateway)
        gateway.stop()


def test_servers_that_cannot_start_keep_nobody_waiting(box):
    missing = {"no_program": {"command": os.path.join(box.dir, "no-such-program")}, "no_port": {"url": "http://127.0.0.1:1/mcp"}, "no_host": {"url": "http://nowhere.invalid/mcp"}}
    hasty = {"startup_timeout": 3}
    gateway = configured(box, {**{fault: {**stdio(box, fault), **hasty} for fault in STARTS}, **missing, "good": stdio(box, "fine")})
    names = [t["name"] for t in gateway.ok("GET", "/tools")["tools"]]  # answered while they still try
    assert "read_file" in names
    wait_started(gateway, ["good"])
    session = gateway.session()
    assert gateway.call(session, "good__fine", {}).text == "fine"

    def settled():
        now = states(gateway)
        return all(now[name] in ("failed", "quarantined") for name in [*STARTS, *missing])
    until(settled, "those that cannot start are told so", 60)
    for server in gateway.ok("GET", "/servers")["servers"]:
        assert server["name"] == "good" or server["problem"], server
    gateway.stop()
    until(lambda: not processes_with(box.dir), "nothing of them is left")


def test_servers_die_with_a_gateway_that_is_killed(box):
    gateway = configured(box, {fault: stdio(box, fault) for fault in ("hang", "deaf", "brood")})
    wait_started(gateway, ["hang", "deaf", "brood"])
    for fault in ("deaf", "brood"):
        gateway.start(gateway.session(), fault + "__work", {})
        until(lambda: calls_noted(box, fault), fault + " is at work")
    until(lambda: len(processes_with(box.dir)) >= 4, "the brood is there")
    gateway.kill()
    until(lambda: not processes_with(box.dir), "nothing of them is left")


def test_a_call_that_is_cancelled_leaves_a_late_answer_to_nobody(box):
    gateway = configured(box, {"late": {**stdio(box, "late"), "timeout": 60, "max_timeout": 60}})
    wait_started(gateway, ["late"])
    session = gateway.session()
    turn = gateway.start(session, "late__work", {})
    until(lambda: calls_noted(box, "late"), "it is at work")
    gateway.ok("POST", "/sessions/%s/turns/%s/cancel" % (session, turn["turn_id"]))
    assert gateway.turn(session, turn["turn_id"])["calls"][0]["error_class"] == "cancelled"
    assert [gateway.call(session, "late__fine", {"n": n}).text for n in range(3)] == ["fine"] * 3
    assert gateway.call(session, "late__work", {}).text == "too late"  # of the second, not of the first
    assert calls_noted(box, "late") == 2


def test_5_a_result_that_is_too_large_fails_at_once(box):
    forever = {"timeout": 3600, "max_timeout": 3600}  # nothing here waits for a deadline
    gateway = configured(box, {"large": {**stdio(box, "large"), **forever}})
    wait_started(gateway, ["large"])
    session = gateway.session()
    for arguments in {}, {"id": "last"}:
        result = gateway.call(session, "large__work", arguments)
        assert result.is_error and "the result is larger than 8 MiB" in result.text, result.text[:200]
        assert gateway.call(session, "large__fine", {}).text == "fine"
    assert calls_noted(box, "large") == 2
