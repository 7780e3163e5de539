// Enumerates every interleaving of a small protocol.
//
// A model is a few threads that take steps on a common state, an array of bytes. It has `initial`,
// `successors` of a state (one for each step that a thread can take), and `finished`. The checker visits
// every reachable state. A state in which no thread can step although some thread has not finished is a lost
// wake-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace rigel::testing {

struct Explored {
  size_t states = 0;
  size_t stuck = 0;
  size_t finished = 0;
};

template <class Model>
Explored explore(const Model& model) {
  using State = typename Model::State;
  struct Hash {
    size_t operator()(const State& state) const {
      size_t hash = 0xcbf29ce484222325;
      for (const uint8_t byte : state) hash = (hash ^ byte) * 0x100000001b3;
      return hash;
    }
  };
  Explored result;
  std::unordered_set<State, Hash> seen{model.initial()};
  std::vector<State> open{model.initial()};
  std::vector<State> next;
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    ++result.states;
    next.clear();
    model.successors(state, next);
    if (next.empty()) ++(model.finished(state) ? result.finished : result.stuck);
    for (const State& successor : next) {
      if (seen.insert(successor).second) open.push_back(successor);
    }
  }
  return result;
}

}  // namespace rigel::testing
