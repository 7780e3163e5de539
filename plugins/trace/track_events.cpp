#include "plugins/trace/track_events.hpp"

#include <utility>

namespace trace {
namespace {

namespace field {
// Trace
constexpr uint32_t kPacket = 1;
// TracePacket
constexpr uint32_t kTimestamp = 8;
constexpr uint32_t kSequence = 10;
constexpr uint32_t kTrackEvent = 11;
constexpr uint32_t kInternedData = 12;
constexpr uint32_t kSequenceFlags = 13;
constexpr uint32_t kTrackDescriptor = 60;
// TrackDescriptor
constexpr uint32_t kUuid = 1;
constexpr uint32_t kTrackName = 2;
constexpr uint32_t kProcess = 3;
constexpr uint32_t kThread = 4;
constexpr uint32_t kParent = 5;
constexpr uint32_t kCounter = 8;
// ProcessDescriptor and ThreadDescriptor
constexpr uint32_t kPid = 1;
constexpr uint32_t kTid = 2;
constexpr uint32_t kThreadName = 5;
constexpr uint32_t kProcessName = 6;
// CounterDescriptor
constexpr uint32_t kUnit = 3;
// TrackEvent
constexpr uint32_t kCategory = 3;
constexpr uint32_t kAnnotation = 4;
constexpr uint32_t kType = 9;
constexpr uint32_t kNameNumber = 10;
constexpr uint32_t kTrack = 11;
constexpr uint32_t kName = 23;
constexpr uint32_t kCounterValue = 30;
constexpr uint32_t kFlow = 47;
constexpr uint32_t kTerminatingFlow = 48;
// DebugAnnotation
constexpr uint32_t kAnnotationName = 1;
constexpr uint32_t kBoolean = 2;
constexpr uint32_t kUnsigned = 3;
constexpr uint32_t kSigned = 4;
constexpr uint32_t kText = 6;
constexpr uint32_t kPointer = 7;
// InternedData
constexpr uint32_t kCategories = 1;
constexpr uint32_t kEventNames = 2;
constexpr uint32_t kAnnotationNames = 3;
// Entries of InternedData
constexpr uint32_t kNumber = 1;
constexpr uint32_t kEntry = 2;
}  // namespace field

constexpr uint32_t kStateCleared = 1, kNeedsState = 2;
constexpr uint32_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCount = 4;
constexpr uint32_t kBytes = 3;  // CounterDescriptor.UNIT_SIZE_BYTES

}  // namespace

std::pair<uint64_t, bool> TrackEvents::Names::number(std::string_view text) {
  key_.assign(text);
  const auto found = numbers_.find(key_);
  if (found != numbers_.end()) return {found->second, false};
  const uint64_t number = numbers_.size() + 1;
  numbers_.emplace(key_, number);
  return {number, true};
}

TrackEvents::TrackEvents(std::string& out, uint32_t sequence) : proto_(out), sequence_(sequence) {}

template <class Fill>
void TrackEvents::packet(Fill&& fill) {
  proto_.message(field::kPacket, [&] {
    proto_.varint(field::kSequence, sequence_);
    proto_.varint(field::kSequenceFlags, first_ ? kStateCleared | kNeedsState : kNeedsState);
    first_ = false;
    fill();
  });
}

template <class Fill>
void TrackEvents::track(uint64_t track, uint64_t parent, std::string_view name, Fill&& fill) {
  packet([&] {
    proto_.message(field::kTrackDescriptor, [&] {
      proto_.varint(field::kUuid, track);
      if (parent != 0) proto_.varint(field::kParent, parent);
      if (!name.empty()) proto_.text(field::kTrackName, name);
      fill();
    });
  });
}

void TrackEvents::process(uint64_t track_, uint32_t pid, std::string_view name) {
  track(track_, 0, {}, [&] {
    proto_.message(field::kProcess, [&] {
      proto_.varint(field::kPid, pid);
      proto_.text(field::kProcessName, name);
    });
  });
}

void TrackEvents::thread(uint64_t track_, uint32_t pid, uint32_t tid, std::string_view name) {
  track(track_, 0, {}, [&] {
    proto_.message(field::kThread, [&] {
      proto_.varint(field::kPid, pid);
      proto_.varint(field::kTid, tid);
      if (!name.empty()) proto_.text(field::kThreadName, name);
    });
  });
}

void TrackEvents::lane(uint64_t track_, uint64_t parent, std::string_view name) {
  track(track_, parent, name, [] {});
}

void TrackEvents::counter(uint64_t track_, uint64_t parent, std::string_view name) {
  track(track_, parent, name,
        [&] { proto_.message(field::kCounter, [&] { proto_.varint(field::kUnit, kBytes); }); });
}

uint64_t TrackEvents::intern(Names& names, uint32_t kind, std::string_view text) {
  const auto [number, is_new] = names.number(text);
  if (is_new) new_names_.push_back({kind, number, text});
  return number;
}

// All names in one message: a second InternedData of a packet would replace the first.
void TrackEvents::write_new_names() {
  if (new_names_.empty()) return;
  proto_.message(field::kInternedData, [&] {
    for (const NewName& entry : new_names_) {
      proto_.message(entry.kind, [&] {
        proto_.varint(field::kNumber, entry.number);
        proto_.text(field::kEntry, entry.text);
      });
    }
  });
  new_names_.clear();
}

void TrackEvents::event(uint32_t type, uint64_t track, uint64_t time, const Event& event) {
  packet([&] {
    proto_.varint(field::kTimestamp, time);
    uint64_t category = 0, name = 0;
    if (type != kSliceEnd) {
      category = intern(categories_, field::kCategories, event.category);
      if (!event.rare_name) name = intern(event_names_, field::kEventNames, event.name);
    }
    for (const Annotation& annotation : event.annotations)
      intern(annotation_names_, field::kAnnotationNames, annotation.name);
    write_new_names();
    proto_.message(field::kTrackEvent, [&] {
      proto_.varint(field::kType, type);
      proto_.varint(field::kTrack, track);
      if (category != 0) proto_.varint(field::kCategory, category);
      if (name != 0) proto_.varint(field::kNameNumber, name);
      if (event.rare_name) proto_.text(field::kName, event.name);
      for (const uint64_t flow : event.flows) proto_.fixed64(field::kFlow, flow);
      for (const uint64_t flow : event.last_of) proto_.fixed64(field::kTerminatingFlow, flow);
      for (const Annotation& annotation : event.annotations) {
        proto_.message(field::kAnnotation, [&] {
          proto_.varint(field::kAnnotationName, annotation_names_.number(annotation.name).first);
          switch (annotation.kind) {
            case Annotation::kUnsigned:
              return proto_.varint(field::kUnsigned, annotation.value);
            case Annotation::kSigned:
              return proto_.varint(field::kSigned, annotation.value);
            case Annotation::kBoolean:
              return proto_.varint(field::kBoolean, annotation.value != 0);
            case Annotation::kPointer:
              return proto_.varint(field::kPointer, annotation.value);
            case Annotation::kText:
              return proto_.text(field::kText, annotation.text);
          }
        });
      }
    });
  });
}

void TrackEvents::begin(uint64_t track, uint64_t time, const Event& properties) {
  event(kSliceBegin, track, time, properties);
}
void TrackEvents::end(uint64_t track, uint64_t time, const Event& properties) {
  event(kSliceEnd, track, time, properties);
}
void TrackEvents::instant(uint64_t track, uint64_t time, const Event& properties) {
  event(kInstant, track, time, properties);
}
void TrackEvents::count(uint64_t track, uint64_t time, int64_t value) {
  packet([&] {
    proto_.varint(field::kTimestamp, time);
    proto_.message(field::kTrackEvent, [&] {
      proto_.varint(field::kType, kCount);
      proto_.varint(field::kTrack, track);
      proto_.varint(field::kCounterValue, static_cast<uint64_t>(value));
    });
  });
}

}  // namespace trace
