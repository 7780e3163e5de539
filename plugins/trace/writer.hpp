// Converts records to track events, and collects the statistics for the table. Reads only records, never the
// application's memory. *Threads:* one at a time.
//
// Tracks: each thread has one. Each queue has one below its agent's track, with several lanes for overlapping
// kernels. Each pair of agents with copies has one, and each agent has one for its allocated memory. One
// track contains the ranges that start and stop on any thread.
//
// Flows: from the enqueuing of a packet, or the call of a copy, to the execution, to the end of the wait that
// it ends. For the last step the writer stores the activities that completed a signal. An application records
// an action that depends on an activity after that activity. A cycle therefore first reads the ends of all
// rings. Then it processes the rings with activities up to their current ends. Last, it processes the other
// rings up to the ends that it read first.
//
// Allocated memory is counted in order of time. A change is held back until the end of the next cycle. By
// then, a thread that was preempted between reading the clock and writing its record has continued.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/trace/agents.hpp"
#include "plugins/trace/allocated_memory.hpp"
#include "plugins/trace/options.hpp"
#include "plugins/trace/recorder.hpp"
#include "plugins/trace/statistics.hpp"
#include "plugins/trace/track_events.hpp"

namespace trace {

class Writer {
 public:
  /// Appends events to `out`, which the caller may empty between calls.
  Writer(Recorder& recorder, const Options& options, const Agents& agents, std::string& out,
         uint32_t session);

  /// Writes events for all records. Returns whether there were any. Calls `flush` when `out` is long.
  template <class Flush>
  bool cycle(Flush&& flush);

  /// Writes the changes that were held back, and ends the open calls of the calling thread.
  void finish(uint32_t tid, uint64_t time);

  const Statistics& statistics() const { return statistics_; }
  uint64_t lost() const { return lost_; }

 private:
  struct OpenCall {
    uint64_t id;
    uint64_t begin;
    uint16_t function;
    uint64_t first, second;  // arguments, for roles that need them
  };
  // The state of a thread.
  struct Thread {
    uint32_t tid = 0;
    uint64_t track = 0;
    std::vector<OpenCall> open;
    uint32_t open_ranges = 0;
  };
  // A track of slices that may overlap. Each is in the first lane that is free at its start.
  struct Lanes {
    uint64_t parent = 0;
    uint64_t key = 0;
    std::string name;
    std::vector<std::pair<uint64_t, uint64_t>> lanes;  // track, end of the last slice
  };
  struct Completion {
    uint64_t flow;
    uint64_t time;  // time of the record
  };

  static constexpr size_t kLongOutput = size_t{1} << 18;

  Thread& thread_of(ThreadRing& ring);
  void read(ThreadRing& ring, uint64_t end);
  void record(Thread& thread, const uint64_t* words);
  void call_begins(Thread& thread, const uint64_t* words);
  void call_ends(Thread& thread, const uint64_t* words);
  void enqueued(Thread& thread, const uint64_t* words);
  void activity(const uint64_t* words);
  void add_completion(uint64_t signal, uint64_t flow, uint64_t time);
  void packet_done(const uint64_t* words);
  void copy_done(const uint64_t* words);
  void marker(Thread& thread, const uint64_t* words);
  void count_memory(uint64_t pool, int64_t bytes, uint64_t time);
  void count_memory_until(uint64_t until);
  void annotate(const hsatool_value_t& value, std::string_view name, const uint64_t* from,
                std::string_view text);
  std::string_view store_text_of_event(std::string text);
  std::string_view status_name(int32_t status);

  uint64_t agent_track(hsa_agent_t agent);
  uint64_t lane_for(Lanes& lanes, uint64_t begin, uint64_t end);
  uint64_t number(uint64_t kind, uint64_t a, uint64_t b = 0, uint64_t c = 0) const;
  bool is_shown_kernel(const std::string& name) const { return options_.kernels.selects(name); }

  Recorder& recorder_;
  const Options& options_;
  const Agents& agents_;
  std::string& out_;
  TrackEvents events_;
  const uint32_t pid_;
  const uint64_t process_track_;
  Statistics statistics_;
  std::vector<Durations*> durations_by_function_;
  std::unordered_map<ThreadRing*, std::unique_ptr<Thread>> threads_;
  std::unordered_map<uint64_t, uint64_t> agent_tracks_;
  std::unordered_map<uint64_t, Lanes> queues_;
  std::map<std::pair<uint64_t, uint64_t>, Lanes> copies_;
  Lanes ranges_;
  std::unordered_map<uint64_t, uint64_t> open_ranges_;              // track, by number
  std::unordered_map<uint64_t, std::deque<Completion>> completed_;  // by signal
  AllocatedMemory memory_;
  uint64_t last_cycle_ = 0;                          // start time of the last cycle
  std::unordered_map<uint64_t, int64_t> allocated_;  // bytes, by agent
  std::unordered_map<int32_t, std::string> statuses_;
  std::vector<Annotation> annotations_;  // annotations of the current event
  std::deque<std::string> texts_;        // storage of texts in annotations_
  std::vector<std::pair<ThreadRing*, uint64_t>> ends_;
  uint64_t lost_ = 0;
};

template <class Flush>
bool Writer::cycle(Flush&& flush) {
  const uint64_t complete_until = std::exchange(last_cycle_, recorder_.host().services->now());
  ends_.clear();
  bool had_records = false;
  for (ThreadRing* ring = recorder_.rings(); ring != nullptr; ring = ring->next) {
    // Read before the end: an ended thread adds no records.
    const bool has_left = ring->state.load(std::memory_order_acquire) == ThreadRing::kLeft;
    const uint64_t end = ring->ring.end();
    if (end != ring->ring.begin()) {
      ends_.emplace_back(ring, end);
      had_records = true;
    } else if (has_left) {
      threads_.erase(ring);
      ring->state.store(ThreadRing::kFree, std::memory_order_release);
    }
  }
  const auto read_until = [&](ThreadRing& ring, uint64_t end) {
    while (ring.ring.begin() != end) {
      read(ring, end);
      if (out_.size() >= kLongOutput) flush();
    }
  };
  for (ThreadRing* ring = recorder_.rings(); ring != nullptr; ring = ring->next) {
    if (ring->has_activities.load(std::memory_order_relaxed)) read_until(*ring, ring->ring.end());
  }
  for (const auto& [ring, end] : ends_) {
    if (!ring->has_activities.load(std::memory_order_relaxed)) read_until(*ring, end);
  }
  count_memory_until(complete_until);
  return had_records;
}

}  // namespace trace
