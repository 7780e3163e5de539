#!/usr/bin/env python3
"""check_guide.py <vgpu-run> <program of docs/samples/hip/mistakes.hip> <docs/guide/checking.md>

Compares the report in the guide with that of a run, without machine code, and the directories of files. Numbers that
differ between runs count as equal: processes, addresses, repetitions. Then suppresses the findings with the lines that
the report prints.
"""
import difflib
import re
import subprocess
import sys
import tempfile

CODE = re.compile(r"  (=>|  ) 0x[0-9a-f]+  ")


def comparable(text):
    """The lines that two runs have in common."""
    text = "\n".join(line.rstrip() for line in text.splitlines() if not CODE.match(line))
    text = re.sub(r"vgpu\[\d+\]", "vgpu[PID]", text)
    text = re.sub(r"0x[0-9a-f]{8,}", "ADDRESS", text)
    text = re.sub(r"found \d+ times", "found N times", text)
    text = re.sub(r"[^ ]*docs/samples/hip/", "docs/samples/hip/", text)
    return text.splitlines()


def run(command):
    result = subprocess.run(command, text=True, capture_output=True)
    return result.returncode, result.stderr


def main():
    vgpu_run, program, guide = sys.argv[1:]
    problems = []
    shown = [block for block in re.findall(r"```text\n(.*?)```", open(guide).read(), re.S) if "check memory:" in block]
    if len(shown) != 1:
        sys.exit(f"{guide}: {len(shown)} reports; expected 1")
    check = [vgpu_run, "--gpu", "gfx900", "--check"]
    status, report = run(check + [program])
    if status != 66:
        problems.append(f"status {status}, expected 66")
    problems += difflib.unified_diff(comparable(shown[0]), comparable(report), guide, "a run", lineterm="")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(line + "\n" for line in re.findall(r"^  suppress +(.*)", report, re.M)))
        file.write("waits: *\n")
        file.flush()
        status, report = run(check + ["--check-suppressions", file.name, program])
        if status != 0 or "check: 2 suppressed findings" not in report or "error: gpu" in report:
            problems.append(f"with suppressions: status {status}: {report}")
        if f"check: unused suppression: {file.name}:3: waits: *" not in report:
            problems.append(f"the unused suppression is not named: {report}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
