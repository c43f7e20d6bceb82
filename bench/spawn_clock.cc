// SPDX-License-Identifier: Apache-2.0
// How long does `PROGRAM --version` take from posix_spawn until it has ended? Two programs take
// turns, so that both see the same noise; the median of each is printed, in milliseconds.
// usage: spawn_clock RUNS PROGRAM PROGRAM
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double Once(char* program) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::array<char, 10> version = {"--version"};
  std::array<char*, 3> arguments = {program, version.data(), nullptr};
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  if (posix_spawn(&child, program, &quiet, nullptr, arguments.data(), environ) != 0) {
    std::fprintf(stderr, "spawn_clock: cannot start %s\n", program);
    std::exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  posix_spawn_file_actions_destroy(&quiet);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "spawn_clock: %s --version ended with status %d\n", program, status);
    std::exit(1);
  }
  return took.count();
}

double Median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: spawn_clock RUNS PROGRAM PROGRAM\n");
    return 2;
  }
  std::vector<double> first;
  std::vector<double> second;
  for (long run = std::strtol(argv[1], nullptr, 10); run > 0; --run) {
    first.push_back(Once(argv[2]));
    second.push_back(Once(argv[3]));
  }
  if (first.empty()) {
    std::fprintf(stderr, "spawn_clock: RUNS is %s, not a number above 0\n", argv[1]);
    return 2;
  }
  std::printf("%.4f %.4f\n", Median(first), Median(second));
  return 0;
}
