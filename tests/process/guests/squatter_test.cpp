// Other users of the host may hold a socket's name or fill its queue. A caller then waits for its timeout,
// and no longer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

#include "../failures/forked_members.hpp"
#include "child.hpp"
#include "fermata/fermata.h"
#include "os/os.hpp"

namespace fermata {
namespace {

constexpr double kSeconds = 1;
constexpr std::int64_t kHangNs = 40'000'000'000;  // far beyond kSeconds, on a loaded machine, too

std::string name_of(const char* what) {
  return std::string("guest.") + what + "." + std::to_string(getpid());
}

sockaddr_un address_of(const std::string& name, socklen_t* length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string whole = "fermata." + name;
  memcpy(address.sun_path + 1, whole.data(), whole.size());
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + whole.size());
  return address;
}

// Listens at that name; -1: the name is taken.
int listen_at(const std::string& name, int backlog) {
  socklen_t length = 0;
  const sockaddr_un address = address_of(name, &length);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  return bind(listener, reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
                 listen(listener, backlog) == 0
             ? listener
             : -1;
}

// An exit code: whether this process receives a descriptor.
int receives(const std::string& name) {
  std::int32_t fd = -1;
  const char* why = "";
  return os::receive_fd(name.c_str(), 20'000'000'000, &fd, &why) == Status::kOk && fcntl(fd, F_GETFD) >= 0
             ? 0
             : 1;
}

// Starts a process that holds the name as long as it lives, with a full or an empty queue. It belongs to
// another user where that is permitted.
pid_t squat(const std::string& name, bool full) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ready[0]);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    socklen_t length = 0;
    const sockaddr_un address = address_of(name, &length);
    const auto* at = reinterpret_cast<const sockaddr*>(&address);
    if (listen_at(name, full ? 0 : 64) < 0) _exit(1);
    for (int i = 0; full && i < 16; ++i)
      if (connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), at, length) != 0) break;
    if (write(ready[1], "r", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  close(ready[1]);
  const bool squats = read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  EXPECT_TRUE(squats);
  return child;
}

void end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// Runs in a separate process, which is killed if it hangs.
void attach_times_out(const std::string& name, const char* why) {
  const int status = in_child(kHangNs, [&] {
    fermata_team* team = nullptr;
    const std::int64_t from = os::now_ns();
    const int rc = fermata_team_attach(name.c_str(), kSeconds, &team);
    if (rc != FERMATA_ERR_TIMEOUT) return 1;
    if (static_cast<double>(os::now_ns() - from) < kSeconds * 1e9) return 2;
    return strstr(fermata_error_detail(), why) != nullptr ? 0 : 3;
  });
  EXPECT_EQ(status, 0) << (status == kHung ? "it hangs" : "");
}

TEST(Squatter, WithAFullQueueCostsTheCallersTimeAlone) {
  const std::string name = name_of("full");
  const pid_t squatter = squat(name, true);
  attach_times_out(name, "does not answer");
  end(squatter);
}

TEST(Squatter, OfAnotherUserIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string name = name_of("open");
  const pid_t squatter = squat(name, false);
  attach_times_out(name, "another user's process holds the name");
  end(squatter);
}

TEST(Squatter, NobodyIsNamed) { attach_times_out(name_of("nobody"), "no process offers it"); }

TEST(Squatter, AServerSaysWhatIsMissing) {
  fermata_team* const team = test::make_team(1, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  const std::string name = name_of("alone");
  EXPECT_EQ(fermata_team_serve(team, name.c_str(), 2, 0.1), FERMATA_ERR_TIMEOUT);
  EXPECT_EQ(fermata_error_detail(), "the team '" + name + "' was attached fewer than 2 times in 0.1 s");
  const int listener = listen_at(name, 1);
  EXPECT_EQ(fermata_team_serve(team, name.c_str(), 2, 0.1), FERMATA_ERR_BUSY);
  EXPECT_EQ(fermata_error_detail(), "the name '" + name + "' is taken: serve the team under another name");
  close(listener);
  fermata_team_destroy(team);
}

// The queue belongs to a process of this user. The server refuses other users' clients in it and serves the
// process's own clients.
TEST(Squatter, StrangersInTheQueueAreRefusedAndOthersServed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  fermata_team* const team = test::make_team(1, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  const std::string name = name_of("queue");
  const pid_t stranger = fork();
  if (stranger == 0) {
    if (setuid(65534) != 0) _exit(1);
    socklen_t length = 0;
    const sockaddr_un address = address_of(name, &length);
    for (;;) {
      const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
      if (connect(s, reinterpret_cast<const sockaddr*>(&address), length) != 0) usleep(100);
      close(s);
    }
  }
  const pid_t client = fork();
  if (client == 0) {
    fermata_team* mine = nullptr;
    _exit(fermata_team_attach(name.c_str(), 60, &mine) == FERMATA_OK ? 0 : 1);
  }
  EXPECT_EQ(fermata_team_serve(team, name.c_str(), 1, 60), FERMATA_OK) << fermata_error_detail();
  int status = -1;
  waitpid(client, &status, 0);
  EXPECT_EQ(status, 0);
  end(stranger);
  fermata_team_destroy(team);
}

// A client that asked and gave up has received nothing. The server must not count it as the one it waits for.
TEST(Squatter, WhoGaveUpIsNotCounted) {
  const std::string name = name_of("impatient");
  const pid_t client = fork();
  if (client == 0) {
    socklen_t length = 0;
    const sockaddr_un address = address_of(name, &length);
    int s = -1;
    do {
      close(s);
      s = socket(AF_UNIX, SOCK_STREAM, 0);
    } while (connect(s, reinterpret_cast<const sockaddr*>(&address), length) != 0);
    pollfd given{s, POLLIN, 0};
    poll(&given, 1, -1);  // the answer arrives, and stays unread
    close(s);
    _exit(receives(name));
  }
  const int file = memfd_create("file", MFD_CLOEXEC);
  EXPECT_EQ(os::serve_fd(name.c_str(), file, 1, 20'000'000'000), Status::kOk);
  EXPECT_EQ(result_of(client, kHangNs), 0);
  close(file);
}

// A client that answers so late that the server has moved on receives nothing either, and knows it.
TEST(Squatter, WhoIsTooLateAsksAgain) {
  const std::string name = name_of("late");
  const int listener = listen_at(name, 1);
  ASSERT_GE(listener, 0);
  const int file = memfd_create("file", MFD_CLOEXEC);
  const pid_t client = fork();
  if (client == 0) {
    close(listener);
    _exit(receives(name));
  }
  const int late = accept(listener, nullptr, nullptr);
  shutdown(late, SHUT_RD);  // as a server does that has stopped waiting
  char byte = 'f';
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  memcpy(CMSG_DATA(header), &file, sizeof file);
  EXPECT_EQ(sendmsg(late, &message, MSG_NOSIGNAL), 1);
  close(listener);
  EXPECT_EQ(os::serve_fd(name.c_str(), file, 1, 10'000'000'000), Status::kOk)
      << "it has taken what it was sent too late";
  close(late);
  EXPECT_EQ(result_of(client, kHangNs), 0);
  close(file);
}

// The client waits until the server closes the socket. It must receive nothing, not even a byte.
TEST(Squatter, AStrangerIsGivenNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string name = name_of("stranger");
  const int file = memfd_create("file", MFD_CLOEXEC);
  const pid_t server = fork();
  if (server == 0) _exit(os::serve_fd(name.c_str(), file, 1, 2 * kHangNs) == Status::kOk);
  const pid_t stranger = fork();
  if (stranger == 0) {
    if (setuid(65534) != 0) _exit(2);
    socklen_t length = 0;
    const sockaddr_un address = address_of(name, &length);
    for (int closed = 0; closed < 3;) {
      const int s = socket(AF_UNIX, SOCK_STREAM, 0);
      char byte = 0;
      const bool asked = connect(s, reinterpret_cast<const sockaddr*>(&address), length) == 0;
      if (asked && recv(s, &byte, 1, 0) > 0) _exit(1);
      asked ? ++closed : usleep(1000);
      close(s);
    }
    _exit(0);
  }
  EXPECT_EQ(result_of(stranger, kHangNs), 0)
      << "1: it was given something; " << kHung << ": it was not let in";
  end(server);
  close(file);
}

// Without a descriptor for the next client the server sleeps. Without the sleep it would keep a CPU busy.
TEST(Squatter, AServerWithoutDescriptorsDoesNotSpin) {
  const std::string name = name_of("files");
  const int status = in_child(kHangNs, [&] {
    rlimit few{64, 64};
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
    const int file = memfd_create("file", MFD_CLOEXEC);
    int last = file;
    for (int fd = dup(file); fd >= 0; fd = dup(file)) last = fd;
    const pid_t client = fork();
    if (client == 0) {
      for (int fd = file + 1; fd < last; ++fd) close(fd);
      std::int32_t got = -1;
      const char* why = "";
      _exit(os::receive_fd(name.c_str(), 1'000'000'000, &got, &why) == Status::kTimeout ? 0 : 1);
    }
    close(last);  // for the listener
    const Status served = os::serve_fd(name.c_str(), file, 1, 1'500'000'000);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    int theirs = -1;
    waitpid(client, &theirs, 0);
    if (served != Status::kTimeout || theirs != 0) return 2;
    const double seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    return seconds < 0.4 ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
}

TEST(Squatter, AClientWithoutDescriptorsSaysSoAtOnce) {
  const std::string name = name_of("client");
  const int status = in_child(kHangNs, [&] {
    rlimit none{3, 3};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
    const std::int64_t from = os::now_ns();
    fermata_team* team = nullptr;
    if (fermata_team_attach(name.c_str(), 30, &team) != FERMATA_ERR_SYSTEM) return 2;
    if (os::now_ns() - from > 20'000'000'000) return 3;
    return strstr(fermata_error_detail(), "ulimit -n") != nullptr ? 0 : 4;
  });
  EXPECT_EQ(status, 0);
}

// It got nothing, so the server goes on waiting for one that does.
TEST(Squatter, AClientWithoutAFreeDescriptorDoesNotCount) {
  const std::string name = name_of("full");
  const pid_t client = fork();
  if (client == 0) {
    const rlimit one{4, 4};  // for the socket
    if (setrlimit(RLIMIT_NOFILE, &one) != 0) _exit(1);
    for (int fd = 3; fd < 64; ++fd) close(fd);
    std::int32_t got = -1;
    const char* why = "";
    _exit(os::receive_fd(name.c_str(), 10'000'000'000, &got, &why) == Status::kSystem ? 0 : 2);
  }
  const int file = memfd_create("file", MFD_CLOEXEC);
  EXPECT_EQ(os::serve_fd(name.c_str(), file, 1, 500'000'000), Status::kTimeout);
  int theirs = -1;
  waitpid(client, &theirs, 0);
  EXPECT_EQ(theirs, 0);
  close(file);
}

// If the sender can shrink the file, every process that reads it risks a SIGBUS.
TEST(Squatter, AFileThatCanShrinkIsNoSegment) {
  const int file = memfd_create("shrinks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  os::Segment segment;
  EXPECT_EQ(os::map_shared(file, &segment), Status::kSystem);
}

TEST(Squatter, NumbersForNamesDiffer) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 10000; ++i) seen.insert(os::random_number());
  EXPECT_EQ(seen.size(), 10000u);
}

}  // namespace
}  // namespace fermata
