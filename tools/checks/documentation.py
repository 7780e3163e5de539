#!/usr/bin/env python3
"""documentation.py <root of the sources> <build directory> <scratch directory>

Checks the documents. Every code fence in README.md, CONTRIBUTING.md and docs/ has an info string. The loader reads
every JSON block, and drivers and tools their options. Every command line is run. Options of Rigel's commands that the
text names exist. The info string selects the check:

  ```json            a configuration file, or the manifest of a backend
  ```sh                    commands, run by a shell in a copy of the sources' root with ./program
  ```sh if <command>       run if that command succeeds, which tests for what they need
  ```sh takes <n> minutes  run with RIGEL_DOCUMENTATION_MINUTES=<n or more>; else the programs and their options exist
  ```sh as in <script>     that script runs each of the commands, with what it needs before and after
  ```sh as in test <name>  a test of this name exists, which does this with other paths
  ```cpp of <file>    the file contains these lines in this order
  ```text            output of programs, grammars, pictures
  ```<language>      anything else that is not run
"""

import collections
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

COMMANDS = ("vgpu-run", "rigel-info", "vgpu-compiler")

failures = []
compiled = {}  # the command line that made each program


def complain(where, text):
    failures.append(f"{where}: {text}")


def blocks(path):
    """(line, info string, text) of each fenced block; indented blocks are errors, because they have no info string."""
    lines = path.read_text().split("\n")
    at = 0
    while at < len(lines):
        fence = re.match(r"^( *)```(.*)$", lines[at])
        if fence:
            end = next(i for i in range(at + 1, len(lines)) if re.match(r"^ *```\s*$", lines[i]))
            indent = len(fence[1])
            yield at + 1, fence[2].strip(), "\n".join(line[indent:] for line in lines[at + 1:end]) + "\n"
            at = end
        elif re.match(r"^    \S", lines[at]) and (at == 0 or not lines[at - 1].strip()):
            complain(f"{path}:{at + 1}", "a block without a fence, which cannot say what it is")
        at += 1


def run(command, scratch, bin_folder, timeout=240, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HSA_", "VGPU_", "ROCR_"))}
    environment |= variables | {"PATH": f"{bin_folder}:{environment['PATH']}", "XDG_CONFIG_HOME": str(scratch)}
    return subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=timeout,
                          check=False)


def check_quotation(where, root, name, text):
    def stripped(of):
        return [line.strip() for line in of.split("\n") if line.strip()]

    file = root / name
    if not file.is_file():
        return complain(where, f"there is no {name}")
    quoted, lines = stripped(text), stripped(file.read_text())
    if not any(lines[at:at + len(quoted)] == quoted for at in range(len(lines))):
        complain(where, f"these lines are not in {name}")
    return None


def check_json(where, text, scratch, bin_folder):
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        return complain(where, f"no JSON: {error}")
    file = scratch / "block.json"
    file.write_text(text)
    if "config_version" in document:
        variable = "HSA_PLUGIN_CONFIG"
    elif "manifest_version" in document:
        variable = "HSA_ADD_BACKEND_MANIFESTS"
    elif "library" in document:  # an entry of `plugins`
        file.write_text(json.dumps({"config_version": "1.0", "plugins": [document]}))
        variable = "HSA_PLUGIN_CONFIG"
    else:
        return complain(where, "neither a configuration nor a manifest")
    done = run(["rigel-info", "--summary"], scratch, bin_folder, **{variable: str(file), "HSA_LOADER_DEBUG": "all"})
    lines = done.stderr.split("\n")
    if not any(str(file) in line for line in lines):
        complain(where, f"the loader did not read it:\n{done.stderr}")
    # Messages about the file, its driver and its options, not about tools and devices that it mentions.
    objects = [re.escape(name) for name in (str(file), document.get("driver", {}).get("library")) if name]
    for line in lines:
        if re.match(rf"rigel: (error|warning): ((?:driver )?({'|'.join(objects)}): |[^:]+: option ')", line):
            complain(where, line)


def check_commands(where, text, scratch, bin_folder, timeout=240):
    lines = []
    for line in text.split("\n"):
        program = re.match(r"^hipcc .* -o (\w+)$", line)
        if program and compiled.get(program[1]) == line:  # several documents compile the same sample
            continue
        if program:
            compiled[program[1]] = line
        lines.append(line)
    text = "\n".join(lines)
    done = run(["bash", "-euc", text], scratch, bin_folder, timeout)
    if done.returncode != 0:
        complain(where, f"exit code {done.returncode}\n{text}{done.stdout[-2000:]}{done.stderr[-2000:]}")


def commands(text):
    """The arguments of each command of a block, without comments and variable assignments."""
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        for command in line.split("&&"):
            words = shlex.split(command, comments=True)
            while words and re.match(r"^\w+=", words[0]):
                words.pop(0)
            if words:
                yield words


def is_left_out(scratch, program):
    """Whether a program is a benchmark that this build does not contain."""
    cache = scratch / program.split("/")[0] / "CMakeCache.txt"
    return program.endswith(("_bench", "hsa_compare")) and cache.is_file() and "RIGEL_BENCHMARKS:BOOL=OFF" in cache.read_text()


