// Compares with LLVM 19's tools, if they are installed: random encodings of every instruction, and device
// code in system libraries.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"
#include "plugins/vgpu/isa/instruction_tables.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::isa {
namespace {

namespace fs = std::filesystem;

std::string tool(const char* name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// A temporary directory.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(fs::temp_directory_path() / ("rigel-isa-" + std::to_string(getpid()))) {
    fs::create_directory(path_);
  }
  ~TemporaryDirectory() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::vector<std::string> output_of(const std::string& command) {
  std::vector<std::string> lines;
  const auto close = [](FILE* pipe) { pclose(pipe); };
  const std::unique_ptr<FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
  if (!pipe) return lines;
  char* line = nullptr;
  size_t size = 0;
  for (ssize_t length; (length = getline(&line, &size, pipe.get())) > 0;)
    lines.emplace_back(line, static_cast<size_t>(length));
  std::free(line);
  return lines;
}

/// Normalizes spaces and removes a trailing comment.
std::string tidy(std::string_view text) {
  if (const size_t remark = text.find("//"); remark != std::string_view::npos) text = text.substr(0, remark);
  std::string tidied;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n';
    if (!space) {
      tidied += c;
    } else if (!tidied.empty() && tidied.back() != ' ') {
      tidied += ' ';
    }
  }
  while (!tidied.empty() && tidied.back() == ' ') tidied.pop_back();
  return tidied;
}

struct Sample {
  std::vector<uint32_t> words;
  std::string text;  ///< Empty: rejected.
};

