#!/usr/bin/env python3
"""Generates the instruction tables of this directory from LLVM's description of AMDGPU.

  llvm-tblgen-19 -I llvm/include -I llvm/lib/Target/AMDGPU llvm/lib/Target/AMDGPU/AMDGPU.td --dump-json > amdgpu.json
  generate_tables.py amdgpu.json

writes chips.inc (chips and their families), op.inc (operations), implicit_effects.inc (registers that no operand names,
and the flow of control), memory_shapes.inc (transfers of memory operations), image_shapes.inc (addresses and sizes of
image operations), field_positions.inc (fields of memory instructions), instruction_shapes.inc (encodings and operands),
instructions.inc (one line for each instruction, encoding and generation) and dual_operations.inc (second operations of
VOPD). They are checked in, so that a build needs neither LLVM nor this program.

An instruction shape is an encoding with its fixed bits, the bits of its fields, and its operands. An instruction is a
shape with the values of the fixed bits, and the chips that have it. Fields of arithmetic have the same positions in all
generations, and other ones in each form of an encoding (SDWA, DPP, op_sel): decoder.cpp has them, one reader a form.
"""
import collections
import json
import pathlib
import re
import sys

# The chips of the tables, in the order of the bits of a chip set: a new chip is the last one.
CHIPS = ["gfx801", "gfx802", "gfx803", "gfx805", "gfx810",
         "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c",
         "gfx1010", "gfx1011", "gfx1012", "gfx1013",
         "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036",
         "gfx942",
         "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151",
         "gfx1200", "gfx1201"]
FAMILIES = ["gfx8", "gfx9", "gfx10", "gfx11", "gfx12"]
# The family whose opcodes a family has.
OPCODES = {"gfx8": "gfx8", "gfx9": "gfx8", "gfx10": "gfx10", "gfx11": "gfx11", "gfx12": "gfx12"}
# LLVM's decoder tables, in the order of its search; the last ones serve all chips of a family.
NAMESPACES = {"GFX10_B", "GFX80_UNPACKED", "GFX9_DL", "GFX90A", "GFX940", "GFX8", "GFX9", "GFX10", "GFX11_FAKE16",
              "GFX11", "GFX12_FAKE16", "GFX12"}
KINDS = ["SDWA", "DPP", "VOP3P", "VOP3", "VOP1", "VOP2", "VOPC", "VINTRP", "SOP1", "SOP2", "SOPC", "SOPK", "SOPP",
         "SMRD", "DS", "FLAT", "MUBUF", "MTBUF", "MIMG", "VIMAGE", "VSAMPLE", "EXP"]
IMAGES = {"MIMG", "VIMAGE", "VSAMPLE"}
OPCODE_ORDER = ["gfx8", "gfx10", "gfx11", "gfx12"]
# gfx11's names of operations that gfx10 has with swapped operands: decoder and disassembler swap them.
SWAPPED = {"ds_cmpstore": "ds_cmpst"}
# Loads to LDS have a modifier before gfx11.
LOADS_TO_LDS = {"buffer_load_lds_b32": "buffer_load_dword", "buffer_load_lds_format_x": "buffer_load_format_x",
                "buffer_load_lds_i8": "buffer_load_sbyte", "buffer_load_lds_u8": "buffer_load_ubyte",
                "buffer_load_lds_i16": "buffer_load_sshort", "buffer_load_lds_u16": "buffer_load_ushort"}
SEGMENT = {"gfx11": 16, "gfx12": 24}  # The bit of SEG of FLAT instructions; 14 in other families.
# gfx12's names of atomics that earlier chips have for other operands.
RENAMED_ATOMICS = {"image_atomic_min_flt": "image_atomic_fmin", "image_atomic_max_flt": "image_atomic_fmax"}
MEMORY = {"SMRD", "DS", "FLAT", "MUBUF", "MTBUF", "EXP"} | IMAGES

# Names with two meanings: the pseudo instruction's name and the operation's. The plain name is that of gfx9 and later,
# which keeps the destination's upper half and has op_sel; the legacy operation clears the half.
RENAMED = {}
for base in ["mad_f16", "mad_u16", "mad_i16", "fma_f16", "div_fixup_f16", "interp_p2_f16"]:
    stem, type_ = base.rsplit("_", 1)
    RENAMED[f"v_{base}"] = f"v_{stem}_legacy_{type_}"
    RENAMED[f"v_{base}_gfx9"] = f"v_{base}"
RENAMED["v_interp_p1_f32_16bank"] = "v_interp_p1_f32"  # The same operation on chips with 16 LDS banks.
for base in ["param", "direct"]:
    RENAMED[f"ds_{base}_load"] = f"lds_{base}_load"
for base in ["min", "max"]:  # gfx12 has no other minimum and maximum of doubles with this meaning.
    RENAMED[f"v_{base}_num_f64"] = f"v_{base}_f64"


class Dump:
    """The records of the dump."""

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
        """Yields (name, record, chips) of each real instruction that one of CHIPS has."""
        for name in sorted(self.records["!instanceof"]["Instruction"]):
            record = self.records[name]
            if record["isPseudo"] or record["isCodeGenOnly"] or record["isAsmParserOnly"] or \
                    record["DecoderNamespace"] not in NAMESPACES or re.search("_gfx12_format$|_M0_gfx12$", name):
                continue  # Second forms of gfx12: buffer instructions that ignore the format, barriers in M0.
            chips = (1 << len(CHIPS)) - 1
            for predicate in record["Predicates"]:
                if predicate["def"] == "UseRealTrue16Insts" and name.startswith("V_MOV_B16_"):
                    continue  # The other operations also have a form with whole registers.
                chips &= self.chips_of_predicate(predicate["def"])
            if chips:
                yield name, record, chips


def kind_of(record):
    for base, kind in (("VOPD", "VOPD"), ("LDSDIR", "LDSDIR"), ("VDSDIR", "LDSDIR")):
        if any(name.startswith(base) for name in record["!superclasses"]):
            return kind
    return next(kind for kind in KINDS if record[kind] == 1)


def mnemonic_of(record):
    return re.sub("_e32$", "", re.match(r"[a-z0-9_]+", record["AsmString"]).group(0))


def renames_memory(chips):
    """Whether the chips are of RDNA 3 or later, which renamed memory operations, has halves of registers as operands,
    and DPP in VOP3."""
    return opcodes_of(chips) in ("gfx11", "gfx12")


def names_lds(text):
    """Whether the mnemonic names LDS as the destination; others have a modifier."""
    return "_load_lds_" in text


def moves_lds(text):
    """Whether data is transferred between memory and LDS, not registers."""
    return text.endswith(" lds") or " lds$" in text or names_lds(text)


def operation_of_pseudo(name):
    name = name.lower()
    while True:
        stripped = re.sub(r"_(e32|e64|sdwa|dpp|dpp8|vgprcd|mac|nosdst|op_?sel|t16|fake16|twoaddr|w32|pseudo|gfx12)$", "", name)
        if stripped == name:
            return RENAMED.get(name, name)
        name = stripped


def families_of(chips):
    return {family_of(chip) for bit, chip in enumerate(CHIPS) if chips >> bit & 1}


