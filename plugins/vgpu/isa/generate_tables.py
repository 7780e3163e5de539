#!/usr/bin/env python3
"""Makes the instruction tables of this folder from LLVM's description of AMDGPU.

  llvm-tblgen-19 -I llvm/include -I llvm/lib/Target/AMDGPU llvm/lib/Target/AMDGPU/AMDGPU.td --dump-json > amdgpu.json
  generate_tables.py amdgpu.json

writes op.inc. The tables are checked in, so that a build needs neither LLVM nor this program.
"""
import collections
import json
import pathlib
import re
import sys

# The chips that the tables know, in the order of the bits of a chip mask (target.hpp numbers them the same).
CHIPS = ["gfx801", "gfx802", "gfx803", "gfx805", "gfx810",
         "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c",
         "gfx1010", "gfx1011", "gfx1012", "gfx1013",
         "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]
FAMILIES = ["gfx8", "gfx9", "gfx10"]
# Decoder tables in the order in which they are asked; the later ones belong to everybody.
NAMESPACES = {"GFX10_B", "GFX80_UNPACKED", "GFX9_DL", "GFX90A", "GFX8", "GFX9", "GFX10"}
KINDS = ["SDWA", "DPP", "VOP3P", "VOP3", "VOP1", "VOP2", "VOPC", "VINTRP", "SOP1", "SOP2", "SOPC", "SOPK", "SOPP",
         "SMRD", "DS", "FLAT", "MUBUF", "MTBUF", "MIMG", "EXP"]
MEMORY = {"SMRD", "DS", "FLAT", "MUBUF", "MTBUF", "MIMG", "EXP"}

# Operations whose name means two things: the name in the pseudo instruction, and what we call it. The plain name
# is that of gfx9 and later, which keeps the upper half of the destination and has op_sel; the other clears it.
RENAMED = {}
for base in ["mad_f16", "mad_u16", "mad_i16", "fma_f16", "div_fixup_f16", "interp_p2_f16"]:
    stem, type_ = base.rsplit("_", 1)
    RENAMED[f"v_{base}"] = f"v_{stem}_legacy_{type_}"
    RENAMED[f"v_{base}_gfx9"] = f"v_{base}"
RENAMED["v_interp_p1_f32_16bank"] = "v_interp_p1_f32"  # the same on a chip with other banks


def family_of(chip):
    return {3: chip[3], 4: "10"}[len(chip) - 3]


class Dump:
    """The records of the dump that matter."""

    def __init__(self, path):
        self.records = json.load(open(path))
        self.features = {chip: self._closure(chip) for chip in CHIPS}
        self.predicates = {}

    def _closure(self, chip):
        todo = []
        for kind in ("Processor", "ProcessorModel"):
            for name in self.records["!instanceof"].get(kind, []):
                if self.records[name]["Name"] == chip:
                    todo += [f["def"] for f in self.records[name]["Features"]]
        have = set()
        while todo:
            feature = todo.pop()
            if feature not in have:
                have.add(feature)
                todo += [f["def"] for f in self.records[feature]["Implies"]]
        return have

    def _holds(self, term, features):
        if term["kind"] == "def":
            return term["def"] in features
        terms = [self._holds(argument[0], features) for argument in term["args"]]
        return {"all_of": all(terms), "any_of": any(terms), "not": not terms[0]}[term["operator"]["def"]]

    def chips_of_predicate(self, name):
        if name not in self.predicates:
            record = self.records[name]
            mask = 0
            for bit, chip in enumerate(CHIPS):
                condition = record.get("AssemblerCondDag")
                wave = name in ("isWave32", "isWave64")
                if wave or not record["AssemblerMatcherPredicate"] or self._holds(condition, self.features[chip]):
                    mask |= 1 << bit
            self.predicates[name] = mask
        return self.predicates[name]

    def instructions(self):
        """(name, record, chips) of each real instruction that some chip of ours has."""
        for name in sorted(self.records["!instanceof"]["Instruction"]):
            record = self.records[name]
            if record["isPseudo"] or record["isCodeGenOnly"] or record["DecoderNamespace"] not in NAMESPACES:
                continue
            chips = (1 << len(CHIPS)) - 1
            for predicate in record["Predicates"]:
                chips &= self.chips_of_predicate(predicate["def"])
            if chips:
                yield name, record, chips


def kind_of(record):
    return next(kind for kind in KINDS if record[kind] == 1)


def mnemonic_of(record):
    return re.sub("_e32$", "", re.match(r"[a-z0-9_]+", record["AsmString"]).group(0))


def operation_of_pseudo(name):
    name = name.lower()
    while True:
        stripped = re.sub(r"_(e32|e64|sdwa|dpp|dpp8|vgprcd|mac|nosdst|opsel)$", "", name)
        if stripped == name:
            return RENAMED.get(name, name)
        name = stripped


def families_of(chips):
    return {family for bit, chip in enumerate(CHIPS) if chips >> bit & 1
            for family in FAMILIES if chip.startswith(family)}


def name_operations(instructions):
    """{name of the instruction: operation}. Arithmetic is named by its pseudo instruction, which stays the same
    where generations rename; memory operations by their mnemonic, which leaves addressing modes out."""
    operations, learned = {}, {}
    for name, record, chips in instructions:
        if kind_of(record) in MEMORY:
            operations[name] = mnemonic_of(record)
        elif record.get("PseudoInstr"):
            operations[name] = operation_of_pseudo(record["PseudoInstr"])
            for family in families_of(chips):
                learned[family, mnemonic_of(record)] = operations[name]
    for name, record, chips in instructions:
        if name not in operations:
            operations[name] = next(learned[family, mnemonic_of(record)] for family in families_of(chips))
    return operations


def write_operations(folder, instructions, operations):
    families, names = collections.defaultdict(set), collections.defaultdict(set)
    for name, record, chips in instructions:
        families[operations[name]] |= families_of(chips)
        for family in families_of(chips):
            names[operations[name]].add((family, mnemonic_of(record)))
    lines = ["// Generated by generate_tables.py. RIGEL_OP(name, bit 0: gfx8, bit 1: gfx9, bit 2: gfx10)"]
    for op in sorted(families):
        bits = sum(1 << FAMILIES.index(family) for family in families[op])
        other = collections.defaultdict(list)
        for family, mnemonic in sorted(names[op], key=lambda pair: FAMILIES.index(pair[0])):
            if mnemonic != op:
                other[mnemonic].append(family)
        note = ", ".join(f"{mnemonic} on {' and '.join(where)}" for mnemonic, where in other.items())
        lines.append(f"RIGEL_OP({op}, {bits})" + (f"  // {note}" if note else ""))
    (folder / "op.inc").write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(__file__).resolve().parent
    dump = Dump(sys.argv[1])
    instructions = list(dump.instructions())
    operations = name_operations(instructions)
    write_operations(folder, instructions, operations)


if __name__ == "__main__":
    main()
