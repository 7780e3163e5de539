#include "program_file.hpp"

#include <elf.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/core.h>

#include "loader/text/words.hpp"

namespace rigel::vgpu_run {
namespace {

namespace fs = std::filesystem;

std::string find_in_path(const std::string& program) {
  if (program.find('/') != program.npos) return program;
  const char* const folders = std::getenv("PATH");
  for (const std::string_view folder : split(folders == nullptr ? "/bin:/usr/bin" : folders, ':')) {
    const fs::path path = fs::path(folder.empty() ? "." : folder) / program;
    std::error_code error;
    if (access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error)) return path;
  }
  return {};
}

template <class T>
bool read_at(std::ifstream& file, uint64_t offset, T* to, size_t count = 1) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(
      file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count * sizeof(T))));
}

// Returns the interpreter named after "#!", or an empty string if the file is not a script.
std::string interpreter_of_script(std::ifstream& file) {
  std::string line;
  file.seekg(0);
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  const size_t start = line.find_first_not_of(" \t", 2);
  if (start == line.npos) return {};
  return line.substr(start, line.find_first_of(" \t\r", start) - start);
}

}  // namespace

std::string cannot_be_preloaded(const std::string& program) {
  constexpr int kMaxInterpreters = 4;  // the kernel's limit
  constexpr size_t kMaxSegments = 512;
  std::string path = find_in_path(program);
  for (int i = 0; i <= kMaxInterpreters; ++i) {
    std::error_code error;
    if (path.empty() || !fs::is_regular_file(path, error)) return {};
    std::ifstream file(path, std::ios::binary);
    if (const std::string interpreter = interpreter_of_script(file); !interpreter.empty()) {
      path = interpreter;
      continue;
    }
    file.clear();
    Elf64_Ehdr header;
    if (!read_at(file, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
    constexpr const char* kNoGpu = "the virtual GPU cannot be preloaded, and the program will find no GPU";
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
      return fmt::format("{}: 32-bit program: {}; use a 64-bit program", path, kNoGpu);
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMaxSegments) return {};
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    if (!read_at(file, header.e_phoff, segments.data(), segments.size())) return {};
    std::string linker;
    for (const Elf64_Phdr& segment : segments) {
      if (segment.p_type != PT_INTERP || segment.p_filesz == 0 || segment.p_filesz > PATH_MAX) continue;
      linker.resize(segment.p_filesz);
      if (!read_at(file, segment.p_offset, linker.data(), linker.size())) return {};
      linker.resize(std::strlen(linker.c_str()));
    }
    if (linker.empty()) {
      return fmt::format("{}: statically linked: {}; link dynamically", path, kNoGpu);
    }
    if (fs::path(linker).filename().string().starts_with("ld-musl")) {
      return fmt::format("{}: linked with musl: {}; link with glibc", path, kNoGpu);
    }
    return {};
  }
  return {};
}

}  // namespace rigel::vgpu_run
