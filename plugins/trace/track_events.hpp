// Writes track events in Perfetto's trace format as a sequence of packets. A file may end after any packet,
// and concatenated files are one trace.
//
// Numbers of fields and values are from protos/perfetto/trace/ in github.com/google/perfetto. Times are
// nanoseconds of CLOCK_BOOTTIME, the format's default clock. *Threads:* one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/support/proto_writer.hpp"

namespace trace {

/// A named value of an event.
struct Annotation {
  enum Kind { kUnsigned, kSigned, kBoolean, kPointer, kText };
  std::string_view name;
  Kind kind;
  uint64_t value = 0;
  std::string_view text = {};
};

/// The properties of an event except its time.
struct Event {
  std::string_view category = {};
  std::string_view name = {};
  bool rare_name = false;                  ///< writes the name inline instead of interning it
  std::span<const uint64_t> flows = {};    ///< flows that contain the event
  std::span<const uint64_t> last_of = {};  ///< flows that end with the event
  std::span<const Annotation> annotations = {};
};

class TrackEvents {
 public:
  /// Appends to `out`. `sequence` is not 0 and differs between the writers of a file.
  TrackEvents(std::string& out, uint32_t sequence);

  /// Describe a track, identified by a unique number. `parent` is 0 for a track without parent.
  void process(uint64_t track, uint32_t pid, std::string_view name);
  void thread(uint64_t track, uint32_t pid, uint32_t tid, std::string_view name);
  void lane(uint64_t track, uint64_t parent, std::string_view name);
  void counter(uint64_t track, uint64_t parent, std::string_view name);

  void begin(uint64_t track, uint64_t time, const Event& event);
  /// Ends the innermost open slice of the track. Adds the flows and annotations of `event`, ignores its name.
  void end(uint64_t track, uint64_t time, const Event& event = {});
  void instant(uint64_t track, uint64_t time, const Event& event);
  void count(uint64_t track, uint64_t time, int64_t value);

 private:
  class Names {
   public:
    /// Returns the number of the text, and whether it is new.
    std::pair<uint64_t, bool> number(std::string_view text);

   private:
    std::unordered_map<std::string, uint64_t> numbers_;
    std::string key_;
  };

  template <class Fill>
  void packet(Fill&& fill);
  template <class Fill>
  void track(uint64_t track, uint64_t parent, std::string_view name, Fill&& fill);
  void event(uint32_t type, uint64_t track, uint64_t time, const Event& event);
  uint64_t intern(Names& names, uint32_t kind, std::string_view text);
  void write_new_names();

  struct NewName {
    uint32_t kind;  // field of InternedData
    uint64_t number;
    std::string_view text;
  };

  rigel::ProtoWriter proto_;
  uint32_t sequence_;
  bool first_ = true;
  Names categories_, event_names_, annotation_names_;
  std::vector<NewName> new_names_;  // names that the current packet defines
};

}  // namespace trace
