#!/usr/bin/env python3
"""mutations.py <vgpu-run> <board> <llvm-objdump> <seconds> <seed> <program>...

Mutates the machine code of HIP programs, one instruction at a time, and counts which mutants vgpu-run --check reports:

  wait     s_waitcnt becomes s_nop                        the check waits must report it
  barrier  s_barrier becomes s_nop                        races or sync
  index    a load or store accesses the next element      memory

Mutants that are not reported are explained as far as runs without the check and the code show it: "a gap" is a mutant that
the check should have reported. The order of the mutants is random, and the programs alternate until the time is over.
Programs with findings of their own are left out. The status is 1 if there are gaps.
"""
import collections
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

NOP, ILLEGAL = 0xBF800000, 0xBFFF0000
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
CHECKS = {"wait": {"waits"}, "barrier": {"races", "sync"}, "index": {"memory"}}
SEEDS = range(1, 6)
LIMIT = 120  # seconds of a kernel

Instruction = collections.namedtuple("Instruction", "kernel text offset words")
Mutant = collections.namedtuple("Mutant", "program kind instruction words")


def output_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def code_objects(contents, gfx):
    """(offset, size) of the code objects for a chip in the offload bundles of a program."""
    at = contents.find(BUNDLE)
    while at != -1:
        (count,) = struct.unpack_from("<Q", contents, at + len(BUNDLE))
        entry = at + len(BUNDLE) + 8
        if count < 64:
            for _ in range(count):
                offset, size, length = struct.unpack_from("<QQQ", contents, entry)
                name = contents[entry + 24:entry + 24 + length].decode(errors="replace")
                entry += 24 + length
                if name.endswith("-" + gfx) and size != 0:
                    yield at + offset, size
        at = contents.find(BUNDLE, at + 1)


def text_section(code):
    """(address, offset) of .text."""
    (section_offset,) = struct.unpack_from("<Q", code, 40)
    entry_size, count, names = struct.unpack_from("<HHH", code, 58)
    sections = [struct.unpack_from("<IIQQQQ", code, section_offset + i * entry_size) for i in range(count)]
    strings = sections[names][4]
    for name, _, _, address, offset, _ in sections:
        if code[strings + name:].startswith(b".text\0"):
            return address, offset
    sys.exit("mutations: a code object has no .text")


def instructions(contents, gfx, objdump):
    """The instructions of a program's kernels, with their offsets in the file."""
    for start, size in code_objects(contents, gfx):
        code = contents[start:start + size]
        with tempfile.NamedTemporaryFile(suffix=".co") as file:
            file.write(code)
            file.flush()
            listing = output_of([objdump, "-d", "--no-show-raw-insn", file.name])
        address, offset = text_section(code)
        kernel = ""
        for line in listing.splitlines():
            label = re.match(r"[0-9a-f]+ <(\w+)>:", line)
            if label:
                kernel = label[1]
            found = re.match(r"\t(.*?)\s*// ([0-9A-F]{12}): ([0-9A-F ]+)", line)
            if found:
                words = [int(word, 16) for word in found[3].split()]
                yield Instruction(kernel, found[1], start + offset + int(found[2], 16) - address, words)


ACCESS = re.compile(r"(global|buffer|ds)_(?:load|store|read|write)_([a-z]*)(8|16|32|64|128)?(?:x(\d))?( |$)")
ELEMENT_BYTES = {"byte": 1, "ubyte": 1, "sbyte": 1, "short": 2, "ushort": 2, "sshort": 2, "dword": 4}
OFFSET_BITS = {"global": 12, "buffer": 12, "ds": 16}  # of gfx9; that of global instructions has a sign bit above


def shifted(text, words):
    """The words of a load or store whose offset is an element larger; None for other instructions."""
    found = ACCESS.match(text)
    if not found:
        return None
    family, element, bits, count, _ = found.groups()
    size = int(bits) // 8 if bits else ELEMENT_BYTES.get(element)
    if size is None:
        return None
    size *= int(count or 1)
    limit = 1 << OFFSET_BITS[family]
    is_negative = family == "global" and words[0] & limit
    if is_negative or (words[0] & limit - 1) + size >= limit:
        return None
    return [words[0] + size] + words[1:]


def mutants_of(program, gfx, objdump):
    with open(program, "rb") as file:
        contents = file.read()
    found = []
    for instruction in instructions(contents, gfx, objdump):
        name = instruction.text.split()[0]
        if name == "s_waitcnt":
            found.append(Mutant(program, "wait", instruction, [NOP]))
        elif name == "s_barrier":
            found.append(Mutant(program, "barrier", instruction, [NOP]))
        elif (words := shifted(instruction.text, instruction.words)) is not None:
            found.append(Mutant(program, "index", instruction, words))
    return found


class Runner:
    def __init__(self, vgpu_run, board, folder):
        self.vgpu_run, self.board, self.folder = vgpu_run, board, folder

    def run(self, program, instruction=None, words=(), check=True, **variables):
        """(status, checks that reported something); status None: the time limit."""
        if instruction is not None:
            with open(program, "rb") as file:
                contents = bytearray(file.read())
            struct.pack_into(f"<{len(words)}I", contents, instruction.offset, *words)
            program = os.path.join(self.folder, "mutant")
            with open(program, "wb") as file:
                file.write(contents)
            os.chmod(program, 0o755)
        log = os.path.join(self.folder, "findings")
        open(log, "w").close()
        options = ["--check", "--check-output", "json", "--check-log", log] if check else []
        try:
            command = [self.vgpu_run, "--gpu", self.board, "--watchdog", str(LIMIT), *options, program]
            status = subprocess.run(command, capture_output=True, timeout=2 * LIMIT, check=False,
                                    env=dict(os.environ, **variables)).returncode
        except subprocess.TimeoutExpired:
            status = None
        with open(log) as file:
            return status, {json.loads(line)["tool"] for line in file}