def name_operations(instructions):
    """Returns {instruction name: operation}. Arithmetic has the name of its pseudo instruction, which is the same for
    all generations. Memory operations have their mnemonic, which does not include addressing modes: the one before
    gfx11, which renamed them, if there is one."""
    operations, learned, before = {}, {}, {}
    for name, record, chips in sorted(instructions, key=lambda i: opcode_order(i[2])):
        if kind_of(record) in MEMORY:
            mnemonic = mnemonic_of(record)
            for new, old in SWAPPED.items():
                mnemonic = mnemonic.replace(new, old)
            mnemonic = LOADS_TO_LDS.get(mnemonic, mnemonic)
            if record.get("PseudoInstr"):
                pseudo = re.sub("_gfx9$|_vbuffer|_w32|_w64", "", record["PseudoInstr"].lower())
            elif kind_of(record) in IMAGES:
                pseudo = record["BaseOpcode"]["def"].lower()
            else:
                pseudo = mnemonic
            pseudo = RENAMED_ATOMICS.get(pseudo, pseudo)
            if renames_memory(chips):
                mnemonic = before.get(pseudo, mnemonic)
            before[pseudo] = mnemonic
            operations[name] = mnemonic
        elif kind_of(record) == "VOPD":
            operations[name] = operation_of_pseudo("v_" + re.match(r"V_DUAL_(.*)_X_", name)[1])
        elif record.get("PseudoInstr"):
            operations[name] = operation_of_pseudo(record["PseudoInstr"])
            if opcodes_of(chips) == "gfx12" and re.match("v_cvt_.*(fp8|bf8)", operations[name]):
                operations[name] += "_ocp"  # Bytes of the Open Compute Project; those of gfx942 have no infinities.
            for family in families_of(chips):
                learned[family, mnemonic_of(record)] = operations[name]
    for name, record, chips in instructions:
        if name not in operations:
            operations[name] = next(learned[family, mnemonic_of(record)] for family in families_of(chips))
    return operations


def class_of(record, pseudo):
    """Returns the OpClass. LLVM has no bit for v_accvgpr_mov, which is recognized by its source, an AGPR."""
    kind = kind_of(record)
    memory = {"SMRD": "kScalarMemory", "DS": "kGlobalSync" if record["GWS"] == 1 else "kDataShare", "EXP": "kExport",
              "FLAT": "kVectorMemory", "MUBUF": "kVectorMemory", "MTBUF": "kVectorMemory"} | {kind: "kImage" for kind in IMAGES}
    if kind in memory:
        return memory[kind]
    if kind.startswith("SOP"):
        return "kScalar"
    if kind in ("VINTRP", "LDSDIR") or "$attr" in record["AsmString"] or "$waitexp" in record["AsmString"]:
        return "kInterpolation"
    if pseudo.get("IsMAI") == 1 or re.search("_(wmma|swmmac)_", record["AsmString"]) or any(a[0]["def"].startswith("ARegSrc") for a in record["InOperandList"]["args"]):
        return "kMatrix"
    return "kTranscendental" if record.get("TRANS") == 1 else "kVector"


def pseudo_instructions(dump):
    """Returns {PseudoInstr of real instructions: record}."""
    return {r["PseudoInstr"]: r for r in map(dump.records.get, dump.records["!instanceof"]["Instruction"])
            if r["isPseudo"] and r.get("PseudoInstr")}


def family_of(chip):
    """Returns the instruction set: the longest prefix."""
    return max((family for family in FAMILIES if chip.startswith(family)), key=len)


def write_chips(folder):
    lines = ["// Generated by generate_tables.py. RIGEL_CHIP(version, family), in the order of the bits of a chip set"]
    for chip in CHIPS:
        version = f"{int(chip[3:-2])}, {int(chip[-2])}, {int(chip[-1], 16)}"
        lines.append(f"RIGEL_CHIP({version}, k{family_of(chip).capitalize()})  // {chip}")
    (folder / "chips.inc").write_text("\n".join(lines) + "\n")


def write_operations(folder, dump, instructions, operations):
    pseudos = pseudo_instructions(dump)
    families, names, classes = (collections.defaultdict(set) for _ in range(3))
    for name, record, chips in instructions:
        families[operations[name]] |= families_of(chips)
        classes[operations[name]].add(class_of(record, pseudos.get(record.get("PseudoInstr"), record)))
        for family in families_of(chips) if kind_of(record) != "VOPD" else ():
            names[operations[name]].add((family, mnemonic_of(record)))
    lines = ["// Generated by generate_tables.py. RIGEL_OP(name, bit n: family n, class)"]
    for op in sorted(families):
        bits = sum(1 << FAMILIES.index(family) for family in families[op])
        other = collections.defaultdict(list)
        for family, mnemonic in sorted(names[op], key=lambda pair: (FAMILIES.index(pair[0]), pair[1])):
            if mnemonic != op:
                other[mnemonic].append(family)
        note = ", ".join(f"{mnemonic} on {' and '.join(where)}" for mnemonic, where in other.items())
        if "kTranscendental" in classes[op]:  # DPP and SDWA forms lack the bit.
            classes[op].discard("kVector")
        (class_,) = classes[op]
        lines.append(f"RIGEL_OP({op}, {bits}, {class_})" + (f"  // {note}" if note else ""))
    (folder / "op.inc").write_text("\n".join(lines) + "\n")


# What the description lacks or has otherwise: flow of control, flags to add, flags to remove.
ANY = "kAnyRegister"
IMPLICIT = {
    # Its lanes continue one after the other: the stack of the waiting ones is in SGPRs. Not described.
    "s_cbranch_g_fork": ("kFork", {ANY}, set()), "s_cbranch_i_fork": ("kFork", {ANY}, set()),
    "s_cbranch_join": ("kFork", {ANY}, set()),
    # Described as ordinary branches.
    "s_subvector_loop_begin": ("kFork", {ANY}, set()), "s_subvector_loop_end": ("kFork", {ANY}, set()),
    # Returns from a trap handler are not described. A trap handler may change any register.
    "s_rfe_b64": ("kJump", {ANY, "kWritesMode"}, set()), "s_rfe_restore_b64": ("kJump", {ANY, "kWritesMode"}, set()),
    "s_trap": ("kInterruptible", {ANY}, set()), "s_setkill": ("kInterruptible", set(), set()),
    # The code that follows may have been replaced.
    "s_icache_inv": ("kInterruptible", set(), set()),
    # M0 selects the register.
    **{f"s_{op}": (None, {ANY}, set()) for op in ("movrels_b32", "movrels_b64", "movreld_b32", "movreld_b64",
                                                  "movrelsd_2_b32")},
    # The mode bits in M0 are replaced, its index stays; and the reverse.
    "s_set_gpr_idx_mode": (None, {"kReadsM0"}, set()), "s_set_gpr_idx_idx": (None, set(), {"kWritesMode"}),
    "s_setvskip": (None, {"kWritesMode"}, {"kWritesScc"}),  # Described as a comparison.
    "s_quadmask_b32": (None, {"kWritesScc"}, set()), "s_quadmask_b64": (None, {"kWritesScc"}, set()),  # Not described.
    # MSG_GET_DOORBELL returns its result in EXEC.
    "s_sendmsg": (None, {"kWritesExec"}, set()), "s_sendmsghalt": (None, {"kWritesExec"}, set()),
    # Described with and without EXEC, the wrong way round.
    "v_nop": (None, {"kIgnoresExec"}, set()), "v_clrexcp": (None, {"kIgnoresExec"}, set()),
    "v_movrelsd_2_b32": (None, set(), {"kIgnoresExec"}), "v_swaprel_b32": (None, set(), {"kIgnoresExec"}),
}
LOGIC = re.compile("s_(mov|not|and|or|xor|nand|nor|xnor|andn1|andn2|orn1|orn2)(_saveexec|_wrexec)?_b(32|64)$")


def flow_of(record):
    if record["isReturn"]:
        return "kEnd"
    if record["isCall"]:
        return "kCall"
    if record.get("isIndirectBranch"):
        return "kJump"
    if record["isBranch"]:
        return "kBranch" if record["isBarrier"] else "kConditional"
    return "kNext"


