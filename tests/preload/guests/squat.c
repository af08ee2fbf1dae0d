/* squat COMMAND...: runs a command in a PID namespace of its own while another user's sockets occupy names,
 * with full queues. These are all the names that process numbers and a counter can give. Exit code: the
 * command's, or 77 where such namespaces are not permitted. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kProcesses = 400, kCalls = 2, kNobody = 65534 };

static int hold(const char* name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
  memcpy(address.sun_path + 1, name, strlen(name));
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (listener < 0 || bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 0) != 0)
    return 1;
  for (int i = 0; i < 8; ++i)
    if (connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), (struct sockaddr*)&address, length) != 0)
      break;
  return 0;
}

static void squat(int ready) {
  const struct rlimit files = {8192, 8192};
  setrlimit(RLIMIT_NOFILE, &files);
  int bad = geteuid() == 0 && setuid(kNobody) != 0;
  for (int process = 1; process <= kProcesses; ++process)
    for (int call = 1; call <= kCalls; ++call) {
      char name[64];
      snprintf(name, sizeof name, "fermata.fermata-mpi.%016llx",
               (unsigned long long)process << 32 | (unsigned)call);
      bad |= hold(name);
    }
  if (bad || write(ready, "r", 1) != 1) _exit(1);
  for (;;) pause();
}

int main(int argc, char** argv) {
  int ready[2];
  if (argc < 2 || pipe(ready) != 0) return 1;
  const pid_t squatter = fork();
  if (squatter == 0) squat(ready[1]);
  close(ready[1]);
  char byte;
  int status = 1 << 8;
  if (read(ready[0], &byte, 1) == 1) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
      status = 77 << 8;
    } else {
      const pid_t command = fork();
      if (command == 0) {
        if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("proc", "/proc", "proc", 0, NULL) != 0)
          _exit(77);
        execvp(argv[1], argv + 1);
        _exit(127);
      }
      waitpid(command, &status, 0);
    }
  } else {
    fprintf(stderr, "squat: the names are not free\n");
  }
  kill(squatter, SIGKILL);
  waitpid(squatter, NULL, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
