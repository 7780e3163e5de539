#include "plugins/vgpu/exec/whole_kernels/whole_kernel.hpp"

#include <cstdio>
#include <map>
#include <sstream>

#include "plugins/vgpu/isa/decoder.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

std::string hex(uint32_t word) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", word);
  return text;
}

struct Property {
  const char* name;
  uint32_t Kernel::*value;
};
constexpr Property kProperties[] = {
    {"vgprs", &Kernel::vgprs},           {"sgprs", &Kernel::sgprs}, {"lds", &Kernel::lds_bytes},
    {"private", &Kernel::private_bytes}, {"in", &Kernel::in_bytes}, {"out", &Kernel::out_bytes},
    {"limit", &Kernel::limit},           {"mode", &Kernel::mode},
};

}  // namespace

uint64_t Kernel::groups() const {
  uint64_t count = 1;
  for (int i = 0; i < 3; ++i) count *= (grid[i] + group[i] - 1) / group[i];
  return count;
}

uint64_t Kernel::work_items() const {
  return uint64_t{grid[0]} * grid[1] * grid[2];
}

std::vector<uint32_t> assemble(const Kernel& kernel) {
  std::map<uint32_t, int64_t> places;
  int64_t at = 0;
  for (const Item& item : kernel.items) {
    if (item.is_label()) places[item.label] = at;
    at += static_cast<int64_t>(item.words.size());
  }
  std::vector<uint32_t> code;
  for (const Item& item : kernel.items) {
    const auto position = static_cast<int64_t>(code.size());
    code.insert(code.end(), item.words.begin(), item.words.end());
    if (item.is_label() || item.label == kNoLabel) continue;
    const auto place = places.find(item.label);
    if (place == places.end()) return {};
    if (item.words.size() == 2) {  // s_add_u32 with a literal
      code.back() = static_cast<uint32_t>((place->second - position) * 4);
      continue;
    }
    const int64_t words_to_target = place->second - position - 1;
    if (words_to_target != static_cast<int16_t>(words_to_target)) return {};
    code.back() = (code.back() & 0xffff0000) | static_cast<uint16_t>(words_to_target);
  }
  return code;
}

std::string to_text(const Kernel& kernel) {
  std::ostringstream text;
  text << "chip " << isa::name(kernel.target) << '\n' << "wave " << kernel.wave_size() << '\n';
  text << "grid " << kernel.grid[0] << ' ' << kernel.grid[1] << ' ' << kernel.grid[2] << '\n';
  text << "group " << kernel.group[0] << ' ' << kernel.group[1] << ' ' << kernel.group[2] << '\n';
  for (const Property& property : kProperties) text << property.name << ' ' << kernel.*property.value << '\n';
  text << "data " << kernel.data_seed << "\ncode\n";
  for (const Item& item : kernel.items) {
    if (item.is_label()) {
      text << ':' << item.label << '\n';
      continue;
    }
    std::string line = "  ";
    for (const uint32_t word : item.words) line += hex(word) + ' ';
    if (item.label != kNoLabel) line += "-> " + std::to_string(item.label) + ' ';
    isa::Instruction in;
    const bool is_valid =
        isa::decode(kernel.target, item.words.data(), item.words.size(), in) == isa::DecodeStatus::kOk;
    line.resize(std::max<size_t>(line.size(), 30), ' ');
    text << line << "# " << (is_valid ? isa::disassemble(kernel.target, in) : "?") << '\n';
  }
  return text.str();
}

bool from_text(std::string_view input, Kernel& kernel, std::string& error) {
  kernel = {};
  std::istringstream text{std::string(input)};
  std::string line, word;
  bool in_code = false, wave32 = false;
  for (unsigned number = 1; std::getline(text, line); ++number) {
    const auto fail = [&](const std::string& reason) {
      error = "line " + std::to_string(number) + ": " + reason;
      return false;
    };
    std::istringstream words(line.substr(0, line.find('#')));
    if (!(words >> word)) continue;
    if (in_code) {
      Item item;
      if (word.front() == ':') {
        item.label = static_cast<uint32_t>(std::strtoul(word.c_str() + 1, nullptr, 10));
      } else {
        do {
          if (word == "->") {
            if (!(words >> item.label)) return fail("missing label after the arrow");
            break;
          }
          char* end = nullptr;
          item.words.push_back(static_cast<uint32_t>(std::strtoul(word.c_str(), &end, 16)));
          if (*end != 0 || word.size() != 8) return fail("\"" + word + "\" is not a code word");
        } while (words >> word);
      }
      kernel.items.push_back(std::move(item));
      continue;
    }
    bool is_known = false;
    if (word == "code") {
      in_code = is_known = true;
    } else if (word == "chip") {
      words >> word;
      const auto target = isa::target_of(word);
      if (!target) return fail("\"" + word + "\" is not a chip");
      kernel.target = *target;
      is_known = true;
    } else if (word == "wave") {
      uint32_t lanes = 0;
      words >> lanes;
      wave32 = lanes == 32;
      is_known = true;
    } else if (word == "grid" || word == "group") {
      uint32_t(&sizes)[3] = word == "grid" ? kernel.grid : kernel.group;
      for (uint32_t& size : sizes) words >> size;
      is_known = true;
    } else if (word == "data") {
      words >> kernel.data_seed;
      is_known = true;
    }
    for (const Property& property : kProperties) {
      if (is_known || word != property.name) continue;
      words >> kernel.*property.value;
      is_known = true;
    }
    if (!is_known) return fail("\"" + word + "\" is not a kernel property");
    if (words.fail()) return fail("missing number");
  }
  kernel.target.wave32 = wave32;
  uint64_t items = 1;
  for (int i = 0; i < 3; ++i) {
    if (kernel.group[i] == 0 || kernel.grid[i] == 0) items = 0;
    items *= kernel.group[i];
  }
  if (items == 0 || items > 1024) error = "invalid work-group size; use 1 to 1024";
  if (kernel.vgprs == 0 || kernel.vgprs > 256) error = "invalid number of VGPRs; use 1 to 256";
  if (kernel.lds_bytes > 65536) error = "too much LDS; use at most 65536 bytes";
  if (kernel.in_bytes > kMaxInBytes || kernel.out_bytes > kMaxOutBytes || kernel.private_bytes > 4096) {
    error = "too much memory";
  }
  if (kernel.items.empty()) error = "missing code";
  return error.empty();
}

}  // namespace rigel::vgpu::exec::whole