def write_implicit_effects(folder, dump, instructions, operations):
    """Writes what arithmetic operations do in all their forms, except with operands."""
    pseudos = pseudo_instructions(dump)
    flags, flows = {}, collections.defaultdict(set)
    for name, record, chips in instructions:
        kind = kind_of(record)
        if kind in MEMORY or kind in ("VOPD", "LDSDIR", "VINTRP"):
            continue
        op, described = operations[name], pseudos.get(record.get("PseudoInstr"), record)
        registers = {(verb, r["def"].capitalize()) for verb, field in (("Reads", "Uses"), ("Writes", "Defs"))
                     for r in record[field]}
        have = {f"k{verb}{register}" for verb, register in registers} - {"kReadsMode"}
        if not kind.startswith("SOP"):
            have = have & {"kReadsVcc", "kReadsM0"} | ({"kIgnoresExec"} if "kReadsExec" not in have else set())
        flags[op] = flags.get(op, have) & have
        flows[op].add(flow_of(described))
    text = ["// Generated by generate_tables.py. RIGEL_IMPLICIT(operation, flow of control, function of mask bits, flags)"]
    for op in sorted(flags):
        (flow,) = flows[op]
        replaced, added, removed = IMPLICIT.get(op, (None, set(), set()))
        have = flags[op] - removed | added
        logic = LOGIC.match(op)
        if logic and logic[2] == "_wrexec":
            have.add("kReturnsNewExec")
        columns = [replaced or flow, f"k{logic[1].capitalize()}" if logic else "kNone",
                   " | ".join(f"implicit::{flag}" for flag in sorted(have)) or "0"]
        if columns != ["kNext", "kNone", "0"]:
            text.append(f"RIGEL_IMPLICIT({op}, {', '.join(columns)})")
    (folder / "implicit_effects.inc").write_text("\n".join(text) + "\n")


# Fields of the description without an operand.
IGNORED_FIELDS = {"SOffsetEn", "Offset"}
VECTOR_TYPES = {"f16": ("kF16", 1), "f32": ("kF32", 1), "f64": ("kF64", 2), "i16": ("kB16", 1), "i32": ("kB32", 1),
                "i64": ("kB64", 2), "v2f16": ("kV2F16", 1), "v2i16": ("kV2B16", 1), "bf16": ("kB16", 1), "v2bf16": ("kV2B16", 1), "v2f32": ("kF32", 2),
                "v2i32": ("kB32", 2)}
GROUPS = {1: "kB32", 2: "kB64", 3: "kB96", 4: "kB128", 5: "kB160", 6: "kB192", 8: "kB256", 16: "kB512", 32: "kB1024"}
IMMEDIATES = {"FP16": "kF16", "FP32": "kF32", "FP64": "kF64", "INT16": "kB16", "INT32": "kB32", "INT64": "kB64",
              "V2INT16": "kV2B16", "V2FP16": "kV2F16", "V2INT32": "kB32", "V2FP32": "kF32", "BF16": "kB16",
              "V2BF16": "kV2B16", "FP32_DEFERRED": "kF32", "FP16_DEFERRED": "kF16"}


class Layout:
    """The bits of an instruction: fixed bits with their values, and bits of fields."""

    def __init__(self, record):
        self.mask = self.value = self.live = 0
        self.fields = collections.defaultdict(int)
        arguments = {a[1] for kind in ("InOperandList", "OutOperandList") for a in record[kind]["args"]}
        for i, bit in enumerate(record["Inst"][:64]):
            if isinstance(bit, int):
                self.mask |= 1 << i
                self.value |= bit << i
            elif bit is not None and "var" in bit and bit["var"] not in IGNORED_FIELDS:
                if bit["var"] in arguments or bit["kind"] == "varbit":
                    self.live |= 1 << i
                    self.fields[bit["var"]] |= 1 << i
        if record["Size"] == 4:
            self.mask &= 0xffffffff
            self.value &= 0xffffffff


