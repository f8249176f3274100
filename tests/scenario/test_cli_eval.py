"""`holdfast eval retrieval`: the figures, what use adds to them, and files that are not what they should be."""
import json
import os

from lib import Skip, testdata

FINE, USAGE = 0, 2

TOOLS = [
    {"id": "mail:send", "name": "send_mail", "description": "Send a message", "tags": ["post"]},
    {"id": "git:issue", "name": "create_issue", "description": "Open an issue", "namespace": "git",
     "input_schema": {"properties": {"title": {"description": "what it is about"}}}},
    {"id": "git:close", "name": "close_issue", "description": "Close an issue", "namespace": "git"},
]
QUERIES = [
    {"query": "open an issue", "relevant": ["git:issue"], "split": "test"},
    {"query": "send a message", "relevant": ["mail:send"], "split": "test"},
    {"query": "zorkify it", "relevant": ["git:close"], "split": "test"},
    {"query": "zorkify the issue", "relevant": ["git:close"], "split": "dev"},
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_set(box, tools=TOOLS, queries=QUERIES):
    box.write("set/catalog.jsonl", lines(tools))
    box.write("set/queries.jsonl", lines(queries))


def evaluate(box, folder, *options):
    done = box.run("eval", "retrieval", folder, "--json", *options)
    assert (done.returncode, done.stderr) == (FINE, ""), done
    return json.loads(done.stdout)


def test_the_figures_are_those_of_the_answers(box):
    write_set(box, queries=QUERIES[:2] + [{"query": "issue", "relevant": ["git:close", "git:issue"]}])
    figures = evaluate(box, "set")
    assert (figures["tools"], figures["queries"]) == (3, 3)
    assert figures["recall@5"] == figures["recall@10"] == figures["mrr"] == figures["ndcg@10"] == 1.0
    assert figures["recall@1"] == 0.8333  # one of two for the last
    assert 0 < figures["us_p50"] <= figures["us_p99"] and figures["us_per_query"] > 0
    done = box.run("eval", "retrieval", "set")
    assert done.returncode == FINE and "ndcg@10 100.0" in done.stdout


def test_what_is_not_found_counts_nothing(box):
    write_set(box, queries=[{"query": "xyzzyx", "relevant": ["git:close"]}])
    figures = evaluate(box, "set")
    assert figures["mrr"] == figures["recall@10"] == figures["ndcg@10"] == 0


def test_a_log_of_use_helps_where_words_are_missing(box):
    write_set(box)
    figures = evaluate(box, "set", "--learn")
    assert figures["queries"] == figures["learned"]["queries"] == 3
    assert figures["recall@1"] < 1 and figures["learned"]["recall@1"] == 1.0


def test_bad_files_are_named_with_the_line(box):
    done = box.run("eval", "retrieval", "nowhere")
    assert done.returncode == USAGE and "nowhere/catalog.jsonl: No such file" in done.stderr
    for name, tools, queries in (("catalog.jsonl: line 2: ", TOOLS[:1] + [{"name": "x"}], QUERIES),
                                 ("catalog.jsonl: line 2: ", TOOLS[:1] * 2, QUERIES),
                                 ("queries.jsonl: line 1: ", TOOLS, [{"query": "x"}])):
        write_set(box, tools, queries)
        done = box.run("eval", "retrieval", "set")
        assert done.returncode == USAGE and done.stdout == "" and name in done.stderr, done
    box.write("set/catalog.jsonl", "{")
    assert box.run("eval", "retrieval", "set").returncode == USAGE


def test_public_sets_are_answered_as_well_as_documented(box):
    root = testdata() and os.path.join(testdata(), "retrieval")
    if not root or not os.path.isdir(root):
        raise Skip("no test data")
    folders = [os.path.join(root, name) for name in sorted(os.listdir(root)) if os.path.isdir(os.path.join(root, name))]
    small = [folder for folder in folders if os.path.getsize(os.path.join(folder, "queries.jsonl")) < 100000]
    floors = {"azure-mcp": 0.90, "contextweaver-80": 0.78, "livemcp": 0.37, "livemcp-step": 0.61}
    for folder in small:
        ndcg = evaluate(box, folder)["ndcg@10"]
        assert ndcg >= floors.get(os.path.basename(folder), 0), (folder, ndcg)
