#include "plugins/trace/writer.hpp"

#include <hsa/hsa_api_trace.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace trace {
namespace {

// The kinds of tracks and flows, which are hashed into their numbers.
enum HashedKind : uint64_t {
  kProcess = 1,
  kThread,
  kAgent,
  kQueue,
  kCopies,
  kMemory,
  kRanges,
  kPacketFlow,
  kCallFlow
};

uint64_t mixed(uint64_t value) {  // splitmix64's finish
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string extent(uint32_t x, uint32_t y, uint32_t z) {
  return std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z);
}

uint32_t packet_type(const uint64_t* packet) {
  return static_cast<uint32_t>(packet[0]) >> HSA_PACKET_HEADER_TYPE &
         ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

hsa_kernel_dispatch_packet_t dispatch_of(const uint64_t* packet) {
  hsa_kernel_dispatch_packet_t dispatch;
  std::memcpy(&dispatch, packet, sizeof dispatch);
  return dispatch;
}

const char* barrier_name(const uint64_t* packet) {
  switch (packet_type(packet)) {
    case HSA_PACKET_TYPE_BARRIER_AND:
      return "barrier-and";
    case HSA_PACKET_TYPE_BARRIER_OR:
      return "barrier-or";
    default:
      return "barrier-value";
  }
}

}  // namespace

Writer::Writer(Recorder& recorder, const Options& options, const Agents& agents, std::string& out,
               uint32_t session)
    : recorder_(recorder),
      options_(options),
      agents_(agents),
      out_(out),
      events_(out,
              static_cast<uint32_t>(mixed(uint64_t{session} << 32 | static_cast<uint32_t>(::getpid()))) | 1),
      pid_(static_cast<uint32_t>(::getpid())),
      process_track_(number(kProcess, 0)),
      durations_by_function_(recorder.functions().size()) {
  events_.process(process_track_, pid_, first_line("/proc/self/comm"));
  ranges_ = {process_track_, number(kRanges, 0), "ranges", {}};
  // Discard the records of an earlier session.
  for (ThreadRing* ring = recorder_.rings(); ring != nullptr; ring = ring->next) {
    ring->ring.release(ring->ring.end());
    ring->reported_lost = ring->lost.load(std::memory_order_relaxed);
  }
}

uint64_t Writer::number(uint64_t kind, uint64_t a, uint64_t b, uint64_t c) const {
  return std::max<uint64_t>(mixed(mixed(mixed(mixed(pid_ * uint64_t{64} + kind) + a) + b) + c), 1);
}

// --- Threads -----------------------------------------------------------------------------------------------

Writer::Thread& Writer::thread_of(ThreadRing& ring) {
  auto& thread = threads_[&ring];
  if (thread == nullptr) {
    thread = std::make_unique<Thread>();
    thread->tid = ring.tid.load(std::memory_order_relaxed);
    thread->track = number(kThread, thread->tid);
    events_.thread(thread->track, pid_, thread->tid,
                   first_line("/proc/self/task/" + std::to_string(thread->tid) + "/comm"));
  }
  return *thread;
}

// Stops when the output is long.
void Writer::read(ThreadRing& ring, uint64_t end) {
  Thread& thread = thread_of(ring);
  uint64_t at = ring.ring.begin();
  uint64_t time = 0;
  while (at != end && out_.size() < kLongOutput) {
    const uint64_t* const words = ring.ring.at(at);
    time = words[1];
    record(thread, words);
    at += load_head(words).words;
  }
  ring.ring.release(at);
  const uint64_t lost = ring.lost.load(std::memory_order_relaxed);
  if (lost == ring.reported_lost) return;
  const Annotation annotations[] = {{"records", Annotation::kUnsigned, lost - ring.reported_lost}};
  events_.instant(thread.track, time,
                  {.category = "trace", .name = "lost records", .annotations = annotations});
  lost_ += lost - ring.reported_lost;
  ring.reported_lost = lost;
}

void Writer::record(Thread& thread, const uint64_t* words) {
  annotations_.clear();
  texts_.clear();
  switch (load_head(words).type) {
    case RecordType::kCallBegins:
      return call_begins(thread, words);
    case RecordType::kCallEnds:
      return call_ends(thread, words);
    case RecordType::kEnqueued:
      return enqueued(thread, words);
    case RecordType::kActivity:
      return activity(words);
    case RecordType::kMarker:
      return marker(thread, words);
  }
}

// --- Calls -------------------------------------------------------------------------------------------------

std::string_view Writer::store_text_of_event(std::string text) {
  return texts_.emplace_back(std::move(text));
}

// Returns the part of the runtime's status string before ':', such as "HSA_STATUS_ERROR_INVALID_ARGUMENT".
std::string_view Writer::status_name(int32_t status) {
  auto& name = statuses_[status];
  if (name.empty()) {
    const auto& core = *static_cast<const HsaApiTable*>(recorder_.host().tables)->core_;
    const char* text = nullptr;
    if (core.hsa_status_string_fn(static_cast<hsa_status_t>(status), &text) == HSA_STATUS_SUCCESS &&
        text != nullptr) {
      const std::string_view all = text;
      name = all.substr(0, all.find(':'));
    } else {
      name = std::to_string(status);
    }
  }
  return name;
}

void Writer::annotate(const hsatool_value_t& value, std::string_view name, const uint64_t* from,
                      std::string_view text) {
  const auto* const bytes = reinterpret_cast<const char*>(from);
  const auto signed_value = [&]() -> int64_t {
    switch (value.size) {
      case 1:
        return static_cast<int8_t>(bytes[0]);
      case 2: {
        int16_t small;
        std::memcpy(&small, bytes, sizeof small);
        return small;
      }
      case 4: {
        int32_t small;
        std::memcpy(&small, bytes, sizeof small);
        return small;
      }
      default: {
        int64_t whole;
        std::memcpy(&whole, bytes, sizeof whole);
        return whole;
      }
    }
  };
  uint64_t number = 0;
  std::memcpy(&number, bytes, std::min<size_t>(value.size, sizeof number));
  switch (value.kind) {
    case HSATOOL_KIND_NOTHING:
      return;
    case HSATOOL_KIND_SIGNED:
      annotations_.push_back({name, Annotation::kSigned, static_cast<uint64_t>(signed_value())});
      return;
    case HSATOOL_KIND_UNSIGNED:
    case HSATOOL_KIND_ENUM:
      annotations_.push_back({name, Annotation::kUnsigned, number});
      return;
    case HSATOOL_KIND_BOOLEAN:
      annotations_.push_back({name, Annotation::kBoolean, number});
      return;
    case HSATOOL_KIND_STATUS:
      annotations_.push_back({name, Annotation::kText, 0, status_name(static_cast<int32_t>(number))});
      return;
    case HSATOOL_KIND_TEXT:
      if (number == 0) {
        annotations_.push_back({name, Annotation::kPointer, 0});
      } else {
        annotations_.push_back({name, Annotation::kText, 0, text});
      }
      return;
    case HSATOOL_KIND_HANDLE:
      if (view(value.type) == "hsa_agent_t" && number != 0) {
        annotations_.push_back({name, Annotation::kText, 0, store_text_of_event(agents_.name({number}))});
        return;
      }
      [[fallthrough]];
    case HSATOOL_KIND_POINTER:
    case HSATOOL_KIND_FUNCTION:
      annotations_.push_back({name, Annotation::kPointer, number});
      return;
    default:  // a struct by value: show its type
      annotations_.push_back({name, Annotation::kText, 0, view(value.type)});
  }
}

void Writer::call_begins(Thread& thread, const uint64_t* words) {
  const RecordHead head = load_head(words);
  const FunctionInfo& info = recorder_.functions()[head.function];
  const hsatool_function_t& function = *info.function;
  const uint64_t time = words[1], id = words[2];
  const uint64_t* const arguments = words + 3;
  const uint64_t* text = arguments + (info.argument_bytes + size_t{7}) / 8;
  for (uint64_t i = 0; i < function.parameter_count; ++i) {
    const hsatool_value_t& value = function.parameters[i];
    if (value.offset + value.size > info.argument_bytes) continue;
    std::string_view value_text;
    if (value.kind == HSATOOL_KIND_TEXT) {
      value_text = load_text(text);
      text += text_words(value_text.size());
    }
    // Copies the value, which may be a part of a word, to the start of a word.
    uint64_t value_words[kMaxArgumentWords] = {};
    std::memcpy(value_words, reinterpret_cast<const char*>(arguments) + value.offset,
                std::min<size_t>(value.size, sizeof value_words));
    annotate(value, view(value.name), value_words, value_text);
  }
  const uint64_t flow[] = {number(kCallFlow, id)};
  Event event{.category = "hsa", .name = view(function.name), .annotations = annotations_};
  if (info.role == FunctionRole::kCopies) event.flows = flow;
  events_.begin(thread.track, time, event);
  thread.open.push_back({id, time, head.function, info.argument_bytes >= 8 ? arguments[0] : 0,
                         info.argument_bytes >= 16 ? arguments[1] : 0});
  if (info.role == FunctionRole::kFrees && options_.memory) memory_.freed(time, arguments[0]);
  if (info.role == FunctionRole::kDestroysSignal) completed_.erase(arguments[0]);
}

void Writer::call_ends(Thread& thread, const uint64_t* words) {
  const RecordHead head = load_head(words);
  const FunctionInfo& info = recorder_.functions()[head.function];
  const uint64_t time = words[1], id = words[2];
  const auto found = std::find_if(thread.open.rbegin(), thread.open.rend(),
                                  [id](const OpenCall& open) { return open.id == id; });
  if (found == thread.open.rend()) return;  // started in another session
  // Nested calls have ended in another session.
  while (thread.open.back().id != id) {
    events_.end(thread.track, time);
    thread.open.pop_back();
  }
  const OpenCall call = thread.open.back();
  thread.open.pop_back();

  annotate(info.function->result, "result", words + 3, {});
  const uint64_t* const outputs = words + 4;
  std::vector<uint64_t> flows;
  const auto ends_flow_of = [&](uint64_t signal) {
    const auto found_signal = completed_.find(signal);
    if (found_signal == completed_.end()) return;
    auto& all = found_signal->second;
    const auto first_later = std::find_if(all.begin(), all.end(),
                                          [time](const auto& completion) { return completion.time > time; });
    if (first_later != all.begin()) flows.push_back(std::prev(first_later)->flow);
    all.erase(all.begin(), first_later);
    if (all.empty()) completed_.erase(found_signal);
  };
  switch (info.role) {
    case FunctionRole::kCreates:
    case FunctionRole::kAllocates:
      if (head.count == 1) annotations_.push_back({"made", Annotation::kPointer, outputs[0]});
      break;
    case FunctionRole::kWaits:
      ends_flow_of(call.first);
      break;
    case FunctionRole::kWaitsForAny:
    case FunctionRole::kWaitsForAll:
      for (uint32_t i = 0; i < head.count; ++i) {
        annotations_.push_back({"signal", Annotation::kPointer, outputs[i]});
        ends_flow_of(outputs[i]);
      }
      break;
    default:
      break;
  }
  events_.end(thread.track, time, {.last_of = flows, .annotations = annotations_});

  Durations*& durations = durations_by_function_[head.function];
  if (durations == nullptr) durations = &statistics_.of(Statistics::kCalls, view(info.function->name));
  durations->add(time - call.begin);
  if (info.role == FunctionRole::kAllocates && head.count == 1 && options_.memory) {
    memory_.allocated(time, outputs[0], call.second, call.first);
  }
}

void Writer::finish(uint32_t tid, uint64_t time) {
  count_memory_until(UINT64_MAX);
  for (auto& [ring, thread] : threads_) {
    if (thread->tid != tid) continue;
    for (; !thread->open.empty(); thread->open.pop_back()) {
      events_.end(thread->track, time);
      const OpenCall& call = thread->open.back();
      statistics_.of(Statistics::kCalls, view(recorder_.functions()[call.function].function->name))
          .add(time - call.begin);
    }
  }
}

// --- Memory ------------------------------------------------------------------------------------------------

void Writer::count_memory_until(uint64_t until) {
  memory_.report_until(
      until, [this](uint64_t time, uint64_t pool, int64_t bytes) { count_memory(pool, bytes, time); });
}

void Writer::count_memory(uint64_t pool, int64_t bytes, uint64_t time) {
  const hsa_agent_t agent = agents_.of_pool(pool);
  const uint64_t track = number(kMemory, agent.handle);
  const auto [found, is_new] = allocated_.try_emplace(agent.handle, 0);
  if (is_new) events_.counter(track, agent_track(agent), "memory allocated");
  found->second += bytes;
  events_.count(track, time, found->second);
}

// --- Packets and copies ------------------------------------------------------------------------------------

uint64_t Writer::agent_track(hsa_agent_t agent) {
  uint64_t& track = agent_tracks_[agent.handle];
  if (track == 0) {
    track = number(kAgent, agent.handle);
    events_.lane(track, process_track_, agent.handle == 0 ? "no agent" : agents_.name(agent));
  }
  return track;
}

uint64_t Writer::lane_for(Lanes& lanes, uint64_t begin, uint64_t end) {
  for (auto& [track, last_end] : lanes.lanes) {
    if (last_end > begin) continue;
    last_end = end;
    return track;
  }
  const uint64_t track = number(lanes.key, lanes.lanes.size());
  events_.lane(track, lanes.parent, lanes.name);
  lanes.lanes.emplace_back(track, end);
  return track;
}

void Writer::enqueued(Thread& thread, const uint64_t* words) {
  const uint64_t time = words[1], queue = words[2], index = words[3];
  const uint64_t* const packet = words + 4;
  std::string name;
  if (packet_type(packet) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
    name = recorder_.kernels().name(dispatch_of(packet).kernel_object, time);
    if (!is_shown_kernel(name)) return;
  } else {
    name = barrier_name(packet);
  }
  annotations_.push_back({"queue", Annotation::kUnsigned, queue});
  annotations_.push_back({"index", Annotation::kUnsigned, index});
  const uint64_t flows[] = {number(kPacketFlow, queue, index)};
  events_.instant(thread.track, time,
                  {.category = "enqueue", .name = name, .flows = flows, .annotations = annotations_});
}

// Activities are read before the waits for them, so a signal may have several completions.
void Writer::add_completion(uint64_t signal, uint64_t flow, uint64_t time) {
  constexpr size_t kMaxCompletions = 2048;
  auto& all = completed_[signal];
  if (all.size() == kMaxCompletions) all.pop_front();
  all.push_back({flow, time});
}

void Writer::activity(const uint64_t* words) {
  if (words[2] == HSATOOL_ACTIVITY_COPY) {
    copy_done(words);
  } else {
    packet_done(words);
  }
}

void Writer::packet_done(const uint64_t* words) {
  const uint64_t time = words[1], queue = words[7], index = words[8];
  const uint64_t begin = words[3], end = std::max(words[4], words[3]);
  const hsa_agent_t agent{words[6]};
  if (!agents_.is_wanted(agent)) return;
  const uint64_t* const packet = words + 13;
  const uint64_t flows[] = {number(kPacketFlow, queue, index)};
  const bool is_kernel = words[2] == HSATOOL_ACTIVITY_DISPATCH;
  std::string name = barrier_name(packet);
  if (is_kernel) {
    const auto dispatch = dispatch_of(packet);
    name = recorder_.kernels().name(dispatch.kernel_object, time);
    if (!is_shown_kernel(name)) return;
    annotations_.push_back(
        {"grid", Annotation::kText, 0,
         store_text_of_event(extent(dispatch.grid_size_x, dispatch.grid_size_y, dispatch.grid_size_z))});
    annotations_.push_back({"work-group", Annotation::kText, 0,
                            store_text_of_event(extent(dispatch.workgroup_size_x, dispatch.workgroup_size_y,
                                                       dispatch.workgroup_size_z))});
    annotations_.push_back({"group segment", Annotation::kUnsigned, dispatch.group_segment_size});
    annotations_.push_back({"private segment", Annotation::kUnsigned, dispatch.private_segment_size});
    annotations_.push_back(
        {"kernarg", Annotation::kPointer, reinterpret_cast<uint64_t>(dispatch.kernarg_address)});
  }
  annotations_.push_back({"index", Annotation::kUnsigned, index});
  if (words[9] != 0) {
    annotations_.push_back({"completion signal", Annotation::kPointer, words[9]});
    add_completion(words[9], flows[0], time);
  }
  auto [found, is_new] = queues_.try_emplace(queue);
  Lanes& lanes = found->second;
  if (is_new)
    lanes = {agent_track(agent), number(kQueue, queue, agent.handle), "queue " + std::to_string(queue), {}};
  const Event event{.category = is_kernel ? "kernel" : "barrier",
                    .name = name,
                    .flows = flows,
                    .annotations = annotations_};
  if (begin == 0) {  // the device did not report times
    events_.instant(lane_for(lanes, time, time), time, event);
    return;
  }
  const uint64_t track = lane_for(lanes, begin, end);
  events_.begin(track, begin, event);
  events_.end(track, end);
  if (is_kernel) statistics_.of(Statistics::kKernels, name).add(end - begin);
}

void Writer::copy_done(const uint64_t* words) {
  const uint64_t begin = words[3], end = std::max(words[4], words[3]);
  const hsa_agent_t source{words[10]}, destination{words[11]};
  if (!agents_.is_wanted(source) && !agents_.is_wanted(destination)) return;
  auto [found, is_new] = copies_.try_emplace({source.handle, destination.handle});
  Lanes& lanes = found->second;
  if (is_new) {
    const hsa_agent_t parent = agents_.is_gpu(destination) || !agents_.is_gpu(source) ? destination : source;
    lanes = {agent_track(parent),
             number(kCopies, source.handle, destination.handle),
             agents_.name(source) + " to " + agents_.name(destination),
             {}};
  }
  const uint64_t flows[] = {number(kCallFlow, words[5])};
  annotations_.push_back({"bytes", Annotation::kUnsigned, words[12]});
  if (words[9] != 0) {
    annotations_.push_back({"completion signal", Annotation::kPointer, words[9]});
    if (words[5] != 0) add_completion(words[9], flows[0], words[1]);
  }
  Event event{.category = "copy", .name = lanes.name, .annotations = annotations_};
  if (words[5] != 0) event.flows = flows;
  if (begin == 0) {
    events_.instant(lane_for(lanes, words[1], words[1]), words[1], event);
    return;
  }
  const uint64_t track = lane_for(lanes, begin, end);
  events_.begin(track, begin, event);
  events_.end(track, end);
  statistics_.of(Statistics::kCopies, lanes.name).add(end - begin);
}

// --- Markers -----------------------------------------------------------------------------------------------

void Writer::marker(Thread& thread, const uint64_t* words) {
  const RecordHead head = load_head(words);
  const uint64_t time = words[1], range = words[2];
  const Event event{.category = "marker", .name = load_text(words + 3), .rare_name = true};
  switch (static_cast<MarkerOperation>(head.function)) {
    case MarkerOperation::kMark:
      return events_.instant(thread.track, time, event);
    case MarkerOperation::kPush:
      ++thread.open_ranges;
      return events_.begin(thread.track, time, event);
    case MarkerOperation::kPop:
      if (thread.open_ranges == 0) return;
      --thread.open_ranges;
      return events_.end(thread.track, time);
    case MarkerOperation::kStart: {
      // The end is unknown, so the lane stays occupied.
      const uint64_t track = lane_for(ranges_, time, UINT64_MAX);
      open_ranges_[range] = track;
      return events_.begin(track, time, event);
    }
    case MarkerOperation::kStop: {
      const auto found = open_ranges_.find(range);
      if (found == open_ranges_.end()) return;
      const uint64_t track = found->second;
      open_ranges_.erase(found);
      for (auto& [lane, end] : ranges_.lanes) {
        if (lane == track) end = time;
      }
      return events_.end(track, time);
    }
  }
}

}  // namespace trace
