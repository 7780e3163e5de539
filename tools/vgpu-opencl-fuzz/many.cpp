#include "tools/vgpu-opencl-fuzz/many.hpp"

#include <algorithm>
#include <stdexcept>

#include "plugins/vgpu/devices/board.hpp"

namespace rigel::vgpu::opencl_fuzz {

Count compare_many(Workshop& workshop, const std::string& gpu, uint64_t first, uint64_t count,
                   const std::function<void(const Found&)>& found, const std::function<bool()>& go_on) {
  constexpr uint64_t kOfFile = 16;  // to start compilers takes as long as to compile a few
  const BoardOr board = find_board(gpu);
  if (!board) throw std::runtime_error(board.error());
  Count result;
  for (uint64_t seed = first; seed - first < count && go_on(); seed += kOfFile) {
    std::vector<Program> programs;
    for (uint64_t i = 0; i < std::min(kOfFile, count - (seed - first)); ++i)
      programs.push_back(generate(seed + i));
    const auto hosts = workshop.compile_for_host(programs);
    const uint64_t turn = seed / kOfFile;
    const Build build{gpu, Workshop::level(turn), turn / 4 % 2 != 0 && gpu.starts_with("gfx1")};
    const auto object = workshop.compile_for(build, programs);
    for (size_t i = 0; i < programs.size(); ++i) {
      ++result.compared;
      result.by_host += hosts[i] != nullptr ? 1 : 0;
      const Comparison comparison = compare(*board, object, "k" + std::to_string(i), programs[i], hosts[i]);
      result.by_model += comparison.by_model ? 1 : 0;
      if (comparison.wrong.empty()) continue;
      ++result.differ;
      found({programs[i], build, comparison.wrong});
    }
  }
  return result;
}

}  // namespace rigel::vgpu::opencl_fuzz
