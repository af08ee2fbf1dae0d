/* switch CHANGE DELAY_US [A-B=EXTRA_US]... [A-B~EXTRA_US|A-B~off]... : PID... : joins network namespaces by a
 * switch that delays frames. Each process's namespace gets a TAP device eth0, whose frames this program
 * forwards. A frame from one host to another takes DELAY_US, and EXTRA_US more between the named hosts
 * (numbered from 1; either may be *). The last PID is the launcher: its frames have no delay unless its
 * number is named. A delay with ~ holds while the file CHANGE exists; off: no frames pass then. Prints
 * "ready", and ends with its parent. (The kernel's own delay, tc netem, does not exist everywhere.) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { kPorts = 20, kFrame = 2048, kQueue = 512, kMacs = 64 };

struct queue { /* frames from one port to another: all have the same delay, so the first is due first */
  struct {
    double due;
    int bytes;
    unsigned char data[kFrame];
  } frames[kQueue];
  unsigned head, tail;
};

static int ports, taps[kPorts];
static double late[kPorts][kPorts]; /* < 0: off */
static struct queue* queues[kPorts][kPorts];
static struct {
  unsigned char mac[6];
  int port;
} macs[kMacs];
static int known;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char* what) {
  perror(what);
  exit(1);
}

static int tap_of(int pid, int home) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
  const int there = open(path, O_RDONLY);
  if (there < 0 || setns(there, CLONE_NEWNET) != 0) die(path);
  close(there);
  const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
  strcpy(request.ifr_name, "eth0");
  if (tap < 0 || ioctl(tap, TUNSETIFF, &request) != 0) die("tap");
  if (setns(home, CLONE_NEWNET) != 0) die("setns");
  return tap;
}

static int port_of(const unsigned char* mac) {
  for (int i = 0; i < known; ++i)
    if (memcmp(macs[i].mac, mac, 6) == 0) return macs[i].port;
  return -1;
}

/* A full queue drops frames, as a switch does. */
static void put(int from, int to, const unsigned char* data, int bytes, double at) {
  struct queue* q = queues[from][to];
  if (q == NULL) q = queues[from][to] = calloc(1, sizeof *q);
  if (q == NULL || q->tail - q->head == kQueue || late[from][to] < 0) return;
  const unsigned slot = q->tail++ % kQueue;
  q->frames[slot].due = at + late[from][to];
  q->frames[slot].bytes = bytes;
  memcpy(q->frames[slot].data, data, (size_t)bytes);
}

static void take(int from, double at) {
  unsigned char frame[kFrame];
  for (int n = 0; n < 64; ++n) {
    const ssize_t bytes = read(taps[from], frame, sizeof frame);
    if (bytes < 14) return;
    if (port_of(frame + 6) < 0 && known < kMacs) {
      memcpy(macs[known].mac, frame + 6, 6);
      macs[known++].port = from;
    }
    const int to = port_of(frame);
    for (int p = 0; p < ports; ++p)
      if (p != from && (to < 0 || to == p)) put(from, p, frame, (int)bytes, at);
  }
}

/* Forwards the frames that are due, and returns when the next one is due. */
static double give(double at) {
  double next = at + 1;
  for (int from = 0; from < ports; ++from)
    for (int to = 0; to < ports; ++to) {
      struct queue* q = queues[from][to];
      for (; q != NULL && q->head != q->tail && q->frames[q->head % kQueue].due <= at; ++q->head)
        (void)!write(taps[to], q->frames[q->head % kQueue].data, (size_t)q->frames[q->head % kQueue].bytes);
      if (q != NULL && q->head != q->tail && q->frames[q->head % kQueue].due < next)
        next = q->frames[q->head % kQueue].due;
    }
  return next;
}

static int names(const char* pattern, int host) {
  return atoi(pattern) == host + 1 || (*pattern == '*' && host < ports - 1);
}

/* Adds the links with `how` (= or ~) to the delay of all. Returns 0 for a wrong argument. */
static int set_links(double all, char how, char** specs, int count) {
  for (int a = 0; a < ports; ++a)
    for (int b = 0; b < ports; ++b) {
      if (how == '=') late[a][b] = a < ports - 1 && b < ports - 1 ? all : 0;
      for (int i = 0; i < count; ++i) {
        char x[8], y[8], kind, extra[24], *end;
        if (sscanf(specs[i], "%7[0-9*]-%7[0-9*]%c%23s", x, y, &kind, extra) != 4 ||
            (kind != '=' && kind != '~'))
          return 0;
        const double us = strtod(extra, &end);
        const int off = kind == '~' && strcmp(extra, "off") == 0;
        if (*end != '\0' && !off) return 0;
        if (kind != how || !((names(x, a) && names(y, b)) || (names(x, b) && names(y, a)))) continue;
        late[a][b] = off ? -1 : late[a][b] + us * 1e-6;
      }
    }
  return 1;
}

int main(int argc, char** argv) {
  int first = 3;
  while (first < argc && strcmp(argv[first], ":") != 0) ++first;
  ports = argc - first - 1;
  if (argc < 5 || ports < 2 || ports > kPorts) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_TIMERSLACK, 1);
  const struct sched_param soon = {.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO,
                     &soon); /* the switch must not wait for a CPU; without this right it is sometimes late */
  const int home = open("/proc/self/ns/net", O_RDONLY);
  for (int p = 0; p < ports; ++p) taps[p] = tap_of(atoi(argv[first + 1 + p]), home);
  char** const specs = argv + 3;
  const int count = first - 3;
  const double all = atof(argv[2]) * 1e-6;
  if (!set_links(all, '=', specs, count)) return 2;
  int change = 0, changed = 0; /* change: the file may come and go; changed: it exists */
  double looked = 0;
  for (int i = 0; i < count; ++i) change = change || strchr(specs[i], '~') != NULL;
  puts("ready");
  fflush(stdout);
  struct pollfd polled[kPorts];
  for (int p = 0; p < ports; ++p) polled[p] = (struct pollfd){.fd = taps[p], .events = POLLIN};
  for (;;) {
    const double at = now();
    if (change && at > looked + 0.005) {
      looked = at;
      if ((access(argv[1], F_OK) == 0) != changed) {
        changed = !changed;
        set_links(all, '=', specs, count);
        if (changed) set_links(0, '~', specs, count);
      }
    }
    const double next = give(at) - at, wait = change && next > 0.01 ? 0.01 : next;
    const struct timespec limit = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
    if (ppoll(polled, (nfds_t)ports, &limit, NULL) <= 0) continue;
    const double came = now();
    for (int p = 0; p < ports; ++p)
      if (polled[p].revents & POLLIN) take(p, came);
  }
}
