// Values as JSON text, for code that writes JSON files with a layout that people can read.
#ifndef FERMATA_JSON_TEXT_HPP
#define FERMATA_JSON_TEXT_HPP

#include <string>
#include <string_view>

namespace fermata {

// Returns the text in quotes, with JSON's escapes. Each byte that is not valid UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);
// The shortest text that reads back as the same number, with ".0" if it has neither a point nor an exponent:
// "1.0", but "1e+20". NaN and infinity, which JSON lacks, become 0.0.
std::string json_number(double value);

}  // namespace fermata
#endif
