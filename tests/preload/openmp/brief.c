/* A short program that ends in several ways. Usage: brief [WAY]. */
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int meet(int threads) {
  int cells[4] = {0};
  int wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  {
    cells[omp_get_thread_num()] = 1;
#pragma omp barrier
    wrong += cells[0] + cells[omp_get_num_threads() - 1] != 2;
  }
  return wrong;
}

int main(int argc, char** argv) {
  const int way = argc > 1 ? atoi(argv[1]) : 0;
  if (way == 1) { /* no region at all */
    return 3;
  }
  if (way == 2) { /* ends while another thread waits */
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 0) _exit(4);
#pragma omp barrier
    }
  }
  if (way == 3) {
    meet(3);
    raise(SIGKILL);
  }
  if (way == 4) { /* another program replaces this one */
    meet(2);
    char* const arguments[] = {argv[0], NULL};
    execv("/proc/self/exe", arguments);
    return 99;
  }
  if (way == 5) { /* a child ends first, forked before there was a region */
    const pid_t pid = fork();
    if (pid == 0) _exit(meet(2) + 6);
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 98;
    return meet(2) + WEXITSTATUS(status);
  }
  return meet(2) == 0 ? 42 : 1;
}
