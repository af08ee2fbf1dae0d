// JSON text as Fermata writes it, and as nlohmann-json reads it.
#include "json/text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "json/reader.hpp"

namespace fermata {
namespace {

std::string replaced(const std::string& text) {
  return nlohmann::json::parse(
             nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .get<std::string>();
}

TEST(JsonText, StringsReadBackAsTheyWere) {
  for (const std::string text :
       {"", "plain", "a \"quote\" and a \\", "tab\tline\nreturn\r\b\f", "Zürich, 東京, \xf0\x9f\x8e\xbc"}) {
    EXPECT_EQ(nlohmann::json::parse(json_string(text)).get<std::string>(), text);
    const auto node = read_json(json_string(text));
    ASSERT_TRUE(node.ok()) << node.error().message;
    EXPECT_EQ(node->text, text);
  }
  EXPECT_EQ(json_string(std::string("\x01\0\x1f", 3)), "\"\\u0001\\u0000\\u001f\"");
}

// The text is valid JSON for any bytes, and keeps those that are UTF-8.
TEST(JsonText, AnyBytesMakeValidText) {
  std::mt19937 random(7);
  for (int n = 0; n < 20000 / FERMATA_TEST_SCALE; ++n) {
    std::string text;
    for (unsigned length = random() % 12; length > 0; --length) {
      static constexpr unsigned char kEdges[] = {0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1,
                                                 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5};
      text += static_cast<char>(random() % 2 == 0 ? kEdges[random() % sizeof kEdges] : random());
    }
    const auto node = nlohmann::json::parse(json_string(text), nullptr, false);
    ASSERT_FALSE(node.is_discarded()) << json_string(text);
    const std::string theirs = replaced(text);
    if (theirs == text) EXPECT_EQ(node.get<std::string>(), text);
    else EXPECT_NE(node.get<std::string>().find("\ufffd"), std::string::npos) << json_string(text);
  }
}

TEST(JsonText, NumbersReadBackToTheBit) {
  std::mt19937_64 random(9);
  for (int n = 0; n < 20000 / FERMATA_TEST_SCALE; ++n) {
    const double value =
        n % 2 == 0 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 1000000) / 1000;
    if (!std::isfinite(value)) continue;
    const std::string text = json_number(value);
    EXPECT_EQ(nlohmann::json::parse(text).get<double>(), value) << text;
    EXPECT_TRUE(nlohmann::json::parse(text).is_number_float()) << text;
  }
  EXPECT_EQ(json_number(0), "0.0");
  EXPECT_EQ(json_number(-12), "-12.0");
  EXPECT_EQ(json_number(0.1), "0.1");
  for (const double value :
       {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_EQ(json_number(value), "0.0");
}

}  // namespace
}  // namespace fermata