/// Returns encodings of every row of the target with random fields.
std::vector<Sample> samples_of(const Target& target) {
  const char* const draws = std::getenv("RIGEL_DRAWS");
  const char* const seed = std::getenv("RIGEL_SEED");
  const int each = draws != nullptr ? std::atoi(draws) : 2;
  std::mt19937_64 random(seed != nullptr ? std::strtoull(seed, nullptr, 0) : 20);
  std::vector<Sample> samples;
  for (const tables::Row& row : tables::rows()) {
    if (!row.chips.intersects(chip_set(target))) continue;
    const tables::Shape& shape = tables::shapes()[row.shape];
    // LLVM's tools crash if their form of an image instruction has too few addresses.
    if (target.family() >= Family::kGfx11 && shape.has(tables::flag::kNsa)) continue;
    for (int i = 0; i < each; ++i) {
      const uint64_t bits = row.value | (random() & shape.live & ~shape.mask);
      Sample sample{
          {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(random()),
           static_cast<uint32_t>(random()), static_cast<uint32_t>(random())},
          {}};
      Instruction instruction;
      const bool is_valid =
          decode(target, sample.words.data(), sample.words.size(), instruction) == DecodeStatus::kOk;
      if (shape.has(tables::flag::kSdwa) ||
          (shape.has(tables::flag::kDpp8) &&
           (bits & 0x1ff) == 249)) {  // LLVM's tools crash on reserved selects and constants.
        const auto is_constant = [](const Operand& source) {
          return source.exists() && !source.is_vgpr() && source.code >= code::kZero;
        };
        if (!is_valid || is_constant(instruction.src[0]) || is_constant(instruction.src[1])) continue;
      }
      if (is_valid) sample.text = disassemble(target, instruction);
      sample.words.resize(is_valid ? instruction.bytes / 4 : 2);
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

constexpr const char* kMark = "s_nop 0x7abc";

void compare_random(const Target& target) {
  const std::string llvm_mc = tool("llvm-mc-19");
  if (llvm_mc.empty()) GTEST_SKIP() << "no llvm-mc-19";
  const TemporaryDirectory scratch;
  const std::vector<Sample> samples = samples_of(target);
  {
    std::ofstream input(scratch.file("code"));
    for (const Sample& sample : samples) {
      char separator = '[';
      for (const uint32_t word : sample.words) {
        for (unsigned i = 0; i != 4; ++i, separator = ',')
          input << separator << "0x" << std::hex << (word >> (8 * i) & 255);
      }
      input << "]\n[0xbc,0x7a,0x80,0xbf]\n";
    }
  }
  const std::string wave =
      target.major >= 10 ? (target.wave32 ? " -mattr=+wavefrontsize32" : " -mattr=+wavefrontsize64") : "";
  const auto lines = output_of(llvm_mc + " -triple=amdgcn -mcpu=" + name(target) + wave + " -disassemble " +
                               scratch.file("code") + " 2>/dev/null");
  std::vector<std::string> texts(1);
  for (const std::string& line : lines) {
    const std::string text = tidy(line);
    if (text == kMark) {
      texts.emplace_back();
    } else if (!text.empty() && text[0] != '.') {
      texts.back() += text;
    }
  }
  if (texts.size() <= samples.size()) {
    const Sample& last = samples[texts.size() - 1];
    FAIL() << name(target) << ": llvm-mc ended at " << std::hex << last.words[0] << ' '
           << (last.words.size() > 1 ? last.words[1] : 0) << ", " << last.text;
  }
  ASSERT_EQ(texts.size(), samples.size() + 1);
  size_t wrong = 0;
  for (size_t i = 0; i != samples.size(); ++i) {
    const std::string& llvm = texts[i];
    const std::string& ours = samples[i].text;
    if (ours == llvm || (ours.empty() && llvm == "v_illegal")) continue;
    // LLVM 19 needs a feature for VOP3 forms of v_mov_b16.
    if (ours.starts_with("v_mov_b16_e64") && llvm.empty()) continue;
    // LLVM 19 knows upper halves of registers as operands of few instructions.
    if (ours.find(".h") != std::string::npos && llvm.find(".h") == std::string::npos) continue;
    // LLVM 19 puts the mask between the bars of v_cndmask's absolute value.
    if (ours.starts_with("v_cndmask") && llvm.find(", vcc|") != std::string::npos) continue;
    if (ours.starts_with("v_cndmask") && llvm.find(", vcc_lo|") != std::string::npos) continue;
    // LLVM prints invalid registers, sometimes with a comment.
    if (llvm.find("/*Invalid") != std::string::npos) continue;
    if (ours.empty() && llvm.find("/*") != std::string::npos) continue;
    if (ours.empty() && (llvm.find("src_") != std::string::npos || llvm.find("null") != std::string::npos))
      continue;
    if (++wrong <= 10) ADD_FAILURE() << name(target) << "\n  LLVM: " << llvm << "\n  ours: " << ours;
  }
  EXPECT_EQ(wrong, 0u) << "of " << samples.size();
}

class IsaAgainstLlvm : public ::testing::TestWithParam<std::string> {};

TEST_P(IsaAgainstLlvm, DisassemblesRandomEncodingsAlike) {
  auto target = target_of(GetParam());
  ASSERT_TRUE(target);
  compare_random(*target);
  if (target->major < 10) return;
  target->wave32 = true;
  compare_random(*target);
}

INSTANTIATE_TEST_SUITE_P(Chips, IsaAgainstLlvm,
                         ::testing::Values("gfx801", "gfx802", "gfx803", "gfx805", "gfx810", "gfx900",
                                           "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a",
                                           "gfx90c", "gfx942", "gfx1010", "gfx1011", "gfx1012", "gfx1013",
                                           "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035",
                                           "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150",
                                           "gfx1151", "gfx1200", "gfx1201"),
                         [](const auto& chip) { return chip.param; });

/// Assembly that is valid exactly on the chips with a trait.
struct Claim {
  const char* assembly;
  bool (*holds)(const Traits& traits);
};

template <unsigned kId>
bool has_register(const Traits& traits) {
  return (traits.hardware_registers >> kId & 1) != 0;
}

constexpr Claim kClaims[] = {
    {"s_mov_b32 s0, null", [](const Traits& t) { return t.has_null; }},
    {"s_mov_b32 s0, src_shared_base", [](const Traits& t) { return t.has_aperture_operands; }},
    {"v_cmpx_eq_u32_e64 s[0:1], v0, v1", [](const Traits& t) { return t.cmpx_writes_mask; }},
    {"v_mov_b32_dpp v0, v1 wave_shl:1 row_mask:0xf bank_mask:0xf",
     [](const Traits& t) { return t.dpp == DppControls::kWaveShifts; }},
    {"v_mov_b32_dpp v0, v1 row_xmask:1 row_mask:0xf bank_mask:0xf",
     [](const Traits& t) { return t.dpp == DppControls::kRowShares; }},
    {"buffer_store_format_d16_xyzw v[0:1], off, s[4:7], s1", [](const Traits& t) { return t.packs_d16; }},
    {"s_getreg_b32 s0, hwreg(HW_REG_FLAT_SCR_LO)",
     [](const Traits& t) { return has_register<20>(t) && !t.has_xcc_id && !t.has_split_status; }},
    {"s_getreg_b32 s0, hwreg(HW_REG_SCRATCH_BASE_LO)", [](const Traits& t) { return t.has_split_status; }},
    {"s_getreg_b32 s0, hwreg(HW_REG_EXCP_FLAG_USER)", [](const Traits& t) { return t.has_split_status; }},
    {"s_wait_loadcnt 0x0", [](const Traits& t) { return t.has_split_counters; }},
    {"s_getreg_b32 s0, hwreg(HW_REG_XCC_ID)", [](const Traits& t) { return t.has_xcc_id; }},
    {"global_load_dword v0, v[0:1], off sc0", [](const Traits& t) { return t.has_cache_scopes; }},
    {"scratch_load_dword v0, v1, s2", [](const Traits& t) { return t.scratch_adds_registers; }},
    {"v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], a[0:7] neg:[1,0,0]",
     [](const Traits& t) { return t.matrix_negates_doubles; }},
    {"s_sendmsg sendmsg(MSG_GET_DOORBELL)", [](const Traits& t) { return t.has_get_doorbell; }},
    {"s_getreg_b32 s0, hwreg(HW_REG_SH_MEM_BASES)",
     [](const Traits& t) { return has_register<15>(t) && !t.has_split_status; }},
    {"s_getreg_b32 s0, hwreg(HW_REG_TBA_LO)",
     [](const Traits& t) { return has_register<16>(t) && !t.has_split_status; }},
    {"s_getreg_b32 s0, hwreg(HW_REG_XNACK_MASK)", has_register<22>},
    {"s_getreg_b32 s0, hwreg(HW_REG_HW_ID1)", has_register<23>},
    {"s_getreg_b32 s0, hwreg(HW_REG_SHADER_CYCLES)",
     [](const Traits& t) { return has_register<29>(t) && !t.has_split_status; }},
    {"s_getreg_b32 s0, hwreg(HW_REG_SHADER_CYCLES_HI)", has_register<30>},
};

TEST_P(IsaAgainstLlvm, TraitsMatchAssembler) {
  const auto target = target_of(GetParam());
  ASSERT_TRUE(target);
  const Traits* const traits = find_traits(*target);
  ASSERT_NE(traits, nullptr);
  const std::string llvm_mc = tool("llvm-mc-19");
  if (llvm_mc.empty()) GTEST_SKIP() << "no llvm-mc-19";
  const TemporaryDirectory scratch;
  const std::string file = scratch.file("claims.s");
  {
    std::ofstream input(file);
    for (const Claim& claim : kClaims) input << claim.assembly << '\n';
  }
  const std::string wave = target->major >= 10 ? " -mattr=+wavefrontsize64" : "";
  std::set<size_t> rejected;  // Line numbers from 1.
  for (const std::string& line : output_of(llvm_mc + " -triple=amdgcn -mcpu=" + GetParam() + wave +
                                           " -filetype=null " + file + " 2>&1")) {
    if (line.starts_with(file + ":") && line.find(": error:") != std::string::npos) {
      rejected.insert(std::stoul(line.substr(file.size() + 1)));
    }
  }
  EXPECT_LT(rejected.size(), std::size(kClaims));
  for (size_t i = 0; i != std::size(kClaims); ++i) {
    EXPECT_EQ(kClaims[i].holds(*traits), !rejected.contains(i + 1)) << kClaims[i].assembly;
  }
}

/// Returns code objects in a library: [target, bytes].
std::vector<std::pair<std::string, std::string>> bundled_code(const std::string& file) {
  constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  std::vector<std::pair<std::string, std::string>> found;
  const auto number = [&](size_t at) {
    uint64_t value = 0;
    if (at + 8 <= bytes.size()) std::memcpy(&value, bytes.data() + at, 8);
    return value;
  };
  for (size_t at = bytes.find(kMagic); at != std::string::npos; at = bytes.find(kMagic, at + 1)) {
    size_t entry = at + kMagic.size() + 8;
    for (uint64_t count = number(entry - 8); count != 0 && count < 100; --count) {
      const uint64_t offset = number(entry), size = number(entry + 8), length = number(entry + 16);
      if (length > 200 || entry + 24 + length > bytes.size()) break;
      const std::string triple = bytes.substr(entry + 24, length);
      entry += 24 + length;
      const size_t chip = triple.rfind("gfx");
      if (chip == std::string::npos || at + offset + size > bytes.size()) continue;
      found.emplace_back(triple.substr(chip), bytes.substr(at + offset, size));
    }
  }
  return found;
}

TEST(IsaLibraries, DisassemblesRocRandAlike) {
  const std::string objdump = tool("llvm-objdump-19");
  const std::string library = "/usr/lib/x86_64-linux-gnu/librocrand.so.1.1";
  if (objdump.empty() || !fs::exists(library)) GTEST_SKIP() << "no llvm-objdump-19 or no rocRAND";
  const TemporaryDirectory scratch;
  size_t instructions = 0, wrong = 0;
  for (const auto& [chip, code] : bundled_code(library)) {
    auto target = target_of(chip);
    if (!target) continue;
    target->wave32 = target->major >= 10;  // The compilers' default.
    std::ofstream(scratch.file("object"), std::ios::binary) << code;
    for (const std::string& line : output_of(objdump + " -d " + scratch.file("object") + " 2>/dev/null")) {
      // "\ttext   // 000000001000: C0020002 00000024 <label>"
      const size_t remark = line.find("// ");
      const size_t colon = remark == std::string::npos ? remark : line.find(": ", remark);
      if (colon == std::string::npos) continue;
      std::vector<uint32_t> words;
      std::istringstream dump(line.substr(colon + 2));
      for (std::string word; dump >> word && word.size() == 8 && word[0] != '<';)
        words.push_back(static_cast<uint32_t>(std::stoul(word, nullptr, 16)));
      if (words.empty()) continue;
      const std::string llvm = tidy(line);
      Instruction instruction;
      const bool is_valid = decode(*target, words.data(), words.size(), instruction) == DecodeStatus::kOk;
      const std::string ours = is_valid ? disassemble(*target, instruction) : "v_illegal";
      ++instructions;
      const bool same_size = !is_valid || instruction.bytes == words.size() * 4;
      if (ours == llvm && same_size) continue;
      if (++wrong <= 10) ADD_FAILURE() << chip << ' ' << line << "  ours: " << ours;
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(instructions, 100'000u);
  RecordProperty("instructions", static_cast<int>(instructions));
  std::printf("%zu instructions\n", instructions);
}

}  // namespace
}  // namespace rigel::vgpu::isa
