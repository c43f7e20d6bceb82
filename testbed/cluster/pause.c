// SPDX-License-Identifier: Apache-2.0
//
// The process that a pod's namespaces live in. It waits for the signal that ends the pod, and collects
// processes that were left to it where the containers of a pod share one PID namespace.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) {
  (void)signal;
  _exit(0);
}

static void collect(int signal) {
  (void)signal;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGINT, end);
  signal(SIGTERM, end);
  signal(SIGCHLD, collect);
  for (;;) {
    pause();
  }
}
