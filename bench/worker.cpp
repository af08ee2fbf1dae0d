#include "bench/worker.hpp"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "base/text.hpp"
#include "bench/workers.hpp"

namespace fermata::bench {
namespace {

// From the last departure of the warm-up to the last departure of the batch: exactly `episodes` periods,
// whatever the skew between members.
double period_of(const Turn& turn) {
  std::uint64_t begin = 0, end = 0;
  for (int rank = 0; rank < turn.members; ++rank) {
    begin = std::max(begin, turn.lines[rank].begin_ns);
    end = std::max(end, turn.lines[rank].end_ns);
  }
  return end > begin ? static_cast<double>(end - begin) / static_cast<double>(turn.lines[0].episodes) : 0;
}

// Median over the batch of (last departure - last arrival), in ticks.
double latency_of(const Turn& turn) {
  const std::uint64_t count = std::min(turn.lines[0].episodes, kMaxStamps - 1);
  std::vector<double> latencies;
  latencies.reserve(count);
  for (std::uint64_t e = 0; e < count; ++e) {
    std::uint64_t arrival = 0, departure = 0;
    for (int rank = 0; rank < turn.members; ++rank) {
      arrival = std::max(arrival, turn.stamps[rank].arrival[e]);
      departure = std::max(departure, turn.stamps[rank].departure[e]);
    }
    latencies.push_back(static_cast<double>(departure) - static_cast<double>(arrival));
  }
  if (latencies.empty()) return 0;
  const auto middle = latencies.begin() + static_cast<std::ptrdiff_t>(latencies.size() / 2);
  std::nth_element(latencies.begin(), middle, latencies.end());
  return *middle;
}

// Mean over the batch of the slowest member's time of an episode. One episode's wait is a matter of chance,
// so its average counts.
double skewed_of(const Turn& turn) {
  const std::uint64_t count = std::min(turn.lines[0].episodes, kMaxStamps - 1);
  std::uint64_t sum = 0;
  for (std::uint64_t e = 0; e < count; ++e) {
    std::uint64_t longest = 0;
    for (int rank = 0; rank < turn.members; ++rank) {
      longest = std::max(longest, turn.stamps[rank].departure[e] - turn.stamps[rank].arrival[e]);
    }
    sum += longest;
  }
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

// Sets the use of the CPUs in the timed part, and the counts of events.
void count_use(const Turn& turn, Reply& reply) {
  const auto episodes = static_cast<double>(std::max<std::uint64_t>(turn.lines[0].episodes, 1));
  for (int rank = 0; rank < turn.members; ++rank) {
    reply.cpu_ns += static_cast<double>(turn.lines[rank].cpu_ns) / episodes;
    reply.switches += static_cast<double>(turn.lines[rank].switches) / episodes / turn.members;
  }
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    reply.counts[i] = 0;
    for (int rank = 0; rank < turn.members; ++rank)
      reply.counts[i] += turn.lines[rank].counts[i] / episodes / turn.members;
  }
}

Reply judge(const Turn& turn, std::string& reason) {
  Reply reply;
  for (int rank = 0; rank < turn.members; ++rank) {
    const MemberLine& line = turn.lines[rank];
    if (line.status != 0) {
      reason = format("rank %d: an episode returned status %d", rank, line.status);
      reply.verdict = Reply::kFailed;
    } else if (line.failures != 0) {
      reason = format("wrong: rank %d expected %.17g %s %d, saw %.17g (%llu such)", rank, line.expected,
                      turn.doubles == 0 ? "from rank" : "in element", line.about, line.seen,
                      static_cast<unsigned long long>(line.failures));
      reply.verdict = Reply::kWrong;
      break;
    }
  }
  return reply;
}

Reply run_order(const Order& order, Workers& workers, Turn& turn, std::string& reason) {
  turn.order = order;
  const std::uint64_t begin_ns = now_ns(), begin_ticks = ticks();
  const std::string lost = workers.run();
  const std::uint64_t end_ns = now_ns(), end_ticks = ticks();
  turn.first_check += (order.warm + order.episodes) + 2;
  if (!lost.empty()) {
    reason = lost;
    return {.verdict = Reply::kFailed};
  }
  Reply reply = judge(turn, reason);
  reply.elapsed_ns = static_cast<double>(end_ns - begin_ns);
  reply.episodes = turn.lines[0].warm + turn.lines[0].episodes;
  reply.value_ns = period_of(turn);
  count_use(turn, reply);
  if (order.quantity == Quantity::kLatency) {
    const double scale =
        reply.elapsed_ns / static_cast<double>(std::max<std::uint64_t>(end_ticks - begin_ticks, 1));
    reply.value_ns = latency_of(turn) * scale;
  } else if (has_reference(order.quantity)) {
    if (order.quantity != Quantity::kEpcc) reply.value_ns = skewed_of(turn);
    reply.reference_ns = turn.lines[0].reference_ns;
    reply.value_ns -= reply.reference_ns;
  }
  return reply;
}

bool answer(int descriptor, Reply reply, const std::string& text) {
  reply.length = static_cast<std::uint32_t>(text.size());
  return send_all(descriptor, &reply, sizeof reply) && send_all(descriptor, text.data(), text.size());
}

}  // namespace

bool send_all(int descriptor, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t sent = send(descriptor, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int descriptor, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes != 0) {
    const ssize_t got = recv(descriptor, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void serve(int descriptor, const Case& c, Subject& subject) {
  const auto members = static_cast<std::size_t>(c.members);
  Arena arena((std::size_t{64} << 20) + members * (sizeof(Stamps) + (std::size_t{1} << 20)) +
              Turn::buffer_bytes(c));
  std::string reason;
  Order order;
  if (!receive_all(descriptor, &order, sizeof order)) return;  // the first order only asks for the subject
  try {
    Turn& turn = *arena.make<Turn>(c, arena);  // in shared memory, so that forked members can read its orders
    reason = subject.prepare(c, arena);
    Workers workers(c, subject, turn, arena);
    if (reason.empty()) reason = workers.start();
    if (!reason.empty()) {
      answer(descriptor, {.verdict = Reply::kUnavailable}, reason);
      return;
    }
    if (!answer(descriptor, {}, subject.version() + '\0' + subject.description())) return;
    while (receive_all(descriptor, &order, sizeof order)) {
      reason.clear();
      const Reply reply = run_order(order, workers, turn, reason);
      if (!answer(descriptor, reply, reason)) break;
    }
  } catch (const std::exception& e) {
    answer(descriptor, {.verdict = Reply::kFailed}, e.what());
  }
}

std::vector<std::string> worker_arguments(std::string_view subject, const Case& c) {
  std::vector<std::string> list = {
      "--subject", std::string(subject),   "--collective", fermata::name_of(c.collective),
      "--engine",  name_of(c.engine),      "--members",    std::to_string(c.members),
      "--bytes",   std::to_string(c.bytes)};
  if (c.rotating) list.insert(list.end(), {"--roots", "rotating"});
  if (!c.cpus.empty()) list.insert(list.end(), {"--cpus", to_string(c.cpus)});
  return list;
}

WorkerArguments parse_worker_arguments(int argc, char** argv) {
  WorkerArguments arguments;
  Case& c = arguments.what;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i], value = argv[i + 1];
    if (key == "--subject") arguments.subject = value;
    if (key == "--member") arguments.member = value;
    if (key == "--collective") c.collective = collective_from(value).value_or(Collective::kBarrier);
    if (key == "--engine") c.engine = engine_from(value).value_or(Engine::kThreads);
    if (key == "--members") c.members = numbers_from(value).value_or(std::vector<int>{2}).at(0);
    if (key == "--bytes") c.bytes = numbers_from(value).value_or(std::vector<int>{0}).at(0);
    if (key == "--roots") c.rotating = value == "rotating";
    if (key == "--cpus") c.cpus = numbers_from(value).value_or(std::vector<int>{});
  }
  return arguments;
}

int worker_main(int argc, char** argv, MakeByName make) {
  const WorkerArguments arguments = parse_worker_arguments(argc, argv);
  const std::unique_ptr<Subject> subject = make(arguments.subject);
  if (subject == nullptr) {
    std::fprintf(stderr, "%s: helper of `fermata bench`, not to be started by hand\n",
                 argc > 0 ? argv[0] : "worker");
    return 2;
  }
  serve(kWorkerSocket, arguments.what, *subject);
  return 0;
}

}  // namespace fermata::bench
