// Litmus tests of memory order: tests.inc. Each runs with its threads in waves of a work-group, in
// work-groups, on queues, on two GPUs, and with the host as one of them. Forbidden outcomes must not occur.
// The number of occurrences of an outcome is a property of the test (--gtest_output).
#include <array>
#include <atomic>
#include <bit>
#include <ostream>
#include <thread>

#include "litmus/litmus.hpp"
#include "litmus/machine.hpp"

namespace conformance {
namespace {

// A host thread of a test, with the operations of tests.inc.
struct Thread {
  std::atomic_ref<uint32_t> X, Y, Z;
  uint32_t R0 = kUnread, R1 = kUnread, R2 = kUnread, R3 = kUnread, R4 = kUnread, R5 = kUnread;

  static constexpr std::memory_order order_of(int order) {
    return order == __ATOMIC_RELAXED   ? std::memory_order_relaxed
           : order == __ATOMIC_ACQUIRE ? std::memory_order_acquire
           : order == __ATOMIC_RELEASE ? std::memory_order_release
           : order == __ATOMIC_ACQ_REL ? std::memory_order_acq_rel
                                       : std::memory_order_seq_cst;
  }
  static void store(std::atomic_ref<uint32_t>& place, uint32_t value, int order) {
    place.store(value, order_of(order));
  }
  static uint32_t load(std::atomic_ref<uint32_t>& place, int order) { return place.load(order_of(order)); }
  static uint32_t exchange(std::atomic_ref<uint32_t>& place, uint32_t value, int order) {
    return place.exchange(value, order_of(order));
  }
  static uint32_t add(std::atomic_ref<uint32_t>& place, uint32_t value, int order) {
    return place.fetch_add(value, order_of(order));
  }
  static void plain_store(std::atomic_ref<uint32_t>& place, uint32_t value) {
    place.store(value, std::memory_order_relaxed);
  }
  static uint32_t plain_load(std::atomic_ref<uint32_t>& place) {
    return place.load(std::memory_order_relaxed);
  }
  static void read(uint32_t& to, uint32_t value) { to = value; }
  static void release() { std::atomic_thread_fence(std::memory_order_release); }
  static void acquire() { std::atomic_thread_fence(std::memory_order_acquire); }
  static void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
};

struct Outcome {
  uint32_t X, Y, Z, R0, R1, R2, R3, R4, R5;
};

enum class Verdict { kForbidden, kAllowed };

struct Row {
  const char* name;
  Verdict verdict;
  uint32_t roles;
  const char* outcome;
  bool (*is_seen)(const Outcome&);
  void (*run)(Thread&, uint32_t role);
};

#define LITMUS(name, verdict, outcome, ...)                             \
  {#name,                                                               \
   Verdict::verdict,                                                    \
   LITMUS_COUNT(__VA_ARGS__),                                           \
   #outcome,                                                            \
   [](const Outcome& o) {                                               \
     [[maybe_unused]] const auto [X, Y, Z, R0, R1, R2, R3, R4, R5] = o; \
     return outcome;                                                    \
   },                                                                   \
   [](Thread& t, uint32_t role) { LITMUS_THREADS((void)0, __VA_ARGS__) }},
constexpr Row kRows[] = {
#include "litmus/tests.inc"
};
#undef LITMUS

// The locations of a test's threads. kGroupMemory and kWaves: waves of one work-group, with variables in
// group or global memory.
enum class Place { kGroupMemory, kWaves, kWorkGroups, kQueues, kGpus, kHostFirst, kHostLast };
constexpr struct {
  const char* name;
  const char* scope;
} kPlaces[] = {{"GroupMemory", "group_memory"},
               {"Waves", "work_group"},
               {"WorkGroups", "agent"},
               {"Queues", "system"},
               {"Gpus", "system"},
               {"HostFirst", "system"},
               {"HostLast", "system"}};

struct Case {
  const Row* row;
  Place place;

  friend void PrintTo(const Case& test, std::ostream* out) {
    *out << test.row->name << " of " << kPlaces[static_cast<size_t>(test.place)].name;
  }
};

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const Row& row : kRows) {
    for (size_t place = 0; place < std::size(kPlaces); ++place)
      cases.push_back({&row, static_cast<Place>(place)});
  }
  return cases;
}

class Litmus : public LitmusTest, public testing::WithParamInterface<Case> {
 protected:
  static constexpr uint32_t kRounds = 48;
  static constexpr uint32_t kPatience = 1'000, kPatienceAtFirst = 100'000;

