// Lines of model files: read with their numbers, and text written as one word.
#pragma once

#include <cctype>
#include <cmath>
#include <cstdio>
#include <istream>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

#include "svmgsu/models/model.hpp"

namespace svmgsu {

// Text as one word: %XX for blanks, control characters and %, and % alone for nothing.
inline std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto code_point = static_cast<unsigned char>(c);
    if (code_point > ' ' && c != '%' && code_point != 127) {
      out += c;
    } else {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(code_point));
      out += code;
    }
  }
  return out.empty() ? "%" : out;
}

// Reads a file line by line and complains with its name and the line's number.
class Lines {
 public:
  Lines(std::istream& file, const std::string& path) : path_(path), file_(file) {}

  [[noreturn]] void fail(const std::string& reason) const { fail_at(number_, reason); }
  [[noreturn]] void fail_at(Index line, const std::string& reason) const {
    throw FileError(path_ + ":" + std::to_string(line) + ": " + reason);
  }

  // Of the line last read.
  Index number() const { return number_; }

  // The next line that is no comment: lines that begin with # are notes of whoever wrote the file.
  std::istringstream next() {
    std::string line;
    do {
      ++number_;
      if (!std::getline(file_, line)) fail("the file ends here; it is cut off");
    } while (!line.empty() && line[0] == '#');
    ended_ = !file_.eof();
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::istringstream words(line);
    words.imbue(std::locale::classic());
    return words;
  }

  // Whether the line last read ended with a newline, not with the file.
  bool last_ended() const { return ended_; }

  bool finished() {
    std::string line;
    while (std::getline(file_, line)) {
      ++number_;
      if (line.find_first_not_of(" \t\r") != std::string::npos) return false;
    }
    return true;
  }

  double number(std::istringstream& words, const char* what) const {
    double value;
    if (!(words >> value) || !std::isfinite(value)) fail(std::string("expected a finite number for ") + what);
    return value;
  }

  double above_zero(std::istringstream& words, const char* what) const {
    const double value = number(words, what);
    if (value <= 0) fail(std::string(what) + ": expected a number > 0");
    return value;
  }

  // The next word with its %XX codes resolved; `what` it is, for messages.
  std::string text(std::istringstream& words, const char* what) const {
    std::string coded, out;
    words >> coded;
    if (coded == "%") return out;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      if (coded[i] != '%') {
        out += coded[i];
        continue;
      }
      if (i + 2 >= coded.size() || !std::isxdigit(static_cast<unsigned char>(coded[i + 1])) ||
          !std::isxdigit(static_cast<unsigned char>(coded[i + 2])))
        fail(std::string(what) + " has a broken %XX code");
      out += static_cast<char>(std::stoi(coded.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
    return out;
  }

  // All numbers that are left on the line.
  std::vector<double> numbers(std::istringstream& words, const char* what) const {
    std::vector<double> out;
    while (!(words >> std::ws).eof()) out.push_back(number(words, what));
    return out;
  }

  void ends(std::istringstream& words) const {
    std::string more;
    if (words >> more) fail("unexpected '" + more + "'");
  }

 private:
  std::string path_;
  std::istream& file_;
  Index number_ = 0;
  bool ended_ = true;
};

// The authors' files: authors.cpp.
constexpr const char* kAuthorsMagic = "SVM-GSU";
void write_authors_lines(const Model& model, std::ostream& out);
Model read_authors_lines(Lines& lines);

// Whether bytes are UTF-8: no stray or missing continuation, nothing overlong, no surrogates.
inline bool is_utf8(const std::string& text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = p + text.size();
  while (p < end) {
    const unsigned lead = *p++;
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || end - p < more) return false;
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (*p < low || *p > high) return false;
    for (int k = 1; k < more; ++k)
      if ((p[k] & 0xC0) != 0x80) return false;
    p += more;
  }
  return true;
}

}  // namespace svmgsu
