#include "sim/engine.hpp"

#include <algorithm>
#include <utility>

namespace fermata::sim {
namespace {

constexpr std::size_t kStack = 64 * 1024;  // bytes of a member's

}  // namespace

thread_local Engine* Engine::running_ = nullptr;

Engine::Engine(const Machine& machine, std::vector<std::uint64_t>& words)
    : machine_(machine),
      words_(words),
      memory_(machine),
      members_(static_cast<std::size_t>(machine.members)),
      links_(machine) {}

Engine::~Engine() = default;

std::uint32_t Engine::line_of(const std::uint64_t& at, std::int32_t member) const {
  const std::size_t line = static_cast<std::size_t>(&at - words_.data()) * sizeof at / machine_.line_bytes;
  const std::int32_t host = machine_.host[static_cast<std::size_t>(member)];
  return static_cast<std::uint32_t>(line) * static_cast<std::uint32_t>(machine_.hosts) +
         static_cast<std::uint32_t>(host);
}

void Engine::push(Time at, std::int32_t member, std::size_t change) {
  queue_.push({at, numbers_++, member, change});
}

void Engine::note(Deed deed) {
  deed.line /= static_cast<std::uint32_t>(machine_.hosts);
  if (deeds_ != nullptr) deeds_->push_back(deed);
}

void Engine::enter(unsigned low, unsigned high) {
  auto* const engine =
      reinterpret_cast<Engine*>(static_cast<std::uintptr_t>(low) | static_cast<std::uintptr_t>(high) << 32);
  engine->body_(engine->me_);
  engine->self().over = true;
  engine->leave();
}

bool Engine::run(const std::function<void(std::int32_t)>& body) {
  body_ = body;
  running_ = this;
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Member& member = members_[m];
    member.stack = std::unique_ptr<std::byte[]>(new std::byte[kStack]);
    getcontext(&member.context);
    member.context.uc_stack.ss_sp = member.stack.get();
    member.context.uc_stack.ss_size = kStack;
    member.context.uc_link = nullptr;
    makecontext(&member.context, reinterpret_cast<void (*)()>(&Engine::enter), 2,
                static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
    push(0, static_cast<std::int32_t>(m));
  }
  me_ = -1;
  leave();
  running_ = nullptr;
  return stopped_ || std::all_of(members_.begin(), members_.end(), [](const Member& m) { return m.over; });
}

// Continues with whoever comes next: another member, or run() if nobody does.
void Engine::leave() {
  const std::int32_t left = me_;
  ucontext_t* const from = left < 0 ? &caller_ : &self().context;
  while (!queue_.empty() && !stopped_) {
    const Event event = queue_.top();
    queue_.pop();
    ++events_;
    if (event.member == kMessage) {
      travel(event.change, links_.advance(changes_[event.change].message, event.at));
      continue;
    }
    if (event.member == kChange) {
      change(changes_[event.change], event.at);
      free_changes_.push_back(event.change);
      continue;
    }
    me_ = event.member;
    self().now = event.at;
    if (me_ != left) swapcontext(from, &self().context);
    return;
  }
  me_ = -1;
  if (left >= 0) swapcontext(from, &caller_);
}

// Lets all that comes earlier go first.
void Engine::settle() {
  const Member& m = self();
  if (queue_.empty() || queue_.top().at > m.now) return;
  push(m.now, me_);
  leave();
}

void Engine::change(const Change& change, Time at) {
  for (const Word& word : change.words) *word.at = word.value;
  if (change.to >= 0) memory_.landed(machine_.core[static_cast<std::size_t>(change.to)], change.line, at);
  else memory_.changed(change.line, at);
  Member& by = members_[static_cast<std::size_t>(change.by)];
  for (std::size_t k = 0; k < by.own.size(); ++k) {
    if (by.own[k] != change.words.back().at) continue;
    by.own.erase(by.own.begin() + static_cast<std::ptrdiff_t>(k));
    by.own_values.erase(by.own_values.begin() + static_cast<std::ptrdiff_t>(k));
    break;
  }
  const auto sleepers = sleepers_.find(change.line);
  if (sleepers == sleepers_.end()) return;
  for (const Sleeper& sleeper : sleepers->second) {
    push(at, sleeper.member);
    note({sleeper.member, What::kWait, change.line, sleeper.since, at, change.by, change.since});
  }
  sleepers->second.clear();
}

// The processor looks ahead: while a member waits for the first line of a stage, the next ones are on their
// way. So another line counts as asked for when the first load of the line before it had returned, or was
// asked for itself (MemoryCosts::overlap). If the line's contents changed after that, it is asked for again
// then.
std::uint64_t Engine::load(const std::uint64_t& at) {
  Member& m = self();
  pay(m);
  settle();
  m.own_store = false;
  m.looked_now = true;
  for (std::size_t k = m.own.size(); k-- > 0;)
    if (m.own[k] == &at) {
      m.own_store = true;
      m.line = line_of(at, me_);
      return m.own_values[k];
    }
  const std::int32_t core = machine_.core[static_cast<std::size_t>(me_)];
  const std::uint32_t line = line_of(at, me_);
  const bool again = m.looked && line == m.line;
  const Time first = again || m.ahead < 0 ? m.now : std::min(m.now, m.ahead);
  const Time asked = std::min(m.now, std::max(first, memory_.changed(line)));
  m.line = line;
  m.looked = true;
  const Time ready = memory_.ready(core, line);
  Time end = std::max(m.now, ready);
  if (ready < 0) {
    end = std::max(m.now, memory_.read(core, line, asked));
    note({me_, What::kMiss, line, m.now, end});
  }
  if (end > m.now) {
    push(end, me_);
    leave();
  }
  if (!again) m.ahead = machine_.costs.overlap == 2 || first < asked ? first : m.now;
  m.owed = machine_.work[static_cast<std::size_t>(me_)];
  return at;
}

void Engine::pause() {
  Member& m = self();
  if (!std::exchange(m.looked_now, false)) return;  // a further pause before the next look
  m.owed = 0;
  // A store of its own that others do not see yet: the line changes when they do.
  if (!m.own_store && memory_.ready(machine_.core[static_cast<std::size_t>(me_)], m.line) < 0) return;
  sleepers_[m.line].push_back({me_, m.now});
  leave();
}

void Engine::store(std::uint64_t& at, std::uint64_t value) {
  Member& m = self();
  work(m);
  settle();
  const std::int32_t core = machine_.core[static_cast<std::size_t>(me_)];
  const std::uint32_t line = line_of(at, me_);
  const Time seen = memory_.store(core, line, m.now);
  note({me_, What::kStore, line, m.now, seen});
  const std::size_t number = new_change();
  changes_[number] = {{{&at, value}}, line, -1, me_, m.now};
  m.own.push_back(&at);
  m.own_values.push_back(value);
  push(seen, kChange, number);
}

std::uint64_t Engine::add(std::uint64_t& at, std::uint64_t by) {
  Member& m = self();
  work(m);
  settle();
  const std::int32_t core = machine_.core[static_cast<std::size_t>(me_)];
  const std::uint32_t line = line_of(at, me_);
  const Time since = m.now, end = memory_.add(core, line, m.now);
  note({me_, What::kAdd, line, m.now, end});
  push(end, me_);
  leave();
  const std::uint64_t before = at;
  change({{{&at, before + by}}, line, -1, me_, since}, end);
  return before;
}

void Engine::send(std::int32_t to, std::vector<Word> words) {
  Member& m = self();
  ++messages_;
  work(m);
  const std::uint32_t line = line_of(*words.back().at, to);
  const std::size_t number = new_change();
  Change& change = changes_[number];
  change.message.from = me_, change.message.to = to,
  change.message.bytes = sizeof(Word::value) * words.size();
  change.words = std::move(words);
  change.line = line, change.to = to, change.by = me_, change.since = m.now;
  settle();
  const auto from = static_cast<std::size_t>(me_);
  travel(number, links_.leave(changes_[number].message, m.now));
  m.now += machine_.send[from] + machine_.gap[machine_.pair(me_, to)];
}

// A message comes to the next link of its way, or arrives.
void Engine::travel(std::size_t number, Links::Step step) {
  const Change& change = changes_[number];
  if (step.arrived) note({change.by, What::kMessage, change.line, change.since, step.at, change.to});
  push(step.at, step.arrived ? kChange : kMessage, number);
}

std::size_t Engine::new_change() {
  if (free_changes_.empty()) {
    changes_.emplace_back();
    return changes_.size() - 1;
  }
  const std::size_t number = free_changes_.back();
  free_changes_.pop_back();
  return number;
}

void Engine::begin_call() {
  Member& m = self();
  pay(m);
  m.looked = false;
  m.ahead = -1;
}

Time Engine::time() {
  pay(self());
  return self().now;
}

void Engine::wait_until(Time time) {
  pay(self());
  if (time <= self().now) return;
  push(time, me_);
  leave();
}

void Engine::wait_for_all() {
  pay(self());
  gathered_.push_back(me_);
  leave();
}

void Engine::wake_all(Time at) {
  for (const std::int32_t member : gathered_) push(at, member);
  gathered_.clear();
}

}  // namespace fermata::sim
