#include "json/reader.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace fermata {

namespace {

std::string between(double low, double high) { return format(" from %.10g to %.10g", low, high); }

}  // namespace

const JsonNode* JsonNode::get(std::string_view key) const {
  const auto it = std::find(keys.begin(), keys.end(), key);
  return it == keys.end() ? nullptr : &items[static_cast<std::size_t>(it - keys.begin())];
}

ObjectReader::ObjectReader(const JsonNode& object, std::string what)
    : object_(object), what_(std::move(what)) {
  if (object.type != JsonNode::Type::kObject) complain(object, "an object is expected");
}

void ObjectReader::complain(const JsonNode& where, const std::string& reason) {
  if (complaint_.empty()) complaint_ = "line " + std::to_string(where.line) + ": " + what_ + ": " + reason;
}

void ObjectReader::complain_of(const JsonNode& where, std::string_view key, const std::string& reason) {
  complain(where, std::string(1, '\'').append(key).append("' ").append(reason));
}

void ObjectReader::take_over(const ObjectReader& inner) {
  if (complaint_.empty()) complaint_ = inner.complaint_;
}

void ObjectReader::only(std::initializer_list<std::string_view> known) {
  for (std::size_t i = 0; i < object_.keys.size() && ok(); ++i) {
    const std::string& key = object_.keys[i];
    if (std::find(known.begin(), known.end(), key) == known.end())
      complain(object_.items[i], "unknown key '" + key.substr(0, 40) + "'");
    else if (std::find(object_.keys.begin(), object_.keys.begin() + static_cast<std::ptrdiff_t>(i), key) !=
             object_.keys.begin() + static_cast<std::ptrdiff_t>(i))
      complain(object_.items[i], "'" + key + "' comes twice");
  }
}

const JsonNode* ObjectReader::member(std::string_view key, bool required) {
  const JsonNode* node = object_.get(key);
  if (node == nullptr && required) complain_of(object_, key, "is missing");
  return node;
}

std::string ObjectReader::text(std::string_view key, std::optional<std::string> otherwise) {
  const JsonNode* node = member(key, !otherwise);
  if (node == nullptr) return otherwise.value_or("");
  if (node->type != JsonNode::Type::kString) complain_of(*node, key, "must be a string");
  return node->text;
}

double ObjectReader::number(std::string_view key, double low, double high, std::optional<double> otherwise) {
  const JsonNode* node = member(key, !otherwise);
  if (node == nullptr) return otherwise.value_or(low);
  if (node->is_number(low, high)) return node->number;
  complain_of(*node, key, "must be a number" + between(low, high));
  return low;
}

std::int64_t ObjectReader::integer(std::string_view key, std::int64_t low, std::int64_t high,
                                   std::optional<std::int64_t> otherwise) {
  const JsonNode* node = member(key, !otherwise);
  if (node == nullptr) return otherwise.value_or(low);
  const auto least = static_cast<double>(low), most = static_cast<double>(high);
  if (node->integer && node->is_number(least, most)) return static_cast<std::int64_t>(node->number);
  complain_of(*node, key, "must be a whole number" + between(least, most));
  return low;
}

bool ObjectReader::flag(std::string_view key, bool otherwise) {
  const JsonNode* node = member(key, false);
  if (node == nullptr) return otherwise;
  if (node->type != JsonNode::Type::kBool) complain_of(*node, key, "must be true or false");
  return node->number != 0;
}

const JsonNode* ObjectReader::array(std::string_view key) {
  const JsonNode* node = member(key, false);
  if (node == nullptr || node->type == JsonNode::Type::kArray) return node;
  complain_of(*node, key, "must be an array");
  return nullptr;
}

const JsonNode* ObjectReader::object(std::string_view key) {
  const JsonNode* node = member(key, false);
  if (node == nullptr || node->type == JsonNode::Type::kObject) return node;
  complain_of(*node, key, "must be an object");
  return nullptr;
}

}  // namespace fermata
