// Parses JSON text with nlohmann-json.
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "json/reader.hpp"

namespace fermata {

namespace {

// Counts lines as the lexer consumes characters. The lexer reads one character past a number, so a value's
// line is `before`: the line as it was before the last consumed character. This holds for every kind of
// token, since none ends in a newline.
struct LineCount {
  std::int32_t now = 1, before = 1;
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator() = default;
  CountingIterator(const char* at, LineCount* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    count_->before = count_->now;
    count_->now += *at_ == '\n';
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_ = nullptr;
  LineCount* count_ = nullptr;
};

class Builder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit Builder(const LineCount& count) : count_(count) {}

  bool null() { return add(JsonNode::Type::kNull) != nullptr; }
  bool boolean(bool value) { return numeric(JsonNode::Type::kBool, value ? 1 : 0, false); }
  bool number_integer(number_integer_t v) {
    return numeric(JsonNode::Type::kNumber, static_cast<double>(v), true);
  }
  bool number_unsigned(number_unsigned_t v) {
    return numeric(JsonNode::Type::kNumber, static_cast<double>(v), true);
  }
  bool number_float(number_float_t v, const string_t&) { return numeric(JsonNode::Type::kNumber, v, false); }
  bool string(string_t& value) {
    JsonNode* node = add(JsonNode::Type::kString);
    if (node != nullptr) node->text = std::move(value);
    return node != nullptr;
  }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(JsonNode::Type::kObject); }
  bool start_array(std::size_t) { return open(JsonNode::Type::kArray); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    open_.back()->keys.push_back(std::move(name));
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) {
    // The text is, for example, "[json.exception.parse_error.101] parse error at line 1, column 2: reason".
    const std::string what = e.what();
    const auto colon = what.find(": ");
    complaint = "line " + std::to_string(count_.before) + ": " +
                (colon == std::string::npos ? what : what.substr(colon + 2, 160));
    return false;
  }

  JsonNode root;
  std::string complaint;

 private:
  static constexpr std::size_t kMaxDepth = 32;

  // A pointer into a parent's items stays valid while the child is open, since the parent gets no other item
  // in that time.
  JsonNode* add(JsonNode::Type type) {
    JsonNode* node = &root;
    if (!open_.empty()) node = &open_.back()->items.emplace_back();
    node->type = type;
    node->line = count_.before;
    return node;
  }
  bool numeric(JsonNode::Type type, double value, bool whole) {
    JsonNode* node = add(type);
    node->number = value;
    node->integer = whole && std::abs(value) <= 9007199254740992.0;
    return true;
  }
  bool open(JsonNode::Type type) {
    if (open_.size() >= kMaxDepth) {
      complaint = "line " + std::to_string(count_.before) + ": nested more than 32 deep";
      return false;
    }
    open_.push_back(add(type));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const LineCount& count_;
  std::vector<JsonNode*> open_;
};

}  // namespace

Result<JsonNode> read_json(std::string_view text) {
  LineCount count;
  Builder builder(count);
  const CountingIterator first(text.data(), &count), last(text.data() + text.size(), &count);
  bool parsed = false;
  try {
    parsed = nlohmann::json::sax_parse(first, last, &builder);
  } catch (const std::exception& e) {
    builder.complaint = "line " + std::to_string(count.before) + ": " + e.what();
  }
  if (!parsed)
    return Error{Status::kParse, builder.complaint.empty() ? "line 1: not JSON" : builder.complaint};
  return std::move(builder.root);
}

}  // namespace fermata