def name_of(program):
    return os.path.basename(program)


REGISTER = re.compile(r"\b([vs])(?:(\d+)\b|\[(\d+):(\d+)\])")


def registers(text):
    found = set()
    for kind, single, first, last in REGISTER.findall(text):
        numbers = [int(single)] if single else range(int(first), int(last) + 1)
        found.update((kind, number) for number in numbers)
    return found


def successors(listing, at):
    """Indices of the instructions that may follow; None if they are unknown."""
    instruction = listing[at]
    name = instruction.text.split()[0]
    if name.startswith(("s_setpc", "s_swappc")):
        return None
    following = [] if name in ("s_endpgm", "s_branch") else [at + 1]
    if name.startswith(("s_branch", "s_cbranch")):
        distance = instruction.words[0] & 0xFFFF
        target = instruction.offset + 4 + 4 * (distance - (distance >> 15 << 16))
        following.append(next((i for i, each in enumerate(listing) if each.offset == target), len(listing)))
    return [i for i in following if i < len(listing)]


def is_wait(instruction):
    return instruction.text.startswith("s_waitcnt")


def pending_registers(listing, end):
    """Registers whose loads may be pending before an instruction. Every wait counts as one for all loads."""
    pending = {0: frozenset()}
    work = [0]
    while work:
        at = work.pop()
        text = listing[at].text
        after = frozenset() if is_wait(listing[at]) else pending[at]
        if re.match(r"(global|flat|buffer)_load|ds_read|s_load|s_buffer_load|.*_atomic.* glc", text):
            after |= registers(text.split(",")[0])
        for i in successors(listing, at) or ():
            if i not in pending or not after <= pending[i]:
                pending[i] = after | pending.get(i, frozenset())
                work.append(i)
    return pending.get(end, frozenset())


def why_wait_is_not_missed(listing, removed):
    """What the code around a deleted wait says about it, without the check's own analysis."""
    pending = pending_registers(listing, removed)
    if not pending:
        return "no load is pending; the wait orders memory"
    seen, work = set(), [removed + 1]
    while work:
        at = work.pop()
        if at in seen or at >= len(listing):
            continue
        seen.add(at)
        if is_wait(listing[at]):
            continue
        if registers(listing[at].text) & pending:
            return "a pending register is used: a gap"
        following = successors(listing, at)
        if following is None:
            return "undecided, because of an indirect branch"
        work += following
    return "no pending register is used before another wait"


def explain(runner, mutant, gfx, objdump):
    """Why no check reports the mutant."""
    instruction = mutant.instruction
    status, _ = runner.run(mutant.program, instruction, [ILLEGAL], check=False)
    if status == 0:
        return "never executed"
    if mutant.kind == "wait":
        with open(mutant.program, "rb") as file:
            listing = [each for each in instructions(file.read(), gfx, objdump) if each.kernel == instruction.kernel]
        at = [each.offset for each in listing].index(instruction.offset)
        return why_wait_is_not_missed(listing, at)
    if mutant.kind == "barrier":
        for seed in SEEDS:
            status, _ = runner.run(mutant.program, instruction, mutant.words, check=False,
                                   VGPU_SCHEDULE=f"random:{seed}", VGPU_COMPILER="off")
            if status != 0:
                return "the result differs in a random schedule: a gap"
        return f"the result is right in {len(SEEDS)} random schedules"
    status, _ = runner.run(mutant.program, instruction, mutant.words, check=False)
    return "the bytes are within memory that the check knows; the result is " + ("right" if status == 0 else "wrong")


def main():
    vgpu_run, board, objdump = sys.argv[1:4]
    seconds, seed = int(sys.argv[4]), int(sys.argv[5])
    boards = [line.split() for line in output_of([vgpu_run, "--list"]).splitlines()]
    gfx = next(words[1] for words in boards if board in words[:2])
    if not gfx.startswith("gfx9"):
        sys.exit(f"mutations: {board}: the encodings of {gfx} are unknown; use a board of gfx9")
    counts = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(vgpu_run, board, folder)
        queues = []
        for program in sys.argv[6:]:
            status, found = runner.run(program)
            if status != 0 or found:
                print(f"{name_of(program)}: left out: status {status}, findings by {sorted(found) or 'no check'}")
                continue
            mutants = mutants_of(program, gfx, objdump)
            random.Random(seed).shuffle(mutants)
            queues.append(mutants)
        total = sum(len(queue) for queue in queues)
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(queues):
            for queue in queues:
                if not queue or time.monotonic() >= end:
                    continue
                mutant = queue.pop()
                status, found = runner.run(mutant.program, mutant.instruction, mutant.words)
                if found & CHECKS[mutant.kind]:
                    result = "found"
                elif found:
                    result = "found by another check: " + ", ".join(sorted(found))
                elif status is None or status == 124:
                    result = "the program does not end"
                else:
                    result = "not found: " + explain(runner, mutant, gfx, objdump)
                counts[mutant.kind][result] += 1
                if "a gap" in result:
                    instruction = mutant.instruction
                    print(f"{name_of(mutant.program)}: {instruction.kernel}: {instruction.text}: {result}", flush=True)
    done = sum(sum(counter.values()) for counter in counts.values())
    print(f"{done} of {total} mutants of {len(queues)} programs on {board} (seed {seed})")
    for kind, counter in sorted(counts.items()):
        print(f"  {kind}: {sum(counter.values())}")
        for result, count in counter.most_common():
            print(f"    {count:5}  {result}")
    return 1 if any("a gap" in result for counter in counts.values() for result in counter) else 0


if __name__ == "__main__":
    sys.exit(main())