  // Runs all instances. Adds the number of those with the outcome to `seen`.
  void run(uint32_t& seen) {
    const auto& [row, place] = GetParam();
    Machine::Gpu& gpu = machine().gpus().front();
    const uint32_t lanes = std::min(gpu.wave, kMostLanes), instances = lanes * kRounds;
    const Machine::Words variables(machine(), size_t{kVariables} * instances, 0);
    const Machine::Words registers(machine(), size_t{kRegisters} * instances, kUnread);
    const Machine::Words arrivals(machine(), kRounds, 0);
    LitmusArgs args{};
    args.variables = variables.get(), args.registers = registers.get(), args.arrivals = arrivals.get();
    args.lanes = lanes, args.lanes_bits = static_cast<uint32_t>(std::countr_zero(lanes));
    args.rounds = kRounds, args.roles = row->roles, args.patience = kPatience,
    args.patience_at_first = kPatienceAtFirst;
    args.role = kByPlace, args.by_wave = place <= Place::kWaves ? 1 : 0;

    std::deque<Machine::Words> kernargs;
    std::deque<ScopedSignal> ends;
    const std::string name = std::string(row->name) + "_" + kPlaces[static_cast<size_t>(place)].scope;
    const auto dispatch = [&](Machine::Gpu& on, size_t queue, uint32_t role, uint32_t waves,
                              uint32_t of_group) {
      args.role = role;
      kernargs.push_back(machine().kernarg(args));
      auto packet = dispatch_packet(on.kernels.kernel(name), kernargs.back().get(), waves * lanes,
                                    static_cast<uint16_t>(of_group * lanes));
      packet.completion_signal = ends.emplace_back(1);
      submit(machine().queue(on, queue).get(), packet);
    };
    const uint32_t on_host = place == Place::kHostFirst  ? 0
                             : place == Place::kHostLast ? row->roles - 1
                                                         : kMostRoles;
    switch (place) {
      case Place::kGroupMemory:
      case Place::kWaves:
        dispatch(gpu, 0, kByPlace, row->roles, row->roles);
        break;
      case Place::kWorkGroups:
        dispatch(gpu, 0, kByPlace, row->roles, 1);
        break;
      default:
        for (uint32_t role = 0; role < row->roles; ++role) {
          if (role == on_host) continue;
          const bool other = place == Place::kGpus && role % 2 == 1;
          dispatch(machine().gpus()[other ? 1 : 0], role, role, 1, 1);
        }
    }
    if (on_host != kMostRoles) run_on_host(args, on_host);
    for (const ScopedSignal& end : ends) ASSERT_TRUE(wait_for(end, HSA_SIGNAL_CONDITION_LT, 1));

    for (uint32_t i = 0; i < instances; ++i) {
      const auto variable = [&](uint32_t v) { return variables[v * instances + i]; };
      const auto reg = [&](uint32_t r) { return registers[r * instances + i]; };
      const Outcome outcome{variable(0), variable(1), variable(2), reg(0), reg(1),
                            reg(2),      reg(3),      reg(4),      reg(5)};
      if (row->is_seen(outcome)) ++seen;
    }
    for (uint32_t round = 0; round < kRounds; ++round) ASSERT_EQ(arrivals[round], row->roles) << round;
  }

  void run_on_host(const LitmusArgs& args, uint32_t role) {
    const uint32_t instances = args.lanes * args.rounds;
    for (uint32_t round = 0; round < args.rounds; ++round) {
      const std::atomic_ref<uint32_t> arrived(args.arrivals[round]);
      arrived.fetch_add(1, std::memory_order_relaxed);
      const uint32_t patience = round == 0 ? args.patience_at_first : args.patience;
      for (uint32_t i = 0; i < patience && arrived.load(std::memory_order_relaxed) < args.roles; ++i)
        std::this_thread::yield();
      for (uint32_t lane = 0; lane < args.lanes; ++lane) {
        const uint32_t instance = round * args.lanes + lane;
        const auto variable = [&](uint32_t v) {
          return std::atomic_ref<uint32_t>(args.variables[v * instances + instance]);
        };
        Thread t{variable(0), variable(1), variable(2)};
        GetParam().row->run(t, role);
        const uint32_t values[] = {t.R0, t.R1, t.R2, t.R3, t.R4, t.R5};
        for (uint32_t r = 0; r < kRegisters; ++r) {
          if (values[r] != kUnread) args.registers[r * instances + instance] = values[r];
        }
      }
    }
  }
};

TEST_P(Litmus, ShowsNoForbiddenOutcome) {
  const auto& [row, place] = GetParam();
  if (place == Place::kGpus && machine().gpus().size() < 2) GTEST_SKIP() << "there are not two GPUs";
  uint32_t seen = 0;
  for (unsigned i = 0; i < times() && !HasFatalFailure(); ++i) run(seen);
  RecordProperty("seen", static_cast<int>(seen));
  if (row->verdict == Verdict::kForbidden) {
    EXPECT_EQ(seen, 0u) << row->outcome;
  }
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return std::string(test.param.row->name) + "_" + kPlaces[static_cast<size_t>(test.param.place)].name;
}
INSTANTIATE_TEST_SUITE_P(, Litmus, testing::ValuesIn(every_case()), name_of);

}  // namespace
}  // namespace conformance
