// Track events of Perfetto's trace format, written as packets one after another: a file of them may end
// behind any, and two files written one behind the other are one trace.
//
// Numbers of fields and values are those of protos/perfetto/trace/ in github.com/google/perfetto. Times are
// nanoseconds of CLOCK_BOOTTIME, which is what they are there unless a packet says otherwise. One thread at a
// time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/trace/proto.hpp"

namespace trace {

/// A named value of an event.
struct Annotation {
  enum Kind { kUnsigned, kSigned, kBoolean, kPointer, kText };
  std::string_view name;
  Kind kind;
  uint64_t value = 0;
  std::string_view text = {};
};

/// What an event is besides its time.
struct Event {
  std::string_view category = {};
  std::string_view name = {};
  bool rare_name = false;                  ///< written out each time, not kept
  std::span<const uint64_t> flows = {};    ///< that it is part of
  std::span<const uint64_t> last_of = {};  ///< flows that end with it
  std::span<const Annotation> annotations = {};
};

class TrackEvents {
 public:
  /// Appends to `out`. `sequence` is not 0, and is another one for each writer of the file.
  TrackEvents(std::string& out, uint32_t sequence);

  /// Tracks are known by numbers that nobody else uses. `parent` 0: none.
  void process(uint64_t track, uint32_t pid, std::string_view name);
  void thread(uint64_t track, uint32_t pid, uint32_t tid, std::string_view name);
  void lane(uint64_t track, uint64_t parent, std::string_view name);
  void counter(uint64_t track, uint64_t parent, std::string_view name);

  void begin(uint64_t track, uint64_t time, const Event& event);
  /// Ends the innermost slice that is open on the track. What `event` has is added to it; its name is not
  /// looked at.
  void end(uint64_t track, uint64_t time, const Event& event = {});
  void instant(uint64_t track, uint64_t time, const Event& event);
  void count(uint64_t track, uint64_t time, int64_t value);

 private:
  class Names {
   public:
    /// The number of the text, and whether it is new.
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

  ProtoWriter proto_;
  uint32_t sequence_;
  bool first_ = true;
  Names categories_, event_names_, annotation_names_;
  std::vector<NewName> new_names_;  // of the packet that is being written
};

}  // namespace trace
