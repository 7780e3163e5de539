#!/usr/bin/env python3
"""check_options.py <vgpu-run> <program of docs/samples/hip/mistakes.hip>

Checks the effects of vgpu-run's options for checks. The program launches scale(), which has an error of memory, then
reverse(), which has one of races.
"""
import json
import os
import pty
import subprocess
import sys
import tempfile

problems = []


def expect(condition, text):
    if not condition:
        problems.append(text)


def run(vgpu_run, options, command):
    result = subprocess.run([vgpu_run, "--gpu", "gfx900", "--check", *options, *command], text=True, capture_output=True)
    return result.returncode, result.stderr


def terminal_output(command, **variables):
    """What the command writes to a terminal."""
    reader, writer = pty.openpty()
    environment = dict(os.environ, TERM="xterm", **variables)
    process = subprocess.Popen(command, stdin=writer, stdout=writer, stderr=writer, env=environment)
    os.close(writer)
    output = b""
    try:
        while part := os.read(reader, 4096):
            output += part
    except OSError:  # the terminal is closed
        pass
    process.wait()
    return output.decode()


def main():
    vgpu_run, program = sys.argv[1:]

    status, report = run(vgpu_run, ["--error-exitcode", "3"], [program])
    expect(status == 3, f"--error-exitcode 3: status {status}")
    status, report = run(vgpu_run, ["--error-exitcode", "0"], [program])
    expect(status == 0 and "check: 2 errors" in report, f"--error-exitcode 0: status {status}: {report}")

    status, report = run(vgpu_run, ["--check-kernel", "rev"], [program])
    expect("check memory" not in report and "check races" in report, f"--check-kernel: {report}")
    expect("not checked: 1 of 2 launches" in report, f"--check-kernel does not say what is left out: {report}")
    status, report = run(vgpu_run, ["--check-launch", "1"], [program])
    expect("check memory" in report and "check races" not in report, f"--check-launch: {report}")
    status, report = run(vgpu_run, ["--check-limit", "1"], [program])
    expect("check memory" in report and "check races" not in report, f"--check-limit: {report}")
    expect("which were not printed: 1; use --check-limit" in report, f"--check-limit does not say it: {report}")

    children = ["sh", "-c", '"$0"; "$0"', program]
    status, report = run(vgpu_run, [], children)
    expect(status == 66 and report.count("check: 2 errors") == 2, f"children: status {status}: {report}")
    status, report = run(vgpu_run, ["--check-children", "no"], children)
    expect(status == 0 and "check" not in report, f"--check-children no: status {status}: {report}")
    status, report = run(vgpu_run, ["--check-children", "no"], [program])
    expect(status == 66, f"--check-children no: the program itself: status {status}")

    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "check.sarif")
        run(vgpu_run, ["--check-output", "sarif", "--check-log", log], children)
        with open(log) as file:
            runs = json.load(file)["runs"]
        rules = [[result["ruleId"] for result in each["results"]] for each in runs]
        expect(rules == [["memory/out-of-bounds", "races/lds"]] * 2, f"SARIF: {rules}")
        place = runs[0]["results"][0]["locations"][0]["physicalLocation"]
        expect(place["artifactLocation"]["uri"].endswith("docs/samples/hip/mistakes.hip"), f"SARIF: {place}")
        expect(place["region"]["startLine"] == 14, f"SARIF: {place}")
        expect(runs[0]["results"][1]["occurrenceCount"] > 1, "SARIF: the race is found once")

    command = [vgpu_run, "--gpu", "gfx900", "--check", program]
    expect("\x1b[1;31mcheck memory" in terminal_output(command), "no colour on a terminal")
    expect("\x1b" not in terminal_output(command, NO_COLOR="1"), "NO_COLOR is ignored")

    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
