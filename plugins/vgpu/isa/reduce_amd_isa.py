#!/usr/bin/env python3
"""Reduces AMD's machine-readable instruction sets to amd_isa.tar.xz: the facts that amd_test.cpp compares with our tables.

AMD publishes XML files of up to 12 MB for a chip (gpuopen.com/machine-readable-isa). Dyninst's decoders of CDNA 1 to 3
have their names of encodings, fields and operand types, and list all operands. The facts are taken from there:

  git clone https://github.com/dyninst/dyninst
  reduce_amd_isa.py dyninst/instructionAPI/src/AMDGPU

writes amd_isa.tar.xz. It has a text file for each chip, with two kinds of lines:

  encoding SOP1 OP:8:8:0 SDST:16:7:0 ...      fields: name, first bit, number of bits, bits that the value is shifted
  be802000 S_AND_SAVEEXEC_B64 SOP1 SDST:s:w:2 SSRC0:s:r:2 EXEC:=:rw:2 SCC:=:w:1

An instruction has its fixed bits, name, encoding and operands: field, registers (v: VGPRs, a: AGPRs, s: scalar, =:
implied), r and w for read and written, number of dwords.
"""
import io
import lzma
import pathlib
import re
import sys
import tarfile

DYNINST = {"gfx908": "gfx908", "gfx90a": "gfx90a", "gfx940": "gfx942"}

IMPLIED = {"SSRC_SPECIAL_SCC": "SCC", "SDST_EXEC": "EXEC", "SDST_M0": "M0", "VCC": "VCC", "FLAT_SCRATCH": "FLAT_SCRATCH"}
# Operands that are not registers of the wave.
OTHERS = re.compile(r"PC|DSMEM|SIMM\d+|SENDMSG|HWREG|ATTR|PARAM")


def registers_of(operand):
    if "ACCVGPR" in operand and not operand.startswith(("VGPR_OR", "SRC_VGPR_OR")):
        return "a"
    return "v" if operand.startswith(("VGPR", "SRC")) else "s"


def read_dyninst(folder, chip):
    """Returns fields by encoding, and lines of instructions by encoding."""
    decoder = (folder / f"amdgpu_{chip}_decoder_impl.C").read_text()
    tables = (folder / f"InstructionDecoder-amdgpu-{chip}.h").read_text()
    operands = (folder / "finalizeOperands.C").read_text()
    fields, values, names, lists = {}, {}, {}, {}
    for encoding, body in re.findall(r"::IS_(\w+)\(uint64_t I\)(.*?)return true", decoder, re.S):
        values[encoding] = [int(value, 16) for value in re.findall(r"case (0x[0-9a-f]+)", body)]
    for encoding, body in re.findall(r"::decode(\w+)\(\)\s*\{(.*?)\n    \}", decoder, re.S):
        found = re.findall(r"layout\.(\w+) = \(?longfield<(\d+),(\d+)>\(insn_long\)(?: << (\d+))?", body)
        if found:
            fields[encoding] = {field: (int(low), int(high) - int(low) + 1, int(shift or 0))
                                for field, low, high, shift in found}
    for encoding, body in re.findall(r"(\w+?)_insn_table\[\d+\] =\s*\{(.*?)\}; // end", tables, re.S):
        names[encoding] = re.findall(r'\{\w+,"(\w+)"\}', body)
    for encoding, body in re.findall(r"::finalize(\w+?)Operands\(\)\s*\{(.*?)\n(?:    )?\}\n", operands, re.S):
        for cases, code in re.findall(r"((?:\s*case \d+:|\s*//[^\n]*)+)\n(.*?)break;", body, re.S):
            for number in re.findall(r"case (\d+):", cases):
                lists[encoding, int(number)] = re.findall(
                    r"appendOPR_(\w+)\((?:layout\.)?([^,()]+),(true|false),(true|false)(?:,(\d+))?(?:,(true))?\);", code)

    def text_of(encoding, opcode):
        described = {}
        for operand, place, reads, writes, dwords, _ in lists.get((encoding, opcode), []):
            way = ("r" if reads == "true" else "") + ("w" if writes == "true" else "")
            size = int(dwords or 1)
            field = place.removesuffix("+1")  # The second register of an address.
            if OTHERS.fullmatch(operand):
                continue
            if field not in fields[encoding]:
                field, kind = IMPLIED[operand], "="
                if field in described and way not in described[field][1]:
                    way = "rw"
            else:
                kind = registers_of(operand)
                if encoding in ("ENC_FLAT_GLBL", "ENC_FLAT_SCRATCH"):
                    # The address of an instruction without SADDR, which is the first of two.
                    if field == "SADDR" or field == "ADDR" and field in described:
                        continue
                if place != field:
                    size += described[field][2]
            described[field] = (kind, way, size)
        return "".join(f" {field}:{kind}:{way}:{size}" for field, (kind, way, size) in described.items())

    lines = {}
    for encoding in sorted(fields):
        low, width, _ = fields[encoding]["OP"]
        for value in values[encoding]:
            opcode = value >> low & (1 << width) - 1
            if opcode >= len(names[encoding]):
                continue
            lines.setdefault(encoding, []).append(
                f"{value:08x} {names[encoding][opcode]} {encoding.removeprefix('ENC_')}{text_of(encoding, opcode)}")
    return {encoding.removeprefix("ENC_"): fields[encoding] for encoding in lines}, lines


def write(dyninst, output):
    archive = tarfile.open(fileobj=lzma.open(output, "wb", preset=9 | lzma.PRESET_EXTREME), mode="w")
    for theirs, chip in DYNINST.items():
        fields, lines = read_dyninst(dyninst / theirs, theirs)
        text = "".join(f"encoding {encoding} " +
                       " ".join(f"{field}:{low}:{width}:{shift}" for field, (low, width, shift) in sorted(found.items())) +
                       "\n" for encoding, found in sorted(fields.items()))
        text += "".join(line + "\n" for encoding in sorted(lines) for line in lines[encoding])
        member = tarfile.TarInfo(f"{chip}.txt")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
        print(f"{chip}: {sum(map(len, lines.values()))} instructions")
    archive.close()
    archive.fileobj.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent / "amd_isa.tar.xz")
