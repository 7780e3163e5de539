#include "tools/vgpu-opencl-fuzz/compile.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace rigel::vgpu::opencl_fuzz {
namespace {

// Makes results equal on GPU and host: rounding of every operation, wrapping integers, no type-based
// aliasing.
constexpr const char* kSameOnBoth = "-ffp-contract=off -fwrapv -fno-strict-aliasing -w";

std::vector<char> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

ProgramCompiler::ProgramCompiler() {
  std::string pattern = (std::filesystem::temp_directory_path() / "rigel-kernels-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
  folder_ = pattern;
}

ProgramCompiler::~ProgramCompiler() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string ProgramCompiler::write(const std::vector<Program>& programs, bool with_cross_lane) {
  std::string text = prelude();
  for (size_t i = 0; i < programs.size(); ++i) {
    if (with_cross_lane || !programs[i].crosses_lanes) text += source(programs[i], "k" + std::to_string(i));
  }
  const std::string path = fmt::format("{}/{}", folder_, next_file_++);
  std::ofstream(path) << text;
  return path;
}

std::string ProgramCompiler::run(const std::string& command) {
  const std::string messages = folder_ + "/messages";
  if (std::system((command + " > " + messages + " 2>&1").c_str()) == 0) return {};
  const std::vector<char> output = read_file(messages);
  return command + "\n" + std::string(output.begin(), output.end());
}

int ProgramCompiler::level(uint64_t index) {
  constexpr int kMinLevel = RIGEL_OPENCL_LEAST_LEVEL, kLevels = 4 - kMinLevel;
  return kMinLevel + static_cast<int>(index % kLevels);
}

std::vector<char> ProgramCompiler::compile_for(const Build& build, const std::vector<Program>& programs) {
  const std::string path = write(programs, true);
  const std::string error = run(fmt::format(
      "{} -x cl -cl-std=CL1.2 -cl-no-stdinc -cl-fp32-correctly-rounded-divide-sqrt -target amdgcn-amd-amdhsa "
      "-mcpu={} "
      "-O{} -nogpulib -mcode-object-version=4 -Xclang -fdenormal-fp-math-f32=ieee,ieee {} {} -o {}.co {}",
      RIGEL_OPENCL_CLANG, build.gpu, build.level, build.wide_waves ? "-mwavefrontsize64" : "", kSameOnBoth,
      path, path));
  if (!error.empty()) throw std::runtime_error(error);
  std::vector<char> object = read_file(path + ".co");
  std::filesystem::remove(path + ".co");
  return object;
}

std::vector<ProgramCompiler::HostKernel> ProgramCompiler::compile_for_host(
    const std::vector<Program>& programs) {
  const std::string path = write(programs, false);
  const std::string error =
      run(fmt::format("{} -x c -std=gnu11 -DHOST -O1 -fPIC -shared {} {} -o {}.so {}", RIGEL_OPENCL_CLANG,
                      kSameOnBoth, RIGEL_OPENCL_HOST_OPTIONS, path, path));
  if (!error.empty()) throw std::runtime_error(error);
  void* const library = dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  std::filesystem::remove(path + ".so");
  std::vector<HostKernel> kernels;
  for (size_t i = 0; i < programs.size(); ++i) {
    void* const symbol = programs[i].crosses_lanes ? nullptr : dlsym(library, fmt::format("k{}", i).c_str());
    kernels.push_back(reinterpret_cast<HostKernel>(symbol));
  }
  return kernels;
}

}  // namespace rigel::vgpu::opencl_fuzz
