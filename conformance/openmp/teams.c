// Leagues of teams, loops distributed among them, and state shared by the threads of a team.
#include "on_gpu.h"

enum { kCount = 100003, kTeams = 8 };

static void saxpy(void) {
  float* x = malloc(kCount * sizeof *x);
  float* y = malloc(kCount * sizeof *y);
  for (int i = 0; i < kCount; ++i) x[i] = (float)i, y[i] = 1.0f;
#pragma omp target teams distribute parallel for map(to : x [0:kCount]) map(tofrom : y [0:kCount])
  for (int i = 0; i < kCount; ++i) y[i] += 2.0f * x[i];
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += y[i] != 1.0f + 2.0f * (float)i;
  CHECK(wrong == 0);
  free(x);
  free(y);
}

static void every_iteration_once(void) {
  enum { kRows = 61, kColumns = 67 };
  static int seen[kRows][kColumns];
#pragma omp target teams distribute parallel for collapse(2) map(tofrom \
                                                                 : seen) num_teams(kTeams) thread_limit(64)
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
#pragma omp atomic
      seen[row][column] += row * kColumns + column + 1;
    }
  }
  int wrong = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column)
      wrong += seen[row][column] != row * kColumns + column + 1;
  }
  CHECK(wrong == 0);
}

static void schedules(void) {
  static int chunked[kCount], dynamic[kCount];
#pragma omp target teams distribute parallel for dist_schedule(static, 128) schedule(static, 1) \
    map(tofrom                                                                                  \
        : chunked)
  for (int i = 0; i < kCount; ++i) chunked[i] += i;
#if __clang_major__ >= 19
    // Older device libraries have no memory for the chunks of a dynamic loop.
#pragma omp target map(tofrom : dynamic)
#pragma omp parallel for schedule(dynamic, 7)
  for (int i = 0; i < kCount; ++i) dynamic[i] += i;
#else
  for (int i = 0; i < kCount; ++i) dynamic[i] = i;
#endif
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += chunked[i] != i || dynamic[i] != i;
  CHECK(wrong == 0);
}

// A team has a master that runs sequential code, and threads that join for parallel loops.
static void team_with_a_master(void) {
  int sums[kTeams] = {0}, threads[kTeams] = {0}, teams = 0;
#pragma omp target teams num_teams(kTeams) thread_limit(128) map(tofrom : sums, threads) map(from : teams)
  {
    const int team = omp_get_team_num();
    int local = 0;
    if (team == 0) teams = omp_get_num_teams();
#pragma omp parallel
    {
#pragma omp atomic
      local += omp_get_thread_num() + 1;
#pragma omp barrier
      if (omp_get_thread_num() == 0) threads[team] = omp_get_num_threads();
    }
    sums[team] = local;
  }
  CHECK(teams >= 1 && teams <= kTeams);
  for (int team = 0; team < teams; ++team) {
    const int n = threads[team];
    CHECK(n >= 1 && n <= 128);
    CHECK(sums[team] == n * (n + 1) / 2);
  }
}

#if __clang_major__ >= 19
// Older device libraries count waves of 64 in a barrier of some of a team's threads, whatever the GPU's wave
// size, and read a team's execution mode before they write it.
static void barriers_and_sections(void) {
  enum { kThreads = 64 };
  int first[kThreads] = {0}, second[kThreads] = {0}, count = 0, singles = 0;
#pragma omp target map(tofrom : first, second, count, singles)
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num(), all = omp_get_num_threads();
    first[me] = me + 1;
#pragma omp barrier
    second[me] = first[(me + 1) % all];
#if __clang_major__ >= 19
#pragma omp critical
#else  // older versions compile critical to a trap
#pragma omp atomic
#endif
    ++count;
#pragma omp single
    singles += all;
  }
  CHECK(singles >= 1 && count == singles);
  for (int i = 0; i < singles; ++i) CHECK(second[i] == (i + 1) % singles + 1);
}
#else
static void barriers_and_sections(void) {}
#endif

int main(void) {
  require_gpu();
  saxpy();
  every_iteration_once();
  schedules();
  team_with_a_master();
  barriers_and_sections();
  return conclude();
}
