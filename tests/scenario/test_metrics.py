"""`GET /metrics`: the figures of calls as Prometheus reads them, and the log lines of each call."""
import json
import os
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"')
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|Inf)|NaN")
SAMPLES = {"counter": [""], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}


def unescape(text):
    return re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), text)


def parse(text):
    """The text format 0.0.4, held to what promtool asks: {name: (kind, {(sample, labels): value})}."""
    assert text.endswith("\n") and "\r" not in text
    families, current = {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert NAME.fullmatch(name) and name not in families, line
            assert len(line.split(" ", 3)) == 4 and line.split(" ", 3)[3], line
            families[name] = [None, {}]
            current = name
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and families[name][0] is None and not families[name][1], line
            assert kind in SAMPLES, line
            families[name][0] = kind
            continue
        found = NAME.match(line)
        assert found, line
        sample, rest, labels = found.group(0), line[found.end():], []
        if rest.startswith("{"):
            rest = rest[1:]
            while not rest.startswith("}"):
                one = LABEL.match(rest)
                assert one, line
                labels.append((one.group(1), unescape(one.group(2))))
                rest = rest[one.end():]
                assert rest[:1] in (",", "}"), line
                if rest.startswith(","):
                    rest = rest[1:]
                    assert not rest.startswith("}"), line
            rest = rest[1:]
        assert rest.startswith(" ") and NUMBER.fullmatch(rest[1:]), line
        assert len({k for k, _ in labels}) == len(labels), line
        kind, series = families[current]
        assert sample in [current + s for s in SAMPLES[kind]], line
        key = (sample, tuple(labels))
        assert key not in series, "twice: " + line
        series[key] = float(rest[1:].replace("Inf", "inf"))
    for name, (kind, series) in families.items():
        assert kind, name
        if kind == "counter":
            assert name.endswith("_total") and all(v >= 0 for v in series.values()), name
        if kind == "histogram":
            check_histogram(name, series)
    return families


def check_histogram(name, series):
    groups = {}
    for (sample, labels), value in series.items():
        plain = tuple(kv for kv in labels if kv[0] != "le")
        groups.setdefault(plain, {}).setdefault(sample, []).append((dict(labels).get("le"), value))
    for labels, samples in groups.items():
        buckets = samples[name + "_bucket"]
        bounds = [float(le.replace("Inf", "inf")) for le, _ in buckets]
        counts = [n for _, n in buckets]
        assert bounds == sorted(set(bounds)) and bounds[-1] == float("inf"), (name, labels)
        assert counts == sorted(counts), (name, labels)
        assert counts[-1] == samples[name + "_count"][0][1], (name, labels)
        assert len(samples[name + "_sum"]) == 1


def scrape(gateway):
    status, text = gateway.get("/metrics")
    assert status == 200, text
    return parse(text)


def value(families, family, **labels):
    """Of the one series with these labels, and any others."""
    found = [v for (sample, l), v in families[family][1].items()
             if sample == family and labels.items() <= dict(l).items()]
    assert len(found) == 1, (family, labels, families[family][1])
    return found[0]


AUTO = "tool_confirmation:\n  default: {WRITE: auto, EXECUTE: auto}\n"


def test_7_metrics_count_what_calls_came_to(box):
    box.config(AUTO)
    gateway = box.serve()
    before = scrape(gateway)
    assert before["tool_execution_total"][1] == {}
    session = gateway.session()
    for name in ["a.txt", "b.txt", "c.txt"]:
        box.write(name, "hello")
        assert not gateway.call(session, "read_file", {"path": name}).is_error
    assert gateway.call(session, "read_file", {"path": "missing"}).is_error
    assert gateway.call(session, "read_file", {"nonsense": 1}).error_class == "validation_error"
    assert not gateway.call(session, "write_file", {"path": "b.txt", "content": "x"}).is_error
    after = scrape(gateway)
    mine = {"tenant_id": "default", "agent_id": "default", "tool_name": "read_file"}
    total = after["tool_execution_total"][1]
    assert {tuple(k for k, _ in labels) for _, labels in total} == {("tenant_id", "agent_id", "tool_name", "status")}
    assert value(after, "tool_execution_total", status="success", **mine) == 3
    assert value(after, "tool_execution_total", status="validation_error", **mine) == 1
    assert sum(v for (_, l), v in total.items() if dict(l)["tool_name"] == "read_file") == 5
    timed = {dict(l)["tool_name"]: v for (s, l), v in after["tool_execution_duration_seconds"][1].items() if s.endswith("_count")}
    # One never ran: its arguments did not fit.
    assert timed == {"read_file": 4, "write_file": 1}, timed
    gateways = {dict(l)["gateway"] for _, l in after["tool_execution_duration_seconds"][1]}
    assert gateways == {"builtin"}, gateways
    assert value(after, "tool_side_effect_total", tenant_id="default", agent_id="default", policy="compensatable") == 1
    assert len(after["tool_side_effect_total"][1]) == 1  # what is pure is no effect
    assert value(after, "holdfast_calls_total") == 6
    assert value(after, "holdfast_sessions") == 1
    assert value(after, "holdfast_store_healthy") == 1
    assert value(after, "holdfast_stage_entries_total", stage="record") == 6
    assert value(after, "holdfast_events_total") > value(before, "holdfast_events_total")
    # Two clocks make it, and it must not waver with the time that lies between their readings.
    began = {value(scrape(gateway), "process_start_time_seconds") for _ in range(30)}
    assert began == {value(before, "process_start_time_seconds")}, began


def test_7_metrics_tell_of_the_process(box):
    gateway = box.serve()
    families = scrape(gateway)
    with open("/proc/%d/status" % gateway.process.pid) as file:
        status = dict(line.rstrip("\n").split(":", 1) for line in file)
    with open("/proc/stat") as file:
        booted = int(re.search(r"^btime (\d+)", file.read(), re.M).group(1))
    with open("/proc/%d/stat" % gateway.process.pid) as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    assert abs(value(families, "process_start_time_seconds") - (booted + ticks / os.sysconf("SC_CLK_TCK"))) < 5
    assert value(families, "process_threads") >= 1
    assert 0 < value(families, "process_open_fds") <= value(families, "process_max_fds")
    assert value(families, "process_resident_memory_bytes") > 2**20
    assert value(families, "process_virtual_memory_bytes") > value(families, "process_resident_memory_bytes")
    assert int(status["Pid"]) == gateway.process.pid


def test_7_words_that_name_no_tool_are_no_labels(box):
    gateway = box.serve()
    session = gateway.session()
    for name in ['x"} 1 evil_total 666', "back\\slash", "\u2028", "a" * 200, "{}", "tool,status=\"x\""]:
        assert gateway.call(session, name, {}).is_error
    families = scrape(gateway)
    assert list(families["tool_execution_total"][1].items()) == [
        (("tool_execution_total", (("tenant_id", "default"), ("agent_id", "default"), ("tool_name", "(unknown)"), ("status", "not_found"))), 6)]


def test_7_metrics_need_the_token(box):
    gateway = box.serve()
    status, answer = gateway.request("GET", "/metrics", headers={"Authorization": "Bearer wrong"})
    assert status == 401, answer


def test_7_every_metric_is_documented(box):
    with open(os.path.join(box.root, "docs", "metrics.md")) as file:
        told = set(re.findall(r"^\| `([a-z_]+)` \|", file.read(), re.M))
    assert told == set(scrape(box.serve()))


def lines(gateway, text):
    return [line for line in map(json.loads, gateway.log().splitlines()) if line["text"] == text]


def test_7_the_log_has_two_lines_of_each_call_when_asked(box):
    gateway = box.serve("--log-level", "info")
    session = gateway.session()
    box.write("a.txt", "hello")
    gateway.call(session, "read_file", {"path": "a.txt"})
    gateway.call(session, "read_file", {"path": "missing"})
    gateway.call(session, "no_such_tool", {})
    started, completed = lines(gateway, "tool_execution_started"), lines(gateway, "tool_execution_completed")
    assert [(l["tenant_id"], l["agent_id"], l["tool_name"], l["side_effect_policy"], l["level"]) for l in started] == \
        [("default", "default", "read_file", "pure", "info")] * 2
    assert [(l["tool_name"], l["status"], l["cached"], l["call_id"]) for l in completed] == \
        [("read_file", "success", "false", started[0]["call_id"]), ("read_file", "error", "false", started[1]["call_id"])]
    assert all(l["execution_time_ms"].isdigit() for l in completed)


def test_7_the_log_says_nothing_of_calls_unasked(box):
    for words in [(), ("--log-level", "warn")]:
        gateway = box.serve(*words)
        gateway.call(gateway.session(), "list_dir", {"path": "."})
        assert "tool_execution" not in gateway.log()
        gateway.stop()


def test_7_metrics_count_what_is_done_once(box):
    box.config(AUTO)
    gateway = box.serve("--log-level", "info")
    session = gateway.session()

    def write(content):
        return gateway.call(session, "write_file", {"path": "a.txt", "content": content}, idempotency_key="k")
    assert not write("x").is_error
    assert not write("x").is_error
    assert write("y").is_error
    families = scrape(gateway)
    assert value(families, "tool_idempotency_cache_hits_total", tenant_id="default", tool_name="write_file") == 1
    assert value(families, "tool_side_effect_total", policy="compensatable") == 1
    checks = {dict(l)["status"]: v for (_, l), v in families["idempotency_check_total"][1].items()}
    assert {k: v for k, v in checks.items() if v} == {
        "processing_started": 1, "duplicate_completed": 1, "fingerprint_mismatch": 1}, checks
    assert len(lines(gateway, "tool_execution_started")) == 1
    assert [l["cached"] for l in lines(gateway, "tool_execution_completed")] == ["false", "true"]
