/* deny CALL,... COMMAND...: runs a command for which the system calls of these names do not exist. Exit code:
 * the command's, or 77 where the system does not permit such filters. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char* name;
  long number;
} kCalls[] = {
    {"membarrier", SYS_membarrier},     {"process_vm_readv", SYS_process_vm_readv},
    {"memfd_create", SYS_memfd_create}, {"getrandom", SYS_getrandom},
#ifdef SYS_futex_waitv
    {"futex_waitv", SYS_futex_waitv},
#endif
};
enum { kKnown = sizeof kCalls / sizeof kCalls[0] };

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  struct sock_filter filter[2 * kKnown + 2] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short length = 1;
  for (char* name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
    int i = 0;
    while (i < kKnown && strcmp(kCalls[i].name, name) != 0) ++i;
    if (i == kKnown || length + 3 > 2 * kKnown + 2) return 77;
    filter[length++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kCalls[i].number, 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {length, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 77;
  execvp(argv[2], argv + 2);
  return 127;
}
