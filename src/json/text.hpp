// Values as JSON text, for files that are written by hand to be read by people, too.
#ifndef FERMATA_JSON_TEXT_HPP
#define FERMATA_JSON_TEXT_HPP

#include <string>
#include <string_view>

namespace fermata {

// With quotes; bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
// The shortest text that reads back as the same number; 0 for what JSON has no text for.
std::string json_number(double value);

}  // namespace fermata
#endif
