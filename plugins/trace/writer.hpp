// The side of the tracer that the file is on: turns records into track events, and counts for the table at the
// end. It reads records only, and never the application's memory. One thread at a time.
//
// Tracks: one of each thread; one of each queue below that of its agent, with as many lanes as its kernels
// overlap; one of each pair of agents between which is copied; one of each agent's allocated memory; one of
// ranges that begin and end anywhere.
//
// Flows: from a packet's enqueuing, or a copy's call, to the execution, to the end of the wait that it ends. For
// the last the writer keeps which activity has completed a signal. What an application can only do when it has
// seen an activity end is recorded after it; so a cycle first looks how far all rings have come, then reads those
// with activities, as far as they have come by then, and then the others as far as it has seen.
//
// What is allocated is counted in the order of time, so a change waits until all threads' records of that time have
// been read: to the end of the cycle after the one that it is in, by when a thread that was stopped between a
// look at the clock and its record will have gone on.
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

  /// Events of all records that there are. Returns whether there were any. `flush` is called when `out` has
  /// become long.
  template <class Flush>
  bool cycle(Flush&& flush);

  /// Tells of what was kept back, and ends what the calling thread has not returned from, as it ends the session.
  void finish(uint32_t tid, uint64_t time);

  const Statistics& statistics() const { return statistics_; }
  uint64_t lost() const { return lost_; }

 private:
  struct OpenCall {
    uint64_t id;
    uint64_t begin;
    uint16_t function;
    uint64_t first, second;  // arguments, where the function's role needs them
  };
  // What the writer knows of a thread.
  struct Thread {
    uint32_t tid = 0;
    uint64_t track = 0;
    std::vector<OpenCall> open;
    uint32_t open_ranges = 0;
  };
  // Slices of a track that may overlap, each in the first lane that is free by then.
  struct Lanes {
    uint64_t parent = 0;
    uint64_t key = 0;
    std::string name;
    std::vector<std::pair<uint64_t, uint64_t>> lanes;  // track, end of the last slice
  };
  struct Completion {
    uint64_t flow;
    uint64_t time;  // when it was recorded
  };

  static constexpr size_t kLongOutput = size_t{1} << 18;

  Thread& thread_of(ThreadRing& ring);
  void read(ThreadRing& ring, uint64_t end);
  void record(Thread& thread, const uint64_t* words);
  void call_begins(Thread& thread, const uint64_t* words);
  void call_ends(Thread& thread, const uint64_t* words);
  void enqueued(Thread& thread, const uint64_t* words);
  void activity(const uint64_t* words);
  void completes(uint64_t signal, uint64_t flow, uint64_t time);
  void packet_done(const uint64_t* words);
  void copy_done(const uint64_t* words);
  void marker(Thread& thread, const uint64_t* words);
  void count_memory(uint64_t pool, int64_t bytes, uint64_t time);
  void count_memory_until(uint64_t until);
  void note(const hsatool_value_t& value, std::string_view name, const uint64_t* from, std::string_view text);
  std::string_view keep(std::string text);
  std::string_view status_name(int32_t status);

  uint64_t agent_track(hsa_agent_t agent);
  uint64_t lane_for(Lanes& lanes, uint64_t begin, uint64_t end);
  uint64_t number(uint64_t kind, uint64_t a, uint64_t b = 0, uint64_t c = 0) const;
  bool is_shown_kernel(const std::string& name) const { return options_.kernels.mean(name); }

  Recorder& recorder_;
  const Options& options_;
  const Agents& agents_;
  std::string& out_;
  TrackEvents events_;
  const uint32_t pid_;
  const uint64_t process_track_;
  Statistics statistics_;
  std::vector<Durations*> of_function_;
  std::unordered_map<ThreadRing*, std::unique_ptr<Thread>> threads_;
  std::unordered_map<uint64_t, uint64_t> agent_tracks_;
  std::unordered_map<uint64_t, Lanes> queues_;
  std::map<std::pair<uint64_t, uint64_t>, Lanes> copies_;
  Lanes ranges_;
  std::unordered_map<uint64_t, uint64_t> open_ranges_;              // track, by number
  std::unordered_map<uint64_t, std::deque<Completion>> completed_;  // by signal
  AllocatedMemory memory_;
  uint64_t last_cycle_ = 0;                          // when it began
  std::unordered_map<uint64_t, int64_t> allocated_;  // bytes, by agent
  std::unordered_map<int32_t, std::string> statuses_;
  std::vector<Annotation> annotations_;  // of the event that is being made, with
  std::deque<std::string> texts_;        // the texts that they need
  std::vector<std::pair<ThreadRing*, uint64_t>> seen_;
  uint64_t lost_ = 0;
};

template <class Flush>
bool Writer::cycle(Flush&& flush) {
  const uint64_t settled = std::exchange(last_cycle_, recorder_.host().services->now());
  seen_.clear();
  bool any = false;
  for (ThreadRing* ring = recorder_.rings(); ring != nullptr; ring = ring->next) {
    // Before the end is looked at: a thread that has left records nothing more.
    const bool has_left = ring->state.load(std::memory_order_acquire) == ThreadRing::kLeft;
    const uint64_t end = ring->ring.end();
    if (end != ring->ring.begin()) {
      seen_.emplace_back(ring, end);
      any = true;
    } else if (has_left) {
      threads_.erase(ring);
      ring->state.store(ThreadRing::kFree, std::memory_order_release);
    }
  }
  const auto read_some = [&](ThreadRing& ring, uint64_t end) {
    while (ring.ring.begin() != end) {
      read(ring, end);
      if (out_.size() >= kLongOutput) flush();
    }
  };
  for (ThreadRing* ring = recorder_.rings(); ring != nullptr; ring = ring->next) {
    if (ring->has_activities.load(std::memory_order_relaxed)) read_some(*ring, ring->ring.end());
  }
  for (const auto& [ring, end] : seen_) {
    if (!ring->has_activities.load(std::memory_order_relaxed)) read_some(*ring, end);
  }
  count_memory_until(settled);
  return any;
}

}  // namespace trace
