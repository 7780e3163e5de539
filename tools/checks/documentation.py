#!/usr/bin/env python3
"""documentation.py <root of the sources> <build folder> <scratch folder>

What the documents show is so: every block of code in README.md and docs/ says in its fence what it is, every JSON block is
read by the loader (and its driver's options by the driver), every command line is run, and options of our commands that
are named in the text exist. The info string of a fence decides:

  ```json            a configuration file, or the manifest of a backend
  ```sh              commands, run by a shell in a folder that looks like the root of the sources, with ./program
  ```sh not run: …   commands that a test cannot run, and why
  ```text            what a program prints, grammars, pictures
  ```<language>      anything else that is not run
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

COMMANDS = ("vgpu-run", "rigel-info")

failures = []


def complain(where, text):
    failures.append(f"{where}: {text}")


def blocks(path):
    """(line, info string, text) of each fenced block; indented blocks, which have no info string, are complained of."""
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


def run(command, scratch, bin_folder, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HSA_", "VGPU_", "ROCR_"))}
    environment |= variables | {"PATH": f"{bin_folder}:{environment['PATH']}", "XDG_CONFIG_HOME": str(scratch)}
    return subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=240)


def check_json(where, text, scratch, bin_folder):
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        return complain(where, f"no JSON: {error}")
    file = scratch / "block.json"
    file.write_text(text)
    if "config_version" in document:
        variable, steps = "HSA_PLUGIN_CONFIG", ("config", "driver")
    elif "manifest_version" in document:
        variable, steps = "HSA_ADD_BACKEND_MANIFESTS", ("parsed",)
    elif "library" in document:  # an entry of `plugins`
        file.write_text(json.dumps({"config_version": "1.0", "plugins": [document]}))
        variable, steps = "HSA_PLUGIN_CONFIG", ("config",)
    else:
        return complain(where, "neither a configuration nor a manifest")
    done = run(["rigel-info", "--summary"], scratch, bin_folder, **{variable: str(file), "HSA_LOADER_DEBUG": "all"})
    said = [line for line in done.stderr.split("\n") if re.search(rf"\(({'|'.join(steps)})\): ", line)]
    if not any(str(file) in line for line in said):
        complain(where, f"the loader did not read it:\n{done.stderr}")
    for line in said:
        if re.search(r"\): (failed|warning)", line) and "is required" not in line:
            complain(where, line)


def check_commands(where, text, scratch, bin_folder):
    done = run(["bash", "-euc", text], scratch, bin_folder)
    if done.returncode != 0:
        complain(where, f"exit code {done.returncode}\n{text}{done.stdout[-2000:]}{done.stderr[-2000:]}")


def check_options(path, help_texts):
    for number, line in enumerate(path.read_text().split("\n"), 1):
        for span in re.findall(r"`([^`]+)`", line):
            words = span.split()
            if not words or words[0] not in help_texts:
                continue
            for word in words[1:]:
                if not word.startswith("-"):
                    # A value, or the program that vgpu-run starts, whose options are its own.
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
    for preset in ("dev", "release"):
        (scratch / f"build-{preset}").symlink_to(build)
    (scratch / "program").symlink_to(bin_folder / "rigel-info")  # the reader's
    help_texts = {name: run([name, "--help"], scratch, bin_folder).stdout for name in COMMANDS}
    counts = {"json": 0, "sh": 0, "not run": 0}
    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        check_options(path, help_texts)
        for line, info, text in blocks(path):
            where = f"{path.relative_to(root)}:{line}"
            if info == "json":
                check_json(where, text, scratch, bin_folder)
                counts["json"] += 1
            elif info == "sh":
                check_commands(where, text, scratch, bin_folder)
                counts["sh"] += 1
            elif info.startswith("sh"):
                if not re.match(r"^sh not run: \S.{9,}$", info):
                    complain(where, f"'{info}': commands are run, or say why not: sh not run: <reason>")
                counts["not run"] += 1
            elif not info:
                complain(where, "a block that does not say what it is: json, sh, text or a language")
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    if counts["json"] == 0 or counts["sh"] == 0:
        complain("docs", "nothing was checked")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


sys.exit(main())
