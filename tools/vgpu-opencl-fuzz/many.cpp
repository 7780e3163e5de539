#include "tools/vgpu-opencl-fuzz/many.hpp"

#include <algorithm>
#include <stdexcept>

#include "plugins/vgpu/devices/board.hpp"

namespace rigel::vgpu::opencl_fuzz {

Count compare_many(ProgramCompiler& compiler, const std::string& gpu, uint64_t first, uint64_t count,
                   const std::function<void(const Finding&)>& found,
                   const std::function<bool()>& should_continue) {
  // starting the compilers takes as long as compiling a few programs
  constexpr uint64_t kProgramsPerFile = 16;
  const BoardOr board = find_board(gpu);
  if (!board) throw std::runtime_error(board.error());
  Count result;
  for (uint64_t seed = first; seed - first < count && should_continue(); seed += kProgramsPerFile) {
    std::vector<Program> programs;
    for (uint64_t i = 0; i < std::min(kProgramsPerFile, count - (seed - first)); ++i)
      programs.push_back(generate(seed + i));
    const auto hosts = compiler.compile_for_host(programs);
    const uint64_t file_index = seed / kProgramsPerFile;
    const Build build{gpu, ProgramCompiler::level(file_index),
                      file_index / 4 % 2 != 0 && gpu.starts_with("gfx1")};
    const auto object = compiler.compile_for(build, programs);
    for (size_t i = 0; i < programs.size(); ++i) {
      ++result.compared;
      result.by_host += hosts[i] != nullptr ? 1 : 0;
      const Comparison comparison = compare(*board, object, "k" + std::to_string(i), programs[i], hosts[i]);
      result.by_model += comparison.by_model ? 1 : 0;
      if (comparison.mismatch.empty()) continue;
      ++result.differ;
      found({programs[i], build, comparison.mismatch});
    }
  }
  return result;
}

}  // namespace rigel::vgpu::opencl_fuzz
