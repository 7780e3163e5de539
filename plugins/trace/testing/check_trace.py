"""check_trace.py <check> <program> <scratch directory> [<argument of the program>...]

Runs the program under the trace tool and compares the trace with the program's output."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from read_trace import Trace

what, program, folder, *arguments = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)


def environment(**options):
    config = os.path.join(folder, "runtime.json")
    tool = {"name": "trace", "library": "libhsa_tool_trace.so", "on_error": "fail", "config": options}
    with open(config, "w") as file:
        json.dump({"config_version": "1.0", "plugins": [tool]}, file)
    env = dict(os.environ, HSA_PLUGIN_CONFIG=config, HSA_LOADER_DEBUG="error")
    # A file name is searched in the configuration's directory, then in the tools' directory.
    return env


def run_program(*words, **options):
    options = {"file": os.path.join(folder, "%p.pftrace"), "buffer_kb": 16384, **options}  # nothing is lost
    return subprocess.run([program, *words], env=environment(**options), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=240)


def run(*words, **options):
    done = run_program(*words, **options)
    assert done.returncode == 0, (done.returncode, done.stderr)
    (pid,) = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("pid ")]
    return done, os.path.join(folder, pid + ".pftrace")


def numbers(output, word):
    return [[int(n) for n in line.split()[1:]] for line in output.splitlines() if line.startswith(word + " ")]


def rows(table, title):
    """Returns the counts of the table, by name."""
    lines = table.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.endswith("  " + title)) + 1
    out = {}
    for line in lines[begin:]:
        row = re.match(r" *(\d+) .*%  (.+)$", line)
        if row is None:
            break
        out[row[2]] = int(row[1])
    return out


def check_flow(begin, middle, end):
    """Checks flows from a slice to a second and a third, in order of time. Returns the number that reach the third."""
    starts = collections.defaultdict(list)
    for slice_ in begin:
        for flow in slice_.flows:
            starts[flow].append(slice_)
    ends = {flow: slice_ for slice_ in end for flow in slice_.ended_flows}
    whole = 0
    for slice_ in middle:
        (flow,) = slice_.flows
        assert len(starts[flow]) == 1, (slice_, starts[flow])
        if flow in ends:
            assert ends[flow].end >= slice_.end, (slice_, ends[flow])
            whole += 1
    return whole


def work():
    symbol_name, kernel, agent = arguments[2:]
    done, path = run("work", *arguments[:3])
    trace = Trace(path)
    assert not trace.truncated
    assert not trace.named("lost records")
    calls = trace.of("hsa")

    # All kernels, on two queues of one agent, at the times that the API reports.
    kernels = trace.of("kernel")
    assert len(kernels) == 1000 and {k.name for k in kernels} == {kernel}, (len(kernels), {k.name for k in kernels})
    lanes = collections.Counter(tuple(trace.path_of(k.track)) for k in kernels)
    assert len(lanes) == 2 and set(lanes.values()) == {500}, lanes
    assert all(path[0] == agent and path[1].startswith("queue ") for path in lanes), lanes
    by_packet = {(trace.path_of(k.track)[1], k.arguments["index"]): k for k in kernels}
    told = numbers(done.stdout, "kernel")
    assert len(told) == 100
    for queue, index, begin, end in told:
        k = by_packet[(f"queue {queue}", index)]
        assert (k.begin, k.end) == (begin, end), (k, begin, end)
    for k in kernels:
        assert k.arguments["grid"] == "4096x1x1" and k.arguments["work-group"] == "64x1x1", k
        assert k.parent is None, k
    assert len(trace.of("barrier")) == 2

    # Flows from the enqueuing, in the doorbell's store, to the kernel, to the wait for it.
    enqueued = trace.of("enqueue")
    assert len(enqueued) == 1002
    assert all(e.parent is None or e.parent.name.startswith("hsa_") for e in enqueued)
    assert any(e.parent is not None and e.parent.name == "hsa_signal_store_screlease" for e in enqueued)
    waits = trace.named("hsa_signal_wait_scacquire")
    assert check_flow(enqueued, kernels, waits) == 100
    assert check_flow(enqueued, trace.of("barrier"), waits) == 2

    # Copies and their flows.
    copies = trace.of("copy")
    assert sorted((c.begin, c.end) for c in copies) == sorted((b, e) for b, e in numbers(done.stdout, "copy")), copies
    assert len(copies) == 5 and all(c.arguments["bytes"] == 1 << 20 for c in copies)
    assert check_flow(trace.named("hsa_amd_memory_async_copy"), copies, waits) == 5

    # Nested calls, with arguments and results.
    (iterate,) = trace.named("hsa_iterate_agents")
    inner = [c for c in trace.named("hsa_agent_get_info") if c.parent is iterate]
    assert inner and all(iterate.begin < c.begin < c.end < iterate.end for c in inner)
    assert iterate.arguments["result"] == "HSA_STATUS_SUCCESS" and iterate.arguments["data"] != 0, iterate
    (failed,) = [c for c in trace.named("hsa_queue_destroy") if c.arguments["queue"] == 0]
    assert failed.arguments["result"].startswith("HSA_STATUS_ERROR_INVALID"), failed
    (symbol,) = trace.named("hsa_executable_get_symbol_by_name")
    assert symbol.arguments["symbol_name"] == symbol_name, symbol
    made = {c.arguments["made"] for c in trace.named("hsa_signal_create")}
    assert made == {c.arguments["signal"] for c in trace.named("hsa_signal_destroy")}, made
    assert {c.arguments["agent"] for c in trace.named("hsa_queue_create")} == {agent}
    assert all(c.end is not None and c.begin < c.end for c in calls)
    assert len({c.track for c in calls}) == 2

    # Allocated memory increases and decreases to 0.
    (counter,) = trace.counters.values()
    assert max(value for _, value in counter) >= 2 << 20 and counter[-1][1] == 0, counter

    # Markers.
    assert len(trace.named("begin")) == 1
    (everything,) = trace.named("all of it")
    (pushed,) = trace.named("kernels")
    assert everything.begin < pushed.begin < pushed.end < everything.end
    assert any(c.parent is pushed for c in calls)

    # The table.
    assert rows(done.stderr, "kernels") == {kernel: 1000}, done.stderr
    assert sum(rows(done.stderr, "copies").values()) == 5
    assert rows(done.stderr, "calls")["hsa_signal_wait_scacquire"] == len(waits)
    print(done.stderr)


def hip():
    hip_program, code, symbol_name, kernel, vgpu_run = arguments
    path = os.path.join(folder, "hip.pftrace")
    done = subprocess.run([vgpu_run, "--gpu", "gfx906", "--runtime", "rigel", hip_program, code, symbol_name],
                          env=environment(file=path, buffer_kb=16384), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done
    trace = Trace(path)
    assert not trace.named("lost records")
    kernels = trace.named(kernel)
    kernels = [k for k in kernels if k.category == "kernel"]
    lanes = collections.Counter(tuple(trace.path_of(k.track)) for k in kernels)
    assert len(kernels) == 1000 and set(lanes.values()) == {500}, lanes
    assert all(path[0] == "GPU 1 gfx906" and path[1].startswith("queue ") for path in lanes), lanes
    # Copies by engines or by HIP's kernels: at least two in each direction.
    copies = collections.Counter(c.name for c in trace.of("copy"))
    copies += collections.Counter(k.name for k in trace.of("kernel") if k.name != kernel)
    assert sum(copies.values()) >= 4, copies
    # Flows lead from the enqueuing to the GPU's work and, if HIP waits for it, to the wait.
    waits = trace.named("hsa_signal_wait_scacquire") + trace.named("hsa_signal_wait_relaxed")
    check_flow(trace.of("enqueue"), kernels + trace.of("barrier"), waits)
    everything = kernels + trace.of("barrier") + trace.of("copy")
    ended = {flow for wait in waits for flow in wait.ended_flows}
    assert ended and ended <= {flow for slice_ in trace.of("kernel") + trace.of("barrier") + trace.of("copy")
                               for flow in slice_.flows}, ended
    for slice_ in everything:
        assert slice_.parent is None and slice_.begin < slice_.end, slice_
    assert rows(done.stderr, "kernels")[kernel] == 1000
    print(done.stderr)


def filters():
    done, path = run("work", *arguments[:3], functions=["hsa_queue_*", "!*_index_*"], kernels=["nothing*"],
                     copies=False, markers=False, summary=os.path.join(folder, "table-%p"))
    names = {s.name for s in Trace(path).slices}
    assert names == {"hsa_queue_create", "hsa_queue_destroy", "barrier-and"}, names
    assert done.stderr == "", done.stderr
    (table,) = [name for name in os.listdir(folder) if name.startswith("table-")]
    with open(os.path.join(folder, table)) as file:
        assert set(rows(file.read(), "calls")) == {"hsa_queue_create", "hsa_queue_destroy"}
    done, path = run("work", *arguments[:3], agents=["!" + arguments[0]], summary="none")
    trace = Trace(path)
    assert not trace.of("kernel") and not trace.of("enqueue") and trace.of("hsa")


def options():
    done = run_program("again", files="x", flush_ms=0)
    assert done.returncode == 1, done
    for text in ("/plugins/0/config/files: unknown key; did you mean 'file'?",
                 "/plugins/0/config/flush_ms: should be between 1 and 60000 but is 0"):
        assert text in done.stderr, done.stderr
    done = run_program("again", file="/nowhere/at/all")
    assert done.returncode == 1 and "/nowhere/at/all: cannot open: No such file" in done.stderr, done


def threads():
    done, path = run("calls", "256", "200", buffer_kb=64)
    trace = Trace(path)
    added = trace.named("hsa_signal_add_relaxed")
    lost = sum(s.arguments["records"] for s in trace.named("lost records"))
    assert (f"{lost} records are lost" in done.stderr) == (lost != 0), done.stderr
    assert len(added) <= 51200 <= len(added) + lost, (len(added), lost)
    assert len({c.track for c in added}) > 1
    for c in added:
        assert c.parent is None and c.end is not None and c.arguments["value"] == 1, c
    assert rows(done.stderr, "calls")["hsa_signal_add_relaxed"] == len(added)


def memory():
    _, path = run("memory")
    (counter,) = Trace(path).counters.values()
    megabytes = [value / (1 << 20) for _, value in sorted(counter)]
    assert megabytes == [1, 2, 3, 4, 3, 2, 1, 0], counter


def again():
    done, path = run("again")
    trace = Trace(path)
    assert [c.arguments["initial_value"] for c in trace.named("hsa_signal_create")] == [0, 1, 2]
    assert len(trace.named("hsa_shut_down")) == 3
    assert done.stderr.count("trace of process") == 3


def leaves():
    done, path = run("leaves")
    trace = Trace(path)
    assert not trace.truncated
    (wait,) = [c for c in trace.named("hsa_signal_wait_relaxed") if c.arguments["compare_value"] == 7] or [None]
    assert wait is None or wait.end is None, wait  # it may not have started
    assert trace.named("hsa_signal_load_relaxed"), "what the first thread has called at last"
    assert rows(done.stderr, "calls")["hsa_signal_create"] >= 1


def forks():
    # The objects of the parent's tool leak in the child, because their threads do not exist there.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    done = run_program("forks")
    assert done.returncode == 0, done
    traces = [Trace(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".pftrace")]
    assert len(traces) == 2
    (child,) = [t for t in traces if t.named("hsa_signal_create")]
    (parent,) = [t for t in traces if t.named("hsa_system_get_info")]
    assert child is not parent
    assert done.stderr.count("trace of process") == 2
    # A common file is rejected in the child, and the parent's trace is complete.
    done = run_program("forks", file=os.path.join(folder, "one"), summary="none")
    assert done.returncode == 1 and "another process writes this file" in done.stderr, done


def killed():
    path = os.path.join(folder, "killed.pftrace")
    # With small buffers, each thread's buffer is emptied often before the file has the size that is waited for.
    options = environment(file=path, flush_ms=1, buffer_kb=16)
    with subprocess.Popen([program, "runs"], env=options, stdout=subprocess.PIPE) as process:
        while process.stdout.readline() != b"runs\n":
            assert process.poll() is None
        while os.path.getsize(path) < 1 << 20:
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    trace = Trace(path)
    # At most the last packet is truncated, and the packets before it contain both threads' calls.
    assert len(trace.named("hsa_signal_add_relaxed")) > 1000
    assert len({c.track for c in trace.of("hsa")}) == 2
    unfinished = [c for c in trace.of("hsa") if c.end is None]
    assert len(unfinished) <= 2, unfinished


globals()[what]()
