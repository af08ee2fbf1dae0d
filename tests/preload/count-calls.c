/* count-calls PROGRAM ARGUMENT...: runs it, and prints how many system calls its threads made until it ended, last on standard error. Exit
 * code: the program's; 77: nobody may be traced here. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

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
  if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, pid, NULL, options) != 0) {
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return 77;
  }
  long stops = 0; /* one as a call begins, one as it ends */
  for (pid_t thread = pid; thread > 0; thread = waitpid(-1, &status, __WALL)) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (thread == pid) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    const int stopped = WSTOPSIG(status);
    const int is_call = stopped == (SIGTRAP | 0x80);
    stops += is_call;
    const int ours = is_call || stopped == SIGTRAP || stopped == SIGSTOP; /* else it is the program's */
    ptrace(PTRACE_SYSCALL, thread, NULL, (long)(ours ? 0 : stopped));
  }
  fprintf(stderr, "%ld\n", (stops + 1) / 2);
  return code;
}