class Operands:
    """Register file, type and number of dwords of operand classes."""

    def __init__(self, records):
        self.records = records

    def dwords(self, register_class):
        record = self.records[register_class]
        if record["Size"]:
            return max(1, record["Size"] // 32)
        widths = {"i1": 64, "f64": 64, "i64": 64, "i32": 32, "f32": 32, "i16": 32, "f16": 32}
        for value_type in record["RegTypes"]:
            name = value_type["def"]
            if name in widths and name != "i1":
                return max(1, widths[name] // 32)
            vector = re.match(r"v(\d+)[if](\d+)$", name)
            if vector:
                return max(1, int(vector[1]) * int(vector[2]) // 32)
        raise ValueError(register_class)

    def read(self, name, value_type):
        """Returns (file, type, dwords) of an operand class; None unless it is a register or a constant."""
        record = self.records[name]
        if "RegisterClass" in record["!superclasses"]:
            register_class, immediate = name, None
        elif "RegisterOperand" in record["!superclasses"]:
            register_class = record["RegClass"]["def"]
            immediate = re.match(r"OPERAND_REG_(IMM|INLINE_C|INLINE_AC)_(.*)", record["OperandType"])
        elif name == "SplitBarrier":
            return "kSource", "kI32", 1
        else:
            return None
        method = record.get("DecoderMethod", "")
        if name == "SDWAVopcDst":
            return "kSdwaMask", "kMask", 0
        if name in ("VOPDstS64orS32", "SSrc_i1") or register_class in ("SReg_1", "SReg_1_XEXEC"):
            return ("kSource" if immediate else "kMask"), "kMask", 0
        dwords = self.dwords(register_class)
        type_ = IMMEDIATES[immediate[2]] if immediate else None
        if type_ is None or type_ in ("kB32", "kB64"):
            known = VECTOR_TYPES.get(value_type)
            type_ = known[0] if known and known[1] == dwords else GROUPS.get(dwords, "kB32")
        if register_class.startswith("AReg") or register_class.startswith("AGPR"):
            file = "kAcc"
        elif name.startswith("AVSrc"):
            file = "kVectorOrAcc"
        elif register_class.startswith(("VGPR", "VReg", "AV_")) and "Src" not in method:
            file = "kVector"
        elif register_class.startswith(("VGPR", "VReg")) and not immediate:
            file = "kVectorSource"
        elif register_class.startswith(("SReg", "SGPR")) and not immediate:
            file = "kScalar"
        else:
            file = "kSource"
        if name.startswith(("ADst", "VDst")):
            file = "kAcc" if name[0] == "A" else "kVector"
        elif file == "kAcc" and "Src" in name:
            file = "kAccSource"
        return file, type_, dwords


def refine(op, operands):
    """Adds the signedness of integers, which is only in names; the description has widths."""
    tokens = set(re.findall(r"(?<=_)([iu])(16|32|64)(?=_|$)", op))
    refined = []
    for file, type_, dwords in operands:
        width = re.match(r"kB(16|32|64)$", type_)
        signs = {sign for sign, bits in tokens if width and bits == width[1]}
        if len(signs) == 1 and dwords in (1, 2):
            type_ = f"k{signs.pop().upper()}{width[1]}"
        refined.append((file, type_, dwords))
    return refined


class Row:
    """One instruction in one encoding."""

    def __init__(self, name, record, chips, op, operands, value_types, packed, selects_destination):
        self.operand_records = operands.records
        self.name, self.record, self.chips, self.op = name, record, chips, op
        self.mnemonic = mnemonic_of(record)
        self.kind = kind_of(record)
        self.layout = Layout(record)
        self.mask, self.value, self.live = self.layout.mask, self.layout.value, self.layout.live
        self.dwords = record["Size"] // 4
        self.flags = set()
        self.slots = {}
        self.named = {}
        self.second = None  # VOPD: the second operation's code and name.
        text = record["AsmString"]
        for kind in ("OutOperandList", "InOperandList"):
            for argument, field in record[kind]["args"]:
                read = operands.read(argument["def"], value_types.get(field))
                if read:
                    self.named[field] = read
        if self.kind in ("SDWA", "DPP"):
            self.flags.add({"SDWA": "kSdwa", "DPP": "kDpp8" if "dpp8" in text else "kDpp"}[self.kind])
        if self.kind in MEMORY:
            self._free_addresses()
            self._slots_memory(record, text)
        elif self.kind == "VOPD":
            self.flags.add("kNoSuffix")
            self.second = (self.value >> 17 & 31, operation_of_pseudo("v_" + re.search(r"_X_(.*)_gfx", name)[1]),
                           re.search(r":: ([a-z0-9_]+)", text)[1])
        elif self.kind == "LDSDIR":
            self.slots["dst0"] = self.named["vdst"]
            self.flags.add("kNoSuffix")
            if "$attr" in text:
                self.flags.add("kInterpolation")
        else:
            self._slots_arithmetic(record, text, packed, selects_destination)
            self._true16(record, text)
            self._scalar_floats()
        self.encoding = self._encoding()

    def _free_addresses(self):
        """gfx12: the form of a buffer instruction may have any format, and that of an image instruction all addresses."""
        if opcodes_of(self.chips) != "gfx12":
            return
        free = 0x7f << 55 if self.kind == "MUBUF" else 0xff << 56 if self.kind == "VIMAGE" else 0
        self.mask &= ~free
        self.value &= ~free
        self.live |= free if self.kind == "VIMAGE" else 0

    def _scalar_floats(self):
        """Types of the scalar floating-point operations, which the description has as dwords."""
        words = self.op.split("_")
        if not self.kind.startswith("SOP") or not {"f16", "f32"} & set(words):
            return
        result = words[2 if words[2] != "hi" else 3] if words[1] == "cvt" else words[-1]
        for slot, (file, type_, dwords) in self.slots.items():
            word = result if slot == "dst0" else words[-1]
            if re.match("[fiu](16|32)$", word):
                self.slots[slot] = file, "k" + word.upper(), dwords

    def _true16(self, record, text):
        """gfx11 and later: 16-bit operands are halves of registers, in VOP1, VOP2 and VOPC by the top bit of the register's
        number, otherwise by op_sel. LLVM 19 describes forms without halves, too."""
        if not renames_memory(self.chips) or self.kind.startswith("SOP"):
            return
        if self.op.endswith("class_f16") and self.kind == "VOP3":  # The classes are a dword, as in LLVM.
            self.slots["src1"] = (self.slots["src1"][0], "kB32", 1)
        if self.kind == "DPP" and self.dwords == 2:  # Sign modifiers of integers, which do not exist.
            self.live &= ~{"v_mov_b16": 15 << 52, "v_ldexp_f16": 3 << 54}.get(self.op, 0)
        short = {slot: operand for slot, operand in self.slots.items()
                 if re.match("k[BFIU]16$", operand[1]) and operand[2] == 1 and operand[0] in ("kVector", "kVectorSource", "kSource")}
        is_long = self.value >> 26 & 63 in (0x35, 0x33)
        if not is_long:
            low = {"dst0": "vdst"}
            classes = {a[1]: a[0]["def"] for k in ("OutOperandList", "InOperandList") for a in record[k]["args"]}
            records = self.operand_records
            for slot, operand in self.slots.items():
                name = classes.get(low.get(slot, slot))
                if name is None or operand[0] not in ("kVector", "kVectorSource", "kSource"):
                    continue
                inner = records[name].get("RegClass", {"def": name})
                is_low = "Lo128" in name or "Lo128" in str(inner["def"])
                if is_low and slot not in short:  # The description of a DPP8 form lacks types.
                    short[slot] = self.slots[slot] = (operand[0], "kB16", operand[2])
                elif slot in short and not is_low:
                    raise ValueError(f"{self.name}: {operand} has the registers {name}")
        if short and (not is_long or "$op_sel" not in text):
            self.flags.add("kTrue16")
            if is_long:
                bits = {"src0": 1 << 11, "src1": 1 << 12, "src2": 1 << 13, "dst0": 1 << 14}
                for slot in short:
                    self.live |= bits[slot]
                    self.mask &= ~bits[slot]
                    self.value &= ~bits[slot]

    def _slots_arithmetic(self, record, text, packed, selects_destination):
        ins = [a[1] for a in record["InOperandList"]["args"]]
        outs = [a[1] for a in record["OutOperandList"]["args"]]
        defs, uses = ({r["def"] for r in record[k]} for k in ("Defs", "Uses"))
        vcc = ("kVcc", "kMask", 0)
        compare = self.op.startswith("v_cmp")
        if "vdst" in outs:
            self.slots["dst0"] = self.named["vdst"]
            if "vdst1" in outs:  # v_swap writes both.
                self.slots["dst1"] = ("kSameAsSrc0",) + self.named["vdst1"][1:]
            elif "sdst" in outs:
                self.slots["dst1"] = self.named["sdst"]
            elif "VCC" in defs and not compare:
                self.slots["dst1"] = vcc
        elif "vdst" in ins:  # v_movreld: the indexed register is additional.
            self.slots["dst0"] = self.named["vdst"]
        elif "sdst" in outs:
            self.slots["dst0"] = self.named["sdst"]
        if compare:
            if "dst0" not in self.slots:
                self.slots["dst0"] = vcc if "VCC" in defs else ("kExec", "kMask", 0)
            elif "vcc," in text:
                self.slots["dst0"] = vcc
            if self.op.startswith("v_cmpx") and self.slots["dst0"][0] != "kExec":
                self.slots["dst1"] = ("kExec", "kMask", 0)
        for i in range(3):
            if f"src{i}" in ins and f"src{i}" in self.named:
                self.slots[f"src{i}"] = self.named[f"src{i}"]
        if self.op == "s_get_barrier_state":
            self.slots["dst0"] = ("kScalar", "kB32", 1)
        if self.op.startswith("s_sendmsg_rtn"):  # The message's number is in the source's field.
            self.slots.pop("src0", None)
        if self.kind == "VINTRP" and "vsrc" in self.named:
            self.slots["src0"] = self.named["vsrc"]
        if "sdst" in ins and self.kind == "SOP1":  # s_movreld: the indexed register is additional.
            self.slots["dst0"] = self.named["sdst"]
        elif "sdst" in ins:  # SOPK and others read their destination field.
            self.slots["src0"] = ("kScalarDst",) + self.named["sdst"][1:]
        constraints = record["Constraints"]
        if re.search(r"\$[vs]dst = \$src2|\$src2 = \$[vs]dst", constraints):
            self.slots["src2"] = ("kSameAsDst",) + self.slots["dst0"][1:]
        if self.op == "v_pk_fmac_f16":  # Missing in the description.
            self.slots["src2"] = ("kSameAsDst",) + self.slots["dst0"][1:]
        if re.search(r"\$vdst = \$src1", constraints):
            self.slots["src1"] = ("kSameAsDst",) + self.slots["dst0"][1:]
        if "$vdst = $vdst_in" in constraints and "src2" not in self.slots:
            if renames_memory(self.chips) and "$op_sel" in text:
                self.flags.add("kOldDst")
            self.slots["src2"] = ("kSameAsDst",) + self.slots["dst0"][1:]
        if re.search(r"\$sdst = \$src0", constraints):
            self.slots["src0"] = ("kSameAsDst",) + self.slots["dst0"][1:]
        if "VCC" in uses and "src2" not in self.slots and self.kind not in ("SOP1", "SOP2", "SOPP"):
            self.slots["src2"] = vcc
        if "imm" in ins and self.kind in ("VOP2", "SOP2"):  # v_madmk: S1, v_madak: S2
            constant = ("kLiteral",) + self.slots["src0"][1:]
            if text.index("$imm") < text.index("$src1"):
                self.slots["src1"], self.slots["src2"] = constant, self.slots["src1"]
                self.flags.add("kConstantSecond")
            else:
                self.slots["src2"] = constant
                self.flags.add("kConstantThird")
        modifiers = {a[1]: a[0]["def"] for a in record["InOperandList"]["args"]}
        for field in ("src0", "src1", "src2"):  # Modifiers that are not printed, or of integers, do not exist.
            hidden = f"${field}_modifiers" not in text
            integer = modifiers.get(field + "_modifiers", "").startswith("Int") and self.kind != "SDWA"
            if field + "_modifiers" in self.layout.fields and (hidden or integer) and self.kind != "VOP3P" and \
                    "$neg_lo" not in text:
                keep = 0x7800 if "$op_sel" in text else 0
                self.live &= ~(self.layout.fields[field + "_modifiers"] & ~keep)
        if record.get("IsSingle") == 1 or record["VOP3P"] == 1 or re.match(r"[a-z0-9_]+ \$vdst", text):
            self.flags.add("kNoSuffix")
        if "$byte_sel" in text:
            self.flags.add("kByteSel")
        if "$op_sel" in text:
            self.flags.add("kOpSel")
            if self.op.startswith("v_permlane"):
                self.flags.add("kOpSelOfTwo")
            elif selects_destination:
                self.flags.add("kOpSelOfDst")
        if packed:
            self.flags.add("kPacked")
        if "_mix" in self.op and (record["VOP3P"] == 1 or renames_memory(self.chips)):
            self.flags.add("kMix")
        if "$attr" in text:
            self.flags.add("kInterpolation")
        if record["IsMAI"] == 1 or "$cbsz" in text:
            self.flags.add("kMatrix")
        if "_wmma_" in text or "_swmmac_" in text:
            self.flags.add("kWaveMatrix")
            if opcodes_of(self.chips) == "gfx12":
                self.flags.add("kSplit")
            if "_swmmac_" in text:  # The indices of A's elements are S2; a field chooses among those of a register.
                self.flags.add("kSparse")
                self.mask &= ~(3 << 11)
                self.value &= ~(3 << 11)
                self.live |= 3 << 11
            elif "_i32_" in text:  # LLVM describes the constants of doubles.
                self.slots["src2"] = (self.slots["src2"][0], "kB256", 8)
        if "$waitexp" in text:
            self.flags.add("kInRegister")
        if "$idx" in text:  # v_smfmac: the indices of A's elements are S2, and the destination is also C.
            self.slots["src2"] = self.named["idx"]
            self.flags.add("kSparse")
        for field, flag in (("SOPPBrTarget", "kBranch"), ("SWaitCnt", "kWaitCount"), ("SendMsg", "kMessage"),
                            ("hwreg", "kHardwareRegister"), ("DepCtr", "kDependency"), ("Endpgm", "kEndProgram"),
                            ("VersionImm", "kVersion"), ("SDelayALU", "kDelay"), ("GPRIdxMode", "kIndexMode"), ("s16imm", "kSigned"),
                            ("u16imm", "kUnsigned"), ("i16imm", "kConstant"), ("i32imm", "kConstant")):
            if any(a[0]["def"] == field for a in record["InOperandList"]["args"]):
                self.flags.add(flag)
        if self.op == "s_set_gpr_idx_on":
            self.slots.pop("src1", None)

    def _slots_memory(self, record, text):
        """dst0: loaded or returned data; src0: the address; src1, src2: stored data."""
        named = self.named
        for slot, fields in (("dst0", ("vdst", "sdst")), ("src0", ("vaddr", "vaddr0", "addr")),
                             ("src1", ("vdata", "data0", "sdata")), ("src2", ("data1",))):
            for field in fields:
                if field in named and (field in self.layout.fields or self.kind != "DS"):
                    self.slots[slot] = named[field]
        if self.kind == "SMRD" and "sbase" in named:
            self.slots["src0"] = named["sbase"]
        if self.kind == "SMRD" and "i8imm" in {a[0]["def"] for a in record["InOperandList"]["args"]}:
            self.flags.add("kImmediateData")
        if "_load_tr_" in self.op:
            self.flags.add("kSplit")
        if "_prefetch_" in self.op:
            self.flags.add("kPrefetch")
        if any(self.mnemonic.startswith(new) for new in SWAPPED):
            self.flags.add("kSwapped")
        if "$offset0" in text:
            self.flags.add("kTwoOffsets")
        if self.kind == "DS" and text.endswith(" gds"):
            self.flags.add("kAlwaysGds")
        if "offset" in self.layout.fields and record["DS"] == 1 and "Swizzle" in str(record["InOperandList"]):
            self.flags.add("kSwizzle")
        if record["IsAtomicRet"] == 1 or record["IsAtomicNoRet"] == 1:
            self.flags.add("kAtomic")
            if "cmpswap" in self.op:
                self.flags.add("kPair")
        if record["mayStore"] == 1 and not record["mayLoad"]:
            self.flags.add("kStore")
        if moves_lds(text):
            self.flags.add("kLds")
            if names_lds(text):
                self.flags.add("kNamesLds")
        if self.kind in IMAGES:
            for field, flag in (("ssamp", "kSampler"), ("samp", "kSampler"), ("d16", "kD16"), ("vdst", "kAtomic"), ("dim", "kDim")):
                if field in named or field in self.layout.fields:
                    self.flags.add(flag)
            if record["Gather4"] == 1:
                self.flags.add("kGather")
            addresses = len([f for f in named if re.match(r"vaddr\d+$", f)])
            if self.kind != "MIMG" and "intersect_ray" not in self.op:
                addresses = 5 if self.kind == "VIMAGE" else 4
            if addresses > 1:
                self.flags.add("kNsa")
                self.slots["src0"] = ("kVector", "kB32", addresses)
            if "intersect_ray" in self.op:
                self.flags.add("kRay")
            self.slots["src1"] = named.get("vdata", named.get("vdst"))

    def _encoding(self):
        direct = {"VOP3": "kVop3", "VOP3P": "kVop3p", "VINTRP": "kVintrp", "SOP1": "kSop1", "SOP2": "kSop2",
                  "SOPC": "kSopc", "SOPK": "kSopk", "SOPP": "kSopp", "SMRD": "kSmem", "DS": "kDs", "MUBUF": "kMubuf",
                  "MTBUF": "kMtbuf", "MIMG": "kMimg", "VIMAGE": "kMimg", "VSAMPLE": "kMimg", "EXP": "kExp", "VOPD": "kVopd", "LDSDIR": "kLdsDirect"}
        if renames_memory(self.chips) and self.kind in ("VOP3", "VOP3P", "DPP"):
            high = {0xcc: "kVop3p", 0xcd: "kVintrp"}.get(self.value >> 24 & 0xff)
            if high or self.value >> 26 & 63 == 0x35:
                return high or "kVop3"
        if self.kind in direct:
            return "kVop3p" if self.kind == "VOP3" and self.value >> 23 & 0x1ff == 0x1a7 else direct[self.kind]
        if self.kind == "FLAT":
            return {0: "kFlat", 1: "kScratch", 2: "kGlobal"}[self.value >> SEGMENT.get(opcodes_of(self.chips), 14) & 3]
        return {0x3e: "kVopc", 0x3f: "kVop1"}.get(self.value >> 25 & 0x3f, "kVop2")

    def shape(self):
        slots = [self.slots.get(slot) for slot in ("dst0", "dst1", "src0", "src1", "src2")]
        present = [slot for slot in slots if slot]
        refined = iter(refine(self.op, present)) if self.kind not in MEMORY else iter(present)
        slots = tuple(next(refined) if slot else None for slot in slots)
        return self.encoding, self.dwords, self.mask, self.live, slots, tuple(sorted(self.flags))


def merge_addressing(rows):
    """Merges rows of one memory operation that differ in the addressing mode: buffers (offset, index), scalar memory
    (immediate, register, both), FLAT with and without SADDR; and atomics with and without a returned value. The bits in
    which they differ become field bits."""
    def free(row):
        gcn, gfx11, gfx12 = (opcodes_of(row.chips) == opcodes for opcodes in ("gfx8", "gfx11", "gfx12"))
        if gfx12 and row.kind in ("MUBUF", "MTBUF", "FLAT"):
            bits = {"kScratch": 1 << 49 | 0x7f, "kGlobal": 0x7f, "kFlat": 0}.get(row.encoding, 3 << 62)
            if row.kind == "MUBUF" and (row.slots.get("src1") or "kLds" in row.flags):
                bits |= 1 << 22
            return bits | (1 << 52 if "kAtomic" in row.flags else 0)
        if gfx11 and row.kind == "MUBUF":
            bits = 0xc0 << 48 | (1 << 53 if row.slots.get("src1") or "kLds" in row.flags else 0)
            return bits | (0x4000 if "kAtomic" in row.flags else 0)
        if gfx11 and row.kind == "MTBUF":
            return 0xc0 << 48
        if gfx11 and row.kind == "FLAT":
            bits = 0xff << 48 if row.encoding == "kScratch" else 0x7f << 48 if row.encoding == "kGlobal" else 0
            return bits | (0x4000 if "kAtomic" in row.flags else 0)
        if row.kind == "MUBUF":
            bits = 0x3000 | (1 << 55 if row.slots.get("src1") or "kLds" in row.flags else 0)
            return bits | (0x4000 if "kAtomic" in row.flags else 0)
        if row.kind == "MTBUF":
            return 0x3000
        if row.kind == "SMRD":
            bits = 0x10000 if "atomic" in row.op else 0
            if "offset" in row.layout.fields or "soffset" in row.layout.fields:
                bits |= (0xfeffffff if gfx12 else 0xfe1fffff) << 32 | (0x24000 if gcn else 0)
            return bits
        if row.kind == "FLAT":
            bits = 0x7f << 48 if row.encoding != "kFlat" else 0
            return bits | (0x10000 if "kAtomic" in row.flags else 0)
        return 0

    groups = collections.OrderedDict()
    for row in rows:
        bits = free(row)
        key = (row.op, row.encoding, row.chips if row.kind != "SMRD" else opcodes_of(row.chips),
               row.mask & ~bits, row.value & ~bits, "kLds" in row.flags) if bits else (row.name,)
        groups.setdefault(key, []).append(row)
    merged = []
    for group in groups.values():
        row = group[0]
        if len(group) > 1:
            fixed = row.mask
            for other in group:
                fixed &= other.mask
            bits = free(row)
            differ = 0
            for other in group:
                differ |= (other.value ^ row.value) & bits | (other.mask ^ row.mask) & bits
                differ |= other.live & bits
            for other in group:
                row.live |= other.live | differ
                row.chips |= other.chips
                row.flags |= other.flags
                for slot, operand in other.slots.items():
                    have = row.slots.get(slot)
                    if have is None or slot == "src0" and operand[2] > have[2] or operand[2] < have[2]:
                        row.slots[slot] = operand if have is None or slot != "src0" or operand[2] > have[2] else have
            row.mask = row.mask & fixed & ~differ
            row.value &= row.mask
        merged.append(row)
    return merged


def opcodes_of(chips):
    """Returns the first family with the same fields and opcodes: gfx9 has those of gfx8."""
    (opcodes,) = {OPCODES[family] for family in families_of(chips)}
    return opcodes


def opcode_order(chips):
    return OPCODE_ORDER.index(opcodes_of(chips))


def number(bits):
    return sum(bit << i for i, bit in enumerate(bits)) if isinstance(bits, list) else bits


def write_images(folder, dump, rows):
    """Writes the properties that determine the number of registers of an image operation: kinds of addresses, and the
    numbers of data and address registers of existing forms."""
    forms = collections.defaultdict(set)
    for name in (name for kind in sorted(IMAGES) for name in dump.records["!instanceof"][kind]):
        record = dump.records[name]
        if not record["isPseudo"] and isinstance(record.get("MIMGEncoding"), dict):
            key = record["BaseOpcode"]["def"], record["MIMGEncoding"]["def"]
            forms[key].add((number(record["VDataDwords"]), number(record["VAddrDwords"])))
    bases = collections.defaultdict(dict)
    for row in rows:
        if row.kind in IMAGES:
            bases[row.op][row.record["BaseOpcode"]["def"]] = None
    lines = {}
    for row in rows:
        if row.kind not in IMAGES or row.op in lines:
            continue
        base = dump.records[next(iter(bases[row.op]))]

        def sizes(which, *encodings):
            return sum(1 << n for n in {form[which] for e in encodings for base in bases[row.op]
                                        for form in forms[base, e]})

        facts = [number(base[field]) for field in ("NumExtraArgs", "Gradients", "G16", "Coordinates", "LodOrClampOrMip")]
        lines[row.op] = facts + [f"{sizes(0, *e):#x}" for e in (("MIMGEncGfx6", "MIMGEncGfx8"), ("MIMGEncGfx90a",),
                                                                ("MIMGEncGfx10Default",), ("MIMGEncGfx11Default",), ("MIMGEncGfx12",))]
        lines[row.op] += [f"{sizes(1, e):#x}" for e in ("MIMGEncGfx10Default", "MIMGEncGfx10NSA", "MIMGEncGfx11Default",
                                                        "MIMGEncGfx11NSA", "MIMGEncGfx12")]
    text = ["// Generated by generate_tables.py. RIGEL_IMAGE(operation, further addresses, gradients, 16-bit gradients,",
            "// coordinates, LOD or clamp or mip level; numbers of data registers that gfx8 and gfx9, gfx90a, gfx10, gfx11,",
            "// gfx12 have, numbers of address registers that gfx10 and gfx11 have, each in a group and one by one, and gfx12;",
            "// one bit a number)"]
    text += [f"RIGEL_IMAGE({op}, {', '.join(map(str, facts))})" for op, facts in sorted(lines.items())]
    (folder / "image_shapes.inc").write_text("\n".join(text) + "\n")


# Properties that only names have: elements smaller than a dword, and kinds of atomics for integers and floats.
SMALL = {"ubyte": (1, False), "sbyte": (1, True), "byte": (1, False), "ushort": (2, False), "sshort": (2, True),
         "short": (2, False), "u8": (1, False), "i8": (1, True), "b8": (1, False), "u16": (2, False), "i16": (2, True),
         "b16": (2, False)}
ATOMICS = {"swap": "kSwap", "wrxchg": "kSwap", "wrxchg2": "kSwap", "wrxchg2st64": "kSwap", "write": "kSwap",
           "cmpswap": "kCmpSwap", "cmpst": "kCmpSwap", "add": "kAdd", "sub": "kSub", "rsub": "kReverseSub",
           "csub": "kClampSub", "smin": "kSmin", "umin": "kUmin", "smax": "kSmax", "umax": "kUmax", "and": "kAnd",
           "or": "kOr", "xor": "kXor", "inc": "kInc", "dec": "kDec", "mskor": "kMaskOr", "wrap": "kWrap",
           "condxchg32": "kCondXchg"}
FLOAT_ATOMICS = {"fcmpswap": "kFloatCmpSwap", "cmpst": "kFloatCmpSwap", "fmin": "kFloatMin", "min": "kFloatMin",
                 "fmax": "kFloatMax", "max": "kFloatMax", "add": "kFloatAdd", "pk": "kPackedAddF16"}


class Access:
    """Transfer between memory and registers. The description has direction, size, part of the register and whether an
    old value is returned; the operation's name has the rest."""

    def __init__(self, op, record, pseudo, operands):
        self.words, self.record, self.pseudo = op.split("_"), record, pseudo
        self.kind, self.text = kind_of(record), record["AsmString"]
        arguments = [a for kind in ("OutOperandList", "InOperandList") for a in record[kind]["args"]]
        read = {field: operands.read(kind["def"], None) for kind, field in arguments}
        status = {"vdata"} if " tfe" in self.text else set()  # The status register follows the data.
        self.dwords = {field: register[2] - (field in status) for field, register in read.items() if register}
        self.verb = self._verb()
        self.given = next((self.dwords[f] for f in ("vdata", "data0", "sdata") if f in self.dwords), 0)
        self.taken = next((self.dwords[f] for f in ("vdst", "sdst", "vdata") if f in self.dwords), 0)

    def _verb(self):
        loads, stores = self.record["mayLoad"] == 1, self.record["mayStore"] == 1
        if self.kind == "DS" and (self.text.endswith(" gds") or "bvh" in self.words or "addr" not in self.dwords and loads and stores):
            return None  # Global wave sync, ordered count, append and consume, stacks of ray traversal.
        if {"ordered", "prefetch", "inv", "wb", "wbinv"} & set(self.words):
            return None  # Also ordered addition.
        if self.kind != "DS" and moves_lds(self.text):
            return "kStore" if "store" in self.words else "kLoad"
        return "kAtomic" if loads and stores else "kLoad" if loads else "kStore" if stores else None

    def _space(self):
        if self.kind == "FLAT":
            at = SEGMENT.get(self.record["DecoderNamespace"].lower(), 14)
            return {(0, 0): "kFlat", (1, 0): "kScratch", (0, 1): "kGlobal"}[tuple(self.record["Inst"][at:at + 2])]
        if self.kind == "SMRD":
            return "kScratch" if "scratch" in self.words else "kBuffer" if self.dwords["sbase"] == 4 else "kGlobal"
        return "kLds" if self.kind == "DS" else "kBuffer"

    def _atomic(self):
        word, type_ = self.words[1], self.words[-1][0]
        if "clamp" in self.words or "cond" in self.words:
            return "kClampSub" if "clamp" in self.words else "kCondSub"
        if self.words[-1] == "bf16":
            return "kPackedAddBf16"
        is_float = type_ == "f"
        if self.kind != "DS":
            word, is_float = self.words[self.words.index("atomic") + 1], self.pseudo["FPAtomic"] == 1
        elif word in ("min", "max") and not is_float:
            word = {"i": "s", "u": "u"}[type_] + word
        return (FLOAT_ATOMICS if is_float else ATOMICS)[word]

    def _bytes(self, atomic, has_pair):
        if "format" in self.words:
            return 0  # The format determines it.
        small = [SMALL[word] for word in self.words if word in SMALL]
        if small:
            return small[0][0]
        if moves_lds(self.text) or "block" in self.words:
            return 4
        if "tr" in self.words:  # In waves of 32.
            return int(self.words[-1][1:]) // 8
        if self.verb == "kLoad":
            return 4 * self.taken // (2 if has_pair else 1)
        if not self.given:  # The operand is in LDS.
            return int(re.search(r"\d+$", self.words[-1])[0]) // 8
        return 4 * self.given // (2 if self.kind != "DS" and atomic.endswith("CmpSwap") else 1)

    def columns(self):
        """Returns the columns as text; None if nothing is transferred."""
        if self.verb is None:
            return None
        is_atomic = self.verb == "kAtomic"
        atomic = self._atomic() if is_atomic else ""
        has_pair, d16 = "$offset0" in self.text, "d16" in self.words
        if self.verb == "kLoad" and d16 != (self.pseudo["TiedSourceNotRead"] == 1):
            raise ValueError(self.text)
        flags = {"kSign": any(word in SMALL and SMALL[word][1] for word in self.words),
                 "kD16": d16, "kHigh": "hi" in self.words, "kAddTid": "addtid" in self.words, "kPair": has_pair,
                 "kFarPair": has_pair and "st64" in self.words[1],
                 "kReturns": is_atomic and self.kind == "DS" and "vdst" in self.dwords,
                 "kSource2": is_atomic and self.kind == "DS" and not self.given,
                 "kTransposes": "tr" in self.words, "kBlock": "block" in self.words}
        components = len(self.words[-1]) if "format" in self.words else 0
        what = [atomic] if is_atomic else [self.verb, components]
        flags = " | ".join(flag for flag, holds in flags.items() if holds)
        return [self._space(), *what, self._bytes(atomic, has_pair), flags or 0]


def write_memory(folder, dump, instructions, operations):
    operands, pseudos, lines = Operands(dump.records), pseudo_instructions(dump), {}
    for name, record, chips in instructions:
        if kind_of(record) not in MEMORY - IMAGES - {"EXP"}:
            continue
        op = operations[name]
        columns = Access(op, record, pseudos[record["PseudoInstr"]], operands).columns()
        if lines.setdefault(op, columns) != columns:
            raise ValueError(f"{name}: {columns}, and {lines[op]} in another form")
    text = ["// Generated by generate_tables.py. RIGEL_MOVE(operation, space, verb, components of a format, bytes of an",
            "// element, flags); RIGEL_ATOMIC(operation, space, what it does, bytes of an element, flags)"]
    text += [f"{'RIGEL_ATOMIC' if len(columns) == 4 else 'RIGEL_MOVE'}({op}, {', '.join(map(str, columns))})"
             for op, columns in sorted(lines.items()) if columns]
    (folder / "memory_shapes.inc").write_text("\n".join(text) + "\n")


def value_types_of(dump):
    """Returns {name of a pseudo instruction: {field: value type}}."""
    types = {}
    for name in dump.records["!instanceof"]["Instruction"]:
        record = dump.records[name]
        if record["isPseudo"] and record.get("PseudoInstr") and isinstance(record.get("Pfl"), dict):
            profile = dump.records[record["Pfl"]["def"]]
            fields = {"vdst": "DstVT", "sdst": "DstVT", "src0": "Src0VT", "src1": "Src1VT", "src2": "Src2VT"}
            types[record["PseudoInstr"]] = {f: profile[k]["def"] for f, k in fields.items()
                                            if isinstance(profile.get(k), dict)}
    return types


# Bits of cache policy in LLVM's operand: (field, bit of the field).
POLICY = {0: ("glc", 0), 1: ("slc", 0), 2: ("dlc", 0), 4: ("scc", 0)}
POLICY_OF_GFX12 = {0: ("hint", 0), 1: ("hint", 1), 2: ("hint", 2), 3: ("scope", 0), 4: ("scope", 1)}
POSITIONED = {"kSmem": {"SMRD"}, "kDs": {"DS"}, "kFlat": {"FLAT"}, "kMubuf": {"MUBUF"}, "kMtbuf": {"MTBUF"},
              "kMimg": IMAGES, "kExp": {"EXP"}}
FIELDS = ["glc", "slc", "dlc", "scc", "hint", "scope", "vaddr", "vdata", "vdst", "saddr", "soffset", "srsrc", "offset",
          "offset0", "offset1", "offen", "idxen", "tfe", "sampler_tfe", "gds", "format", "dim", "unorm", "dmask", "r128",
          "a16", "da", "d16", "lwe", "ssamp", "row"]
SAME_FIELDS = {"rsrc": "srsrc", "samp": "ssamp", "vaddr0": "vaddr"}  # Names of gfx12, and of the first address.


def field_of(row, variable, index):
    """Returns the name of the field and the bit in it; None for bits of cache policy without a field."""
    if variable == "cpol":
        return (POLICY_OF_GFX12 if opcodes_of(row.chips) == "gfx12" else POLICY).get(index)
    if variable == "tfe" and row.kind == "VSAMPLE":
        return "sampler_tfe", index
    return SAME_FIELDS.get(variable, variable), index


def write_positions(folder, rows):
    """Writes where fields of memory instructions are. Some bits are fixed in each form: where forms that differ in one
    modifier differ."""
    text = ["// Generated by generate_tables.py. RIGEL_FIELDS(chips with the same fields, encoding, fields by their low bit and width)"]
    for opcodes in OPCODE_ORDER:
        for encoding, kinds in POSITIONED.items():
            bits, forms = collections.defaultdict(set), {}
            for row in rows:
                if row.kind not in kinds or opcodes_of(row.chips) != opcodes:
                    continue
                forms[row.name] = row.record["Inst"]
                for i, bit in enumerate(row.record["Inst"][:96]):
                    if isinstance(bit, dict) and "var" in bit:
                        field = field_of(row, bit["var"], bit.get("index", 0))
                        if field:
                            bits[field[0]].add((field[1], i))
            for field, pair in {"offen": ("_OFFEN", "_OFFSET"), "idxen": ("_IDXEN", "_OFFSET"), "tfe": ("_TFE_", "_"),
                                "row": ("_ROW", "")}.items():
                for name, inst in forms.items():
                    other = forms.get(name.replace(*pair)) if pair[0] in name and field not in bits else None
                    differ = [i for i in range(64) if other and isinstance(inst[i], int) and inst[i] != other[i]]
                    if len(differ) == 1:
                        bits[field].add((0, differ[0]))
            fields = []
            for field in FIELDS:
                # Accumulation registers have an additional bit, which is not next to the others.
                places = sorted(bits[field])
                if places:
                    low = min(i for index, i in places if index == places[0][0])
                    width = 1
                    while any(i == low + width and index == places[0][0] + width for index, i in places):
                        width += 1
                    fields.append(f".{field} = {{{low}, {width}}}")
            if fields:
                text.append(f"RIGEL_FIELDS({opcodes_name(opcodes)}, {encoding}, {', '.join(fields)})")
    (folder / "field_positions.inc").write_text("\n".join(text) + "\n")


def opcodes_name(opcodes):
    return {"gfx8": "kGcn"}.get(opcodes, f"k{opcodes.capitalize()}")


def add_operands_of_duals(rows):
    """VOPD: the first operation has the operands of its VOP1 or VOP2 form. Returns the forms of the second ones."""
    plain = {(opcodes_of(row.chips), row.op): row for row in rows if row.kind in ("VOP1", "VOP2")}
    duals = {}
    for row in rows:
        if row.second is not None:
            opcodes = opcodes_of(row.chips)
            first = plain[opcodes, row.op]
            row.slots = dict(first.slots)
            row.flags |= first.flags & {"kConstantSecond", "kConstantThird"}
            code, op, mnemonic = row.second
            duals[opcodes, code] = (op, mnemonic, plain[opcodes, op])
    return duals


def write_tables(folder, dump, instructions, operations):
    operands = Operands(dump.records)
    value_types = value_types_of(dump)
    pseudos = pseudo_instructions(dump)
    packed = {name for name, r in pseudos.items() if r["IsPacked"] == 1}
    packed_ops = {operations[name] for name, record, chips in instructions if record.get("PseudoInstr") in packed}
    selects_destination = {name for name, r in pseudos.items() if r["VOP3_OPSEL"] == 1}
    # DPP forms of VOP3 do not have the bit.
    selecting_ops = {operations[name] for name, record, chips in instructions
                     if renames_memory(chips) and record.get("PseudoInstr") in selects_destination}
    rows, seen = [], set()
    types_of_op = {operations[name]: value_types[record["PseudoInstr"]] for name, record, chips in instructions
                   if value_types.get(record.get("PseudoInstr")) and renames_memory(chips)}
    for name, record, chips in instructions:
        pseudo = record.get("PseudoInstr")
        op = operations[name]
        # DPP8 forms name no pseudo instruction.
        same_op = types_of_op.get(op) if renames_memory(chips) and "$dpp8" in record["AsmString"] else None
        known = value_types.get(pseudo) or same_op or value_types.get(f"{op}_e32", {})
        row = Row(name, record, chips, operations[name], operands, known,
                  pseudo in packed or renames_memory(chips) and op in packed_ops,
                  pseudo in selects_destination or renames_memory(chips) and op in selecting_ops)
        key = (row.mask, row.value, chips, row.kind)
        of_wave = any(p["def"] in ("isWave32", "isWave64") for p in record["Predicates"])
        if key in seen or of_wave and row.kind != "VOPD" and not row.flags & {"kWaveMatrix", "kSplit"} or \
                any(p["def"] == "has16BankLDS" for p in record["Predicates"]):
            continue
        seen.add(key)
        rows.append(row)
    write_images(folder, dump, rows)
    write_positions(folder, rows)
    duals = add_operands_of_duals(rows)
    rows = merge_addressing(rows)
    shapes, lines = {}, []
    counts = collections.Counter()
    for row in sorted(rows, key=lambda r: (opcode_order(r.chips), r.op, r.encoding, r.name)):
        shape = row.shape()
        if shape not in shapes:
            prefix = shape[0][1:].lower() + "".join(sorted(f[1:].lower() for f in row.flags & {"kSdwa", "kDpp", "kDpp8"}))
            counts[prefix] += 1
            shapes[shape] = f"{prefix}_{counts[prefix]}"
        word0, word1 = row.value & 0xffffffff, row.value >> 32
        mnemonic = f", {row.mnemonic}" if row.mnemonic != row.op else f", {row.op}"
        lines.append(f"RIGEL_INSTRUCTION({row.op}{mnemonic}, {shapes[shape]}, {row.chips:#08x}, {word0:#010x}, "
                     f"{word1:#010x})")
    (folder / "instructions.inc").write_text("\n".join(
        ["// Generated by generate_tables.py. RIGEL_INSTRUCTION(operation, mnemonic, shape, chips, fixed bits of the",
         "// first dword, of the second). Chips: bits of a ChipSet"] + lines) + "\n")
    text = ["// Generated by generate_tables.py. RIGEL_SHAPE(name, encoding, dwords, mask of the fixed bits, mask of the",
            "// fields, two destinations, three sources, flags)"]
    for (encoding, dwords, mask, live, slots, flags), name in shapes.items():
        spelled = ", ".join(f"RIGEL_OPERAND({s[0]}, {s[1]}, {s[2]})" if s else "RIGEL_NO_OPERAND" for s in slots)
        text.append(f"RIGEL_SHAPE({name}, {encoding}, {dwords}, {mask:#018x}, {live:#018x}, {spelled}, "
                    f"{' | '.join('flag::' + f for f in flags) or 0})")
    (folder / "instruction_shapes.inc").write_text("\n".join(text) + "\n")
    text = ["// Generated by generate_tables.py. RIGEL_DUAL(chips with the same opcodes, code, operation, mnemonic, shape of its",
            "// operands)"]
    text += [f"RIGEL_DUAL({opcodes_name(opcodes)}, {code}, {op}, {mnemonic}, {shapes[row.shape()]})"
             for (opcodes, code), (op, mnemonic, row) in sorted(duals.items())]
    (folder / "dual_operations.inc").write_text("\n".join(text) + "\n")
    print(f"{len(lines)} instructions, {len(shapes)} shapes, {len(set(operations.values()))} operations")


def main():
    folder = pathlib.Path(__file__).resolve().parent
    dump = Dump(sys.argv[1])
    instructions = list(dump.instructions())
    operations = name_operations(instructions)
    write_chips(folder)
    write_operations(folder, dump, instructions, operations)
    write_implicit_effects(folder, dump, instructions, operations)
    write_memory(folder, dump, instructions, operations)
    write_tables(folder, dump, instructions, operations)


if __name__ == "__main__":
    main()
