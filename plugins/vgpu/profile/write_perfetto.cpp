// Perfetto's trace format: a track for each count, whose value during a launch is that of the launch. Numbers
// of fields and values are from protos/perfetto/trace/ in github.com/google/perfetto.
#include <unistd.h>

#include <algorithm>

#include "api/support/proto_writer.hpp"
#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::profile {
namespace {

// Trace, TracePacket, TrackDescriptor, ProcessDescriptor, CounterDescriptor, TrackEvent
constexpr uint32_t kPacket = 1;
constexpr uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kSequenceFlags = 13,
                   kTrackDescriptor = 60;
constexpr uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kParent = 5, kCounter = 8;
constexpr uint32_t kPid = 1, kUnitName = 6;
constexpr uint32_t kType = 9, kTrack = 11, kCounterValue = 30;
constexpr uint32_t kCount = 4;  // TrackEvent.TYPE_COUNTER

// Differ from those of plugins/trace, to which the file may be appended.
constexpr uint32_t kOwnSequence = 0x76677075;
constexpr uint64_t kProcessTrack = uint64_t{0x76677075} << 32;

struct Track {
  std::string_view name, unit;
  uint64_t (*value)(const Sample& sample);
  /// If set, the track has the percentage of this number.
  uint64_t (*whole)(const Sample& sample) = nullptr;
};

uint64_t vector_instructions(const Sample& sample) {
  return sample.sum.of(Kind::kVector) + sample.sum.of(Kind::kMatrix);
}

constexpr Track kTracks[] = {
    {"GPU instructions", "waves", [](const Sample& s) { return s.sum.instructions; }},
    {"GPU vector instructions", "waves", vector_instructions},
    {"GPU memory instructions", "waves",
     [](const Sample& s) {
       return s.sum.of(Kind::kLoad) + s.sum.of(Kind::kStore) + s.sum.of(Kind::kAtomic) +
              s.sum.of(Kind::kImage);
     }},
    {"GPU active lanes", "%", [](const Sample& s) { return s.sum.lanes_of_vector; },
     [](const Sample& s) { return vector_instructions(s) * s.wave_size; }},
    {"GPU bytes read", "B", [](const Sample& s) { return s.sum.read_bytes; }},
    {"GPU bytes written", "B", [](const Sample& s) { return s.sum.written_bytes; }},
    {"GPU bytes in LDS", "B", [](const Sample& s) { return s.sum.lds_bytes; }},
};

class Writer {
 public:
  explicit Writer(std::string& out) : proto_(out) {}

  template <class Fill>
  void packet(Fill&& fill) {
    proto_.message(kPacket, [&] {
      proto_.varint(kSequence, kOwnSequence);
      proto_.varint(kSequenceFlags, is_first_ ? 1 : 2);  // SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_…
      is_first_ = false;
      fill();
    });
  }

  void describe(uint64_t track, const Track& description) {
    packet([&] {
      proto_.message(kTrackDescriptor, [&] {
        proto_.varint(kUuid, track);
        proto_.varint(kParent, kProcessTrack);
        proto_.text(kTrackName, description.name);
        proto_.message(kCounter, [&] { proto_.text(kUnitName, description.unit); });
      });
    });
  }

  void describe_process() {
    packet([&] {
      proto_.message(kTrackDescriptor, [&] {
        proto_.varint(kUuid, kProcessTrack);
        proto_.message(kProcess, [&] { proto_.varint(kPid, static_cast<uint64_t>(getpid())); });
      });
    });
  }

  void count(uint64_t track, uint64_t time, uint64_t value) {
    packet([&] {
      proto_.varint(kTimestamp, time);
      proto_.message(kTrackEvent, [&] {
        proto_.varint(kType, kCount);
        proto_.varint(kTrack, track);
        proto_.varint(kCounterValue, value);
      });
    });
  }

 private:
  ProtoWriter proto_;
  bool is_first_ = true;
};

}  // namespace

std::string perfetto_of(const std::vector<Sample>& samples) {
  std::string trace;
  Writer writer(trace);
  writer.describe_process();
  // Launches may overlap: a value is the sum over those that run.
  struct Change {
    uint64_t time;
    const Sample* sample;
    bool ends;
  };
  std::vector<Change> changes;
  for (const Sample& sample : samples) {
    changes.push_back({sample.begin_time, &sample, false});
    changes.push_back({sample.end_time, &sample, true});
  }
  std::ranges::stable_sort(changes, {}, &Change::time);
  for (uint64_t i = 0; i < std::size(kTracks); ++i) {
    const uint64_t track = kProcessTrack + 1 + i;
    writer.describe(track, kTracks[i]);
    uint64_t value = 0, whole = 0;
    const auto change_by = [](uint64_t& sum, uint64_t of_sample, bool ends) {
      sum = ends ? sum - of_sample : sum + of_sample;
    };
    for (const Change& change : changes) {
      change_by(value, kTracks[i].value(*change.sample), change.ends);
      if (kTracks[i].whole == nullptr) {
        writer.count(track, change.time, value);
        continue;
      }
      change_by(whole, kTracks[i].whole(*change.sample), change.ends);
      writer.count(track, change.time, whole == 0 ? 0 : (100 * value + whole / 2) / whole);
    }
  }
  return trace;
}

}  // namespace rigel::vgpu::profile
