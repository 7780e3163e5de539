#!/usr/bin/env python3
"""words.py <root of the sources> [<file>...]

Checks the mechanical rules of docs/style.md in documents, man pages, comments, messages and help texts.
"""

import pathlib
import re
import subprocess
import sys

RULES = [(re.compile(pattern), advice) for pattern, advice in (
    (r"\b[Nn]obody\b|\b[Ss]omebody\b|\b[Ww]hoever\b", "name the thread, caller, process or user"),
    (r"(?:^|[.:;] )Who (?!is|are|was|should)\w", "name the thread, caller, process or user"),
    (r"\b(?:is|are|was|were) (?:no|none)\b(?! (?:longer|more|less|later|earlier|matter|effect))(?<!there is no)"
     r"(?<!there are no)(?<!There is no)(?<!There are no)(?<!there was no)(?<!there were no)(?<!there are none)"
     r"(?<!there is none)", "say 'is not', 'invalid' or 'unknown'"),
    (r"\b(?:is|are|was|were|be|been) told\b|\b(?:tells|told)\b", "say reports, returns, logs"),
    (r"\b[Bb]y turns\b|\bin turns\b", "say alternately"),
    (r"\b[Ss]ince then\b|\buntil now\b|\bno longer\b", "describe today"),
    (r"\bso many\b|\bas many\b(?! (?:\w+ )?as\b)|\bfor so long\b", "name the quantity"),
    (r"\bmend(?:s|ed|ing)?\b", "say fix"),
    (r"\bof (?:its|their|our|one's|his) own\b", "say separate, dedicated or custom"),
    (r"\b[Mm]oreover\b|\blikewise\b|\bwherein\b|\bthereof\b|\bin so many words\b", "use plain words"),
    (r"\bas good as\b|\bby chance\b", "use plain words"),
    (r"\bhas [\w`-]+ (?:fail|run|look|do|wait|start|end|stop)\b", "say makes, causes or lets"),
    (r"\bdevices? of software\b|\bof silicon\b", "say software device, physical GPU"),
    (r"\bprocessor time\b", "say CPU time"),
    (r"\b[Rr]efus(?:e|es|ed|ing)\b", "say reject"),
    (r"\bthe least of\b", "say minimum"),
)]
LONG_SENTENCE = 35
LONG_ROW = 400


def files(root, named):
    listed = subprocess.run(["git", "-c", f"safe.directory={root}", "-C", root, "ls-files", "--cached", "--others",
                             "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
    return [pathlib.Path(root, name) for name in listed if name and (not named or name in named)]


def words_of(line):
    """Returns the line without code spans and targets of links."""
    line = re.sub(r"`[^`]*`", "X", line)
    return re.sub(r"\]\([^)]*\)", "]", line)


def check_line(line):
    for pattern, advice in RULES:
        found = pattern.search(line)
        if found:
            yield f"'{found[0].strip()}': {advice}"


def text_of_manual(lines):
    """Returns the lines of a man page without roff requests. Font requests leave their text; others end a paragraph."""
    literal = False
    for line in lines:
        request = re.match(r"^[.'](\w*)\s*(.*)$", line)
        if request and request[1] in ("nf", "fi"):
            literal = request[1] == "nf"
        if request and request[1] in ("B", "I", "BR", "RB", "BI", "IB", "IR", "RI"):
            yield request[2].replace('"', "")
        else:
            yield "" if request or literal else line


def check_document(path):
    """Yields (line, finding). Paragraphs are joined to measure their sentences."""
    fenced, paragraph, start = False, [], 0
    lines = path.read_text().split("\n")
    if path.parent.name == "man":
        lines = text_of_manual(lines)

    def sentences():
        text = words_of(" ".join(paragraph))
        for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z*`(\[])", text):
            count = len(re.findall(r"[\w'’-]+", sentence))
            if count > LONG_SENTENCE:
                yield start, f"a sentence of {count} words: {' '.join(sentence.split()[:8])} …"

    for number, line in enumerate(lines, 1):
        if re.match(r"^\s*```", line):
            fenced = not fenced
        if fenced:
            continue
        row = line.startswith("|")
        if row and len(line) > LONG_ROW:
            yield number, f"a table row of {len(line)} characters"
        if re.match(r"^\|(?: *\|)+ *$", line) and not re.match(r"^\|[ -:|]*-", line):
            yield number, "a table header without names"
        for finding in check_line(words_of(line)):
            yield number, finding
        if row or not line.strip() or re.match(r"^\s*(?:[*-]|\d+\.|#|```|!\[)", line):
            yield from sentences()
            paragraph, start = [], number
            if not row and line.strip() and not line.startswith("#"):
                paragraph.append(line)
        else:
            if not paragraph:
                start = number
            paragraph.append(line)
    yield from sentences()


STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def split_source(path):
    """Yields (line, comment text, string literals) of each line of a C or C++ source."""
    block = False
    for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
        comment, code = "", line
        if block:
            comment, code = line, ""
            if "*/" in line:
                block = False
                comment, code = line.split("*/", 1)
        bare = STRING.sub(lambda found: '"' + "_" * len(found[1]) + '"', code)
        if "//" in bare:
            at = bare.index("//")
            comment, code = comment + code[at + 2:], code[:at]
        elif "/*" in bare:
            at = bare.index("/*")
            comment, rest = comment + code[at + 2:].split("*/")[0], code[at:]
            block = "*/" not in rest
            code = code[:at]
        yield number, comment, [found[1] for found in STRING.finditer(code)] if not code.startswith("#include") else []


def is_message(text):
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= 3 and " " in text


def main():
    root, named = sys.argv[1], set(sys.argv[2:])
    findings = []
    for path in files(root, named):
        name = str(path.relative_to(root))
        if not path.is_file() or name in ("docs/style.md", "tools/checks/words.py") or "/hsa/" in name:
            continue
        if path.suffix == ".md" or "/man/" in name:
            findings += [f"{name}:{line}: {finding}" for line, finding in check_document(path)]
        elif path.suffix in (".h", ".hpp", ".cpp", ".c", ".inc"):
            test = name.endswith("_test.cpp") or "/testing/" in name or name.startswith("conformance/")
            for number, comment, strings in split_source(path):
                findings += [f"{name}:{number}: {finding}" for finding in check_line(comment)]
                for text in strings:
                    if not test and is_message(text):
                        findings += [f"{name}:{number}: message: {finding}" for finding in check_line(text)]
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings")
    sys.exit(1 if findings else 0)


main()
