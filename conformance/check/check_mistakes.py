#!/usr/bin/env python3
"""check_mistakes.py <vgpu-run> <board> <source> [lines] [optimised] [checks=<list>] [-- <program> <argument>...]

Runs the program with vgpu-run --check and compares the findings with the comments of its source. Kernels are <name><false>
or <name>_wrong with a mistake, and <name><true> or <name>_right without. `lines`: the kernels have debugging information,
so the lines are compared too. Otherwise each finding must name the function and the offset of the instruction. `checks`: of
vgpu-run --check; default: all.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile


MISTAKE = r'// mistake: (\w+) (\w+)( warning)?( optimised)?(?: "(.*)")?'


def expected_findings(source, is_optimised):
    """{kernel: (check, severity, lines, text that the report contains)}"""
    expected = {}
    for number, line in enumerate(open(source), 1):
        for kernel, check, severity, optimised, text in re.findall(MISTAKE, line):
            if optimised and not is_optimised:
                continue
            entry = expected.setdefault(kernel, (check, "warning" if severity else "error", [], text))
            entry[2].append(number)
    return expected


def lines_in(details, source):
    """The lines of the source that a finding names, with those of inlined calls."""
    return {int(number) for number in re.findall(re.escape(os.path.basename(source)) + r":(\d+)", details)}


def main():
    separator = sys.argv.index("--")
    run, board, source, *words = sys.argv[1:separator]
    has_lines = "lines" in words
    log = tempfile.NamedTemporaryFile(suffix=".json")
    environment = dict(os.environ, VGPU_CHECK_OUTPUT="json", VGPU_CHECK_LOG=log.name, VGPU_CHECK_LIMIT="1000")
    # A mistake of the suite skips the usual padding.
    checks = [word.replace("checks", "--check") for word in words if word.startswith("checks=")] or ["--check"]
    command = [run, "--gpu", board, *checks, "--padding", "65536", *sys.argv[separator + 1:]]
    result = subprocess.run(command, env=environment, text=True, capture_output=True)
    problems = []
    expected = expected_findings(source, "optimised" in words)
    status = 66 if any(entry[1] == "error" for entry in expected.values()) else 0
    if result.returncode != status:
        problems.append(f"status {result.returncode}, expected {status}: {result.stdout}{result.stderr}")
    found = collections.defaultdict(list)
    for line in open(log.name):
        finding = json.loads(line)
        match = re.match(r"(?:void )?(\w+)(?:<(true|false)>|_(right|wrong)$)", finding["kernel"])
        kernel = match[1] if match else finding["kernel"]
        is_right = match is None or "true" in match.groups() or "right" in match.groups()
        if not re.search(r".\+0x[0-9a-f]+$", finding["code"]):
            problems.append(f"{kernel}: no function with an offset: {finding['code']}")
        if "source" not in finding and f"\n  at           {finding['code']}" not in finding["details"]:
            problems.append(f"{kernel}: the text has neither source line nor function: {finding['details']}")
        text = f"{finding['tool']} {finding['severity']} at {finding.get('source', 'unknown')}: {finding['summary']}"
        if is_right:
            problems.append(f"{kernel} is right, but: {text}")
        else:
            found[kernel].append((finding["tool"], finding["severity"], lines_in(finding["details"], source), text, finding["details"]))
    for kernel, (check, severity, lines, said) in expected.items():
        matches = [entry for entry in found[kernel] if entry[:2] == (check, severity)]
        if not matches:
            problems.append(f"{kernel}: no {severity} of {check}; found: {[entry[3] for entry in found[kernel]]}")
        elif has_lines and not any(entry[2] & set(lines) for entry in matches):
            problems.append(f"{kernel}: expected line {lines}: {[entry[3] for entry in matches]}")
        if said and not any(re.search(said, entry[3] + entry[4]) for entry in matches):
            problems.append(f"{kernel}: no report contains '{said}': {[entry[3] + entry[4] for entry in matches]}")
        for entry in found[kernel]:
            if entry[0] != check:
                problems.append(f"{kernel}: a finding of another check: {entry[3]}")
    for problem in problems:
        print(problem)
    print(f"{len(expected)} mistakes, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
