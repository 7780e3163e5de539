#include "plugins/vgpu/exec/report/activity.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/report/failure.hpp"
#include "plugins/vgpu/exec/report/place.hpp"
#include "plugins/vgpu/exec/report/source_lines.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr size_t kMaxWavesListed = 4;    // per place; further waves are counted
constexpr size_t kMaxPlacesListed = 16;  // per dispatch

std::string_view name_of(WaveAt::State state) {
  constexpr std::string_view kNames[] = {"", ", at a barrier", ", sleeping (s_sleep)", ", halted"};
  return kNames[static_cast<size_t>(state)];
}

std::string waves_text(const std::vector<const WaveAt*>& waves) {
  std::string text;
  for (size_t i = 0; i < waves.size() && i < kMaxWavesListed; ++i) {
    text += fmt::format("{}{} wave {}", i == 0 ? "" : ", ", text_of(waves[i]->group), waves[i]->wave);
  }
  if (waves.size() > kMaxWavesListed) text += fmt::format(" and {} more", waves.size() - kMaxWavesListed);
  return text;
}

}  // namespace

std::string describe_activity(const Activity& activity, DeviceBus& bus) {
  const Launch& launch = *activity.launch;
  const Dispatch& dispatch = launch.dispatch();
  std::string text = line("kernel", kernel_of(dispatch, bus));
  text += line("dispatch", fmt::format("packet {}, running for {:.1f} s, {} of {} work-groups completed{}",
                                       dispatch.packet_id, activity.seconds, launch.groups_done(),
                                       launch.groups(), launch.stopped() ? ", being stopped" : ""));
  if (const std::string schedule = launch.schedule().text(); !schedule.empty())
    text += line("schedule", schedule);
  if (activity.restless != 0) {
    text += line("", fmt::format("{} work-groups are running: their waves are not shown", activity.restless));
  }
  using Place = std::pair<uint64_t, WaveAt::State>;
  std::map<Place, std::vector<const WaveAt*>> places;
  std::vector<WaveAt> by_group = activity.waves;
  std::sort(by_group.begin(), by_group.end(), [](const WaveAt& a, const WaveAt& b) {
    return std::tie(a.group[2], a.group[1], a.group[0], a.wave) <
           std::tie(b.group[2], b.group[1], b.group[0], b.wave);
  });
  for (const WaveAt& wave : by_group) places[{pc_of(wave.op), wave.state}].push_back(&wave);
  // Places with most waves come first.
  std::vector<std::pair<Place, std::vector<const WaveAt*>>> sorted(places.begin(), places.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  SourceLines lines(bus.code_objects());
  for (size_t i = 0; i < sorted.size() && i < kMaxPlacesListed; ++i) {
    const auto& [place, waves] = sorted[i];
    text += line(waves.size() == 1 ? "1 wave" : fmt::format("{} waves", waves.size()),
                 text_of_pc(place.first, dispatch.entry_va) + std::string(name_of(place.second)));
    text += lines_of(lines.frames(place.first));
    text += line("work-group", waves_text(waves));
    text += code_around(waves.front()->op);
  }
  if (sorted.size() > kMaxPlacesListed) {
    text += line("", fmt::format("and waves at {} more instructions", sorted.size() - kMaxPlacesListed));
  }
  return text;
}

}  // namespace rigel::vgpu::exec