def check_long(where, text, minutes, scratch, bin_folder):
    """Runs the commands, or, if they take minutes, checks that their programs exist and have the options."""
    if int(os.environ.get("RIGEL_DOCUMENTATION_MINUTES", "0")) >= minutes:
        return check_commands(where, text, scratch, bin_folder, timeout=minutes * 180)
    made = set()  # by the block itself, in its build directories
    for words in commands(text):
        made.update(words[i + 1] for i, word in enumerate(words[:-1]) if word == "-B")
        program = words[0]
        path = os.pathsep.join([str(bin_folder), os.environ["PATH"]])
        found = scratch / program if "/" in program else shutil.which(program, path=path)
        if not found or not (os.access(found, os.X_OK) or program.split("/")[0] in made):
            if not is_left_out(scratch, program):
                complain(where, f"there is no {program}")
        elif program.startswith("tools/"):  # its head lists the options
            head = re.match(r"(#.*\n)+", pathlib.Path(found).read_text())[0]
            for word in words[1:]:
                if re.match(r"^(--)?[a-z][a-z-]*$", word) and not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", head):
                    complain(where, f"{program} does not say that it takes {word}")
        elif program.startswith("build-") and program.split("/")[0] not in made:
            usage = run([str(found), "--help"], scratch, bin_folder)
            for word in words[1:]:
                if word.startswith("--") and len(word) > 2 and word not in usage.stdout + usage.stderr \
                        and word not in run(["vgpu-run", "--help"], scratch, bin_folder).stdout:
                    complain(where, f"{program} has no option {word}")


def check_script(where, text, script, scratch):
    """Checks that each command is on a line of the script: its arguments in order, possibly with others between; files
    by their last name."""
    path = scratch / script
    if not path.is_file():
        return complain(where, f"there is no script {script}")
    lines = [[word.rsplit("/", 1)[-1] for word in re.sub(r"['\"()$]", " ", line).split()]
             for line in path.read_text().split("\n")]
    for words in commands(text):
        if words[0].startswith("tools/"):  # the tool that runs the script
            if path.name not in (scratch / words[0]).read_text():
                complain(where, f"{words[0]} does not call {script}")
            continue
        wanted = [word.rsplit("/", 1)[-1] for word in words]
        if not any(all(word in rest for word in wanted) for rest in map(iter, lines)):
            complain(where, f"{script} does not run '{' '.join(words)}'")


@functools.cache
def tests_of(build):
    listed = subprocess.run(["ctest", "--test-dir", str(build), "-N"], capture_output=True, text=True, check=False)
    return set(re.findall(r"^ *Test +#\d+: (\S+)$", listed.stdout, re.MULTILINE))


def check_test(where, name, build):
    if name not in tests_of(build):
        complain(where, f"there is no test {name}")


def check_shell(where, info, text, scratch, bin_folder, build):
    """Checks a block of commands as its info string requires; returns how."""
    condition = re.match(r"^sh if (\S.*)$", info)
    minutes = re.match(r"^sh takes (\d+) minutes$", info)
    test = re.match(r"^sh as in test (\S+)$", info)
    script = re.match(r"^sh as in (\S+)$", info)
    if info == "sh":
        check_commands(where, text, scratch, bin_folder)
        return "run"
    if condition:
        if run(["bash", "-euc", condition[1]], scratch, bin_folder).returncode != 0:
            return "not run where something is missing"
        check_commands(where, text, scratch, bin_folder)
        return "run"
    if minutes:
        check_long(where, text, int(minutes[1]), scratch, bin_folder)
        return "too long to be run"
    if test:
        check_test(where, test[1], build)
        return "run by other tests"
    if script:
        check_script(where, text, script[1], scratch)
        return "run by other tests"
    complain(where, f"'{info}': how are these commands checked? The head of this script lists the ways")
    return "not checked"


def check_options(path, help_texts):
    for number, line in enumerate(path.read_text().split("\n"), 1):
        for span in re.findall(r"`([^`]+)`", line):
            words = span.split()
            if not words or words[0] not in help_texts:
                continue
            for word in words[1:]:
                if not word.startswith("-"):
                    # A value, or the program that vgpu-run starts, with separate options.
                    if words[words.index(word) - 1].startswith("--"):
                        continue
                    break
                option = word.split("=")[0].rstrip(",;")
                if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_texts[words[0]]):
                    complain(f"{path}:{number}", f"{words[0]} has no option {option}")


def main():
    root, build, scratch = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for entry in root.iterdir():
        if not entry.name.startswith(("build", ".git")):
            (scratch / entry.name).symlink_to(entry)
    bin_folder = build / "bin"
    for preset in ("dev", "release", "demo"):
        (scratch / f"build-{preset}").symlink_to(build)
    (scratch / "program").symlink_to(bin_folder / "rigel-info")  # stands for the reader's program
    help_texts = {name: run([name, "--help"], scratch, bin_folder).stdout for name in COMMANDS
                  if (bin_folder / name).exists()}
    counts = collections.Counter()
    for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        check_options(path, help_texts)
        for line, info, text in blocks(path):
            where = f"{path.relative_to(root)}:{line}"
            if info == "json":
                check_json(where, text, scratch, bin_folder)
                counts["json"] += 1
            elif info == "sh" or info.startswith("sh "):
                counts[check_shell(where, info, text, scratch, bin_folder, build)] += 1
            elif info.startswith("cpp of "):
                check_quotation(where, root, info.removeprefix("cpp of "), text)
                counts["quoted"] += 1
            elif not info:
                complain(where, "a block that does not say what it is: json, sh, text or a language")
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    if counts["json"] == 0 or counts["run"] == 0:
        complain("docs", "nothing was checked")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


sys.exit(main())
