#!/usr/bin/env python3
"""check_counts.py <vgpu-run> <board> <program> <counts.hip>

Runs the program with vgpu-run --profile, interpreted and compiled, and compares the counts with the comments of its
source. Also compares a run on one worker thread with the others.
"""
import json
import os
import re
import subprocess
import sys
import tempfile


def profiled(command, options, variables):
    result = subprocess.run([*command[:3], *options, command[3]], env={**os.environ, **variables}, text=True,
                            capture_output=True)
    return result.returncode, result.stdout + result.stderr


def counts_of(path, source):
    """The kernels by name, and the waves and lanes of each marked line."""
    # Kernels of the runtime, which fill memory on some boards, have no name.
    kernels = {match[0]: kernel for kernel in json.load(open(path))["kernels"]
               if (match := re.match(r"\w+", kernel["name"]))}
    marks = {}
    for kernel in kernels.values():
        for row in kernel["code"]:
            if row["instruction"] in ("s_nop 7", "s_nop 6") and row.get("file", "").endswith(os.path.basename(source)):
                mark = marks.setdefault(row["line"], [0, 0])
                mark[0] += row["times"]
                mark[1] += row["lanes"]
    return kernels, marks


def compare(path, source):
    """The number of compared counts, and those that differ from the comments."""
    kernels, marks = counts_of(path, source)
    wave_size = kernels["straight"]["wave_size"]
    rows = []
    for number, line in enumerate(open(source), 1):
        if match := re.search(r"// executed: (?:waves (.+), )?lanes (.+)", line):
            waves, lanes = marks.get(number, (None, None))
            if match[1]:
                rows.append((f"line {number}, waves", waves, match[1]))
            rows.append((f"line {number}, lanes", lanes, match[2]))
        elif match := re.match(r"// profile: (\w+) (\w+) (.+)", line):
            rows.append((f"{match[1]}, {match[2]}", kernels.get(match[1], {}).get(match[2]), match[3]))
    problems = []
    for subject, found, expression in rows:
        expected = eval(expression, {"W": wave_size})
        if found != expected:
            problems.append(f"{subject}: {found}, expected {expected}")
    return len(rows), problems


def main():
    run, board, program, source = sys.argv[1:5]
    command = [run, "--gpu", board, program]
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "profile.json")
    problems, compared = [], 0
    for variables in ({"VGPU_COMPILER": "off"}, {"VGPU_COMPILER": "beforehand", "VGPU_CACHE": "off"}):
        status, output = profiled(command, [f"--profile={path}"], variables)
        if status != 0:
            sys.exit(f"{variables}: status {status}: {output}")
        compared, wrong = compare(path, source)
        problems += [f"{variables}: {problem}" for problem in wrong]
    # Counts do not depend on the number of threads.
    status, output = profiled(command, [f"--profile-against={path}"], {"VGPU_THREADS": "1"})
    if status != 0 or "all counts are those of" not in output:
        problems.append(f"a run on one thread has status {status}: {output}")
    if problems or compared < 40:
        sys.exit("\n".join([f"{compared} counts compared", *problems]))
    print(f"{compared} counts are as derived by hand.")


main()
