// JSON values that store their line, so that errors in the content of valid JSON can name a line, too. Depth
// has a limit, and memory is proportional to the text.
#ifndef FERMATA_JSON_READER_HPP
#define FERMATA_JSON_READER_HPP

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace fermata {

struct JsonNode {
  enum class Type : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };
  Type type = Type::kNull;
  bool integer = false;           // a number without fraction or exponent, within +-2^53
  std::int32_t line = 1;          // where the value starts
  double number = 0;              // of a number; 0 or 1 for a bool
  std::string text;               // of a string
  std::vector<std::string> keys;  // of an object, parallel to items
  std::vector<JsonNode> items;    // of an array or an object

  const JsonNode* get(std::string_view key) const;  // null if absent
  bool is_number(double low, double high) const {
    return type == Type::kNumber && number >= low && number <= high;
  }
};

// Errors: kParse with the line; kUnsupported if the build lacks nlohmann-json.
Result<JsonNode> read_json(std::string_view text);

// Reads the members of one object, checks their types and ranges, and keeps the first complaint. For a member
// that it complains about, it returns a value that means nothing. So callers check once, at the end.
class ObjectReader {
 public:
  ObjectReader(const JsonNode& object, std::string what);

  // A member without `otherwise` is required.
  std::string text(std::string_view key, std::optional<std::string> otherwise = {});
  double number(std::string_view key, double low, double high, std::optional<double> otherwise = {});
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> otherwise = {});
  bool flag(std::string_view key, bool otherwise);
  const JsonNode* array(std::string_view key);   // null if absent; complains about another type
  const JsonNode* object(std::string_view key);  // null if absent; complains about another type

  // Calls visit(reader, node) for each item of the array `key`, if there is one. Complains about items that
  // are no objects, about keys other than `known`, and about repeats.
  template <class Visit>
  void each(std::string_view key, std::initializer_list<std::string_view> known, Visit&& visit) {
    const JsonNode* const list = array(key);
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      ObjectReader inner(list->items[i], std::string(key));
      inner.only(known);
      visit(inner, list->items[i]);
      take_over(inner);
    }
  }

  void complain(const JsonNode& where, const std::string& reason);
  void take_over(const ObjectReader& inner);                 // copies inner's complaint if there is none yet
  void only(std::initializer_list<std::string_view> known);  // complains about other keys and about repeats
  bool ok() const { return complaint_.empty(); }
  Error error() const { return {Status::kParse, complaint_}; }

 private:
  const JsonNode* member(std::string_view key, bool required);
  void complain_of(const JsonNode& where, std::string_view key, const std::string& reason);

  const JsonNode& object_;
  std::string what_, complaint_;
};

}  // namespace fermata
#endif
