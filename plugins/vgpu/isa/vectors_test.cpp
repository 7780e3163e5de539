// Compares with the encodings and texts of LLVM's disassembler tests (vectors.tar.xz).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::isa {
namespace {

std::vector<uint32_t> words_of(std::string_view hex) {
  std::vector<uint32_t> words(hex.size() / 8);
  for (size_t i = 0; i != words.size() * 4; ++i) {
    const auto byte = static_cast<uint32_t>(std::stoul(std::string(hex.substr(2 * i, 2)), nullptr, 16));
    words[i / 4] |= byte << (8 * (i % 4));
  }
  return words;
}

/// Returns the text, or an error in angle brackets.
std::string text_of(const Target& target, const std::vector<uint32_t>& words) {
  Instruction instruction;
  const DecodeStatus status = decode(target, words.data(), words.size(), instruction);
  if (status != DecodeStatus::kOk) return "<illegal>";
  std::string text = disassemble(target, instruction);
  if (instruction.bytes != words.size() * 4) text += " <" + std::to_string(instruction.bytes) + " bytes>";
  return text;
}

void check(const std::string& name, size_t at_least) {
  std::ifstream file(std::string(RIGEL_ISA_VECTORS) + "/" + name + ".txt");
  ASSERT_TRUE(file) << "no vectors in " RIGEL_ISA_VECTORS;
  Target target;
  size_t count = 0, wrong = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# gfx")) {
      std::istringstream words(line.substr(2));
      std::string chip, wave;
      words >> chip >> wave;
      const auto found = target_of(chip);
      ASSERT_TRUE(found) << line;
      target = *found;
      target.wave32 = wave == "wave32";
      continue;
    }
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    ++count;
    const std::string text = text_of(target, words_of(line.substr(0, tab)));
    if (text == line.substr(tab + 1)) continue;
    if (++wrong <= 10) ADD_FAILURE() << isa::name(target) << ' ' << line << "\n  is read as " << text;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(count, at_least);
}

TEST(IsaVectors, Gfx8TextMatchesLlvm) {
  check("gfx8", 39'000);
}
TEST(IsaVectors, Gfx9TextMatchesLlvm) {
  check("gfx9", 49'000);
}
TEST(IsaVectors, Gfx10TextMatchesLlvm) {
  check("gfx10", 64'000);
}
TEST(IsaVectors, Gfx11TextMatchesLlvm) {
  check("gfx11", 20'000);
}
TEST(IsaVectors, Gfx12TextMatchesLlvm) {
  check("gfx12", 59'000);
}

}  // namespace
}  // namespace rigel::vgpu::isa
