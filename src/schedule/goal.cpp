#include "schedule/goal.hpp"

#include <vector>

namespace fermata {
namespace {

struct Message {
  std::int32_t from, to;
  std::size_t stage;
  std::int64_t bytes;
};

// In the order of stages, and within a stage in that of the list.
std::vector<Message> messages_of(const Schedule& s, std::int64_t head_bytes, std::int64_t chunk_bytes) {
  std::vector<Message> messages;
  for (std::size_t stage = 0; stage < s.stages.size(); ++stage) {
    const Transfer* before = nullptr;
    for (const Transfer& t : s.stages[stage].transfers) {
      const bool begins = before == nullptr || before->from != t.from || before->to != t.to;
      before = &t;
      if (t.from == t.to) continue;
      if (begins) messages.push_back({t.from, t.to, stage, head_bytes});
      if (t.chunk >= 0) messages.back().bytes += chunk_bytes;
    }
  }
  return messages;
}

// The operations of one rank.
class Rank {
 public:
  void send(const Message& m) { sends_.push_back(&m); }
  void receive(const Message& m) { receives_.push_back(&m); }

  // Writes what has been given since the last call. All of it is of one stage.
  void end_stage() {
    if (sends_.empty() && receives_.empty()) return;
    const std::size_t first = sends_.empty() ? receives_.size() : 1;
    if (last_.size() > 1 && first > 1) {
      const int join = add("calc 0");
      require(join);
      last_ = {join};
    }
    for (const Message* m : sends_) {
      const int id = add_message("send", " to ", m->to, *m);
      require(id);
      last_ = {id};
    }
    std::vector<int> taken;
    for (const Message* m : receives_) {
      taken.push_back(add_message("recv", " from ", m->from, *m));
      require(taken.back());
    }
    if (!taken.empty()) last_ = std::move(taken);
    sends_.clear();
    receives_.clear();
  }

  // Each rank has at least one operation.
  std::string text() {
    if (count_ == 0) add("calc 0");
    return std::move(text_);
  }

 private:
  int add(const std::string& operation) {
    text_ += "l" + std::to_string(++count_) + ": " + operation + "\n";
    return count_;
  }
  int add_message(const char* what, const char* whom, std::int32_t peer, const Message& m) {
    return add(std::string(what) + " " + std::to_string(m.bytes) + "b" + whom + std::to_string(peer) +
               " tag " + std::to_string(m.stage));
  }
  void require(int id) {
    for (const int before : last_)
      text_ += "l" + std::to_string(id) + " requires l" + std::to_string(before) + "\n";
  }

  std::vector<const Message*> sends_, receives_;  // of the stage that is being made
  std::vector<int> last_;                         // what the next operation waits for
  std::string text_;
  int count_ = 0;
};

}  // namespace

Result<std::string> to_goal(const Schedule& schedule, std::int64_t head_bytes, std::int64_t chunk_bytes) {
  if (!schedule.words.empty())
    return Error{Status::kUnsupported, "members of '" + schedule.algorithm +
                                           "' add to shared words, and GOAL has messages alone: choose "
                                           "another algorithm"};
  const std::vector<Message> messages = messages_of(schedule, head_bytes, chunk_bytes);
  std::vector<Rank> ranks(static_cast<std::size_t>(schedule.members));
  std::size_t first = 0;  // message of the stage
  const auto end_stage = [&](std::size_t end) {
    for (; first < end; ++first)
      for (const std::int32_t member : {messages[first].from, messages[first].to})
        ranks[static_cast<std::size_t>(member)].end_stage();
  };
  for (std::size_t k = 0; k < messages.size(); ++k) {
    if (k > 0 && messages[k].stage != messages[k - 1].stage) end_stage(k);
    ranks[static_cast<std::size_t>(messages[k].from)].send(messages[k]);
    ranks[static_cast<std::size_t>(messages[k].to)].receive(messages[k]);
  }
  end_stage(messages.size());
  std::string out = "// " + schedule.algorithm + ", " + name_of(schedule.collective) + "\nnum_ranks " +
                    std::to_string(schedule.members) + "\n";
  for (std::size_t r = 0; r < ranks.size(); ++r)
    out += "\nrank " + std::to_string(r) + " {\n" + ranks[r].text() + "}\n";
  return out;
}

}  // namespace fermata
