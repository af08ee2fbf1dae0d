/* count-calls PROGRAM ARGUMENT...: runs the program and prints on standard error, as the last line, how many
 * system calls its threads made until it ended. Calls that wait for another thread (futex, sched_yield) are
 * left out, because a slow tracer makes more of them. Exit code: the program's; 77: tracing is not permitted
 * here. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int begins(pid_t thread) {
  struct __ptrace_syscall_info info;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0 ||
      info.op != PTRACE_SYSCALL_INFO_ENTRY)
    return 0;
  return info.entry.nr != SYS_futex && info.entry.nr != SYS_sched_yield;
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  const pid_t pid = fork();
  if (pid < 0) return 99;
  if (pid == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(77);
    raise(SIGSTOP);
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  int status = 0, code = 99;
  if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, pid, NULL, options) != 0) {
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return 77;
  }
  long calls = 0;
  for (pid_t thread = pid; thread > 0; thread = waitpid(-1, &status, __WALL)) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (thread == pid) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    const int stopped = WSTOPSIG(status);
    const int is_call = stopped == (SIGTRAP | 0x80);
    calls += is_call && begins(thread);
    const int ours = is_call || stopped == SIGTRAP || stopped == SIGSTOP; /* otherwise the signal is the
                                                                           * program's */
    ptrace(PTRACE_SYSCALL, thread, NULL, (long)(ours ? 0 : stopped));
  }
  fprintf(stderr, "%ld\n", calls);
  return code;
}
