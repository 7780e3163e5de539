#!/usr/bin/env python3
"""links.py <root of the sources>

Checks the links of all documents (*.md) that Git tracks or would add: a relative target exists inside the sources, and
an anchor is a heading of its page. docs/README.md links to every page of docs/. Addresses of the web are not checked.
"""

import os
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")


def documents(root):
    listed = subprocess.run(["git", "-c", f"safe.directory={root}", "-C", root, "ls-files", "--cached", "--others",
                             "--exclude-standard", "*.md"], capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(root / name for name in listed if name and (root / name).is_file())


def text_of(path):
    """The page without fenced blocks. Their lines stay, empty, so that the numbers of lines are right."""
    lines, fenced = [], False
    for line in path.read_text().split("\n"):
        fence = re.match(r"^ *```", line)
        lines.append("" if fence or fenced else line)
        fenced ^= bool(fence)
    return "\n".join(lines)


def anchors(path):
    """The anchors that GitHub and GitLab give to the headings of a page."""
    found, seen = set(), {}
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text_of(path), re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = seen[anchor] = seen.get(anchor, -1) + 1
        found.add(f"{anchor}-{count}" if count else anchor)
    return found


def links(path):
    """(line, target) of each link. A link can begin on one line and end on the next."""
    text = re.sub(r"`[^`\n]*`", lambda code: "X" * len(code[0]), text_of(path))
    for link in LINK.finditer(text):
        yield text.count("\n", 0, link.start(1)) + 1, link[1]


def problem(root, path, target, pages):
    """Why a link leads nowhere, and the file that it leads to."""
    name, _, anchor = target.partition("#")
    file = pathlib.Path(os.path.normpath(path.parent / name)) if name else path
    if not file.is_relative_to(root):
        return "is outside of the sources", None
    if not file.exists():
        return "does not exist", None
    if anchor and file not in pages:
        return "has an anchor, but is not a document", file
    if anchor and anchor not in pages[file]:
        return f"has no heading '#{anchor}'", file
    return None, file


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: anchors(path) for path in documents(root)}
    index = root / "docs/README.md"
    failures, listed, count = [], {index}, 0
    for path in pages:
        for line, target in links(path):
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            why, file = problem(root, path, target, pages)
            if why:
                failures.append(f"{path.relative_to(root)}:{line}: {target}: {why}")
            if path == index:
                listed.add(file)
    for path in pages:
        if path.is_relative_to(index.parent) and path not in listed:
            failures.append(f"docs/README.md: {path.relative_to(index.parent)}: is not linked")
    if count == 0:
        failures.append(f"{root}: no links were found")
    print(f"{count} links of {len(pages)} documents")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


sys.exit(main())
