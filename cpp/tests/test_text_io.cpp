// Text files: what is read, where errors are seen, and that neither depends on threads.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <sstream>

#include "../src/support/poll.hpp"
#include "helpers.hpp"
#include "svmgsu/text/io.hpp"

using namespace svmgsu;
using namespace svmgsu::test;

namespace {

TextRows read(std::string_view text, TextFormat format = TextFormat::means, int threads = 1) {
  TextOptions options;
  options.format = format;
  options.name = "f";
  options.threads = threads;
  return read_rows(text, options);
}

std::string error_of(std::string_view text, TextFormat format = TextFormat::means, int threads = 1) {
  try {
    read(text, format, threads);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<Index> all(const TextRows& rows) {
  std::vector<Index> out;
  for (Index i = 0; i < rows.samples(); ++i) out.push_back(i);
  return out;
}

Matrix dense(const TextRows& rows) {
  Matrix out = Matrix::Zero(rows.samples(), rows.features);
  fill_dense(rows, all(rows), rows.features, 1, out.data());
  return out;
}

Matrix packed(const TextRows& rows, Index n) {
  Matrix out = Matrix::Zero(rows.samples(), n * (n + 1) / 2);
  fill_packed(rows, all(rows), n, 1, out.data());
  return out;
}

double number(const std::string& text) {
  const std::string line = "a " + text;
  return read(line, TextFormat::labels).label[0];
}

// As many digits as a double needs.
std::string exactly(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}

}  // namespace

TEST_CASE("blanks, tabs, CRLF, comments, empty lines and a missing last newline do not matter") {
  const TextRows rows = read("# heading\r\n\r\n a\t1:1.5  3:-2 # all of it\r\n\nb#1 2:+.5e1\n#\nc");
  CHECK(rows.ids == std::vector<std::string_view>{"a", "b#1", "c"});
  CHECK(rows.line == std::vector<Index>{3, 5, 7});
  CHECK(dense(rows) == (Matrix(3, 3) << 1.5, 0, -2, 0, 5, 0, 0, 0, 0).finished());
}

TEST_CASE("indices in any order are sorted") {
  const TextRows rows = read("a 3:3 1:1 2:2\n");
  CHECK(rows.column[0] == 0);
  CHECK(rows.column[2] == 2);
  CHECK(dense(rows) == (Matrix(1, 3) << 1, 2, 3).finished());
}

TEST_CASE("numbers of every form are the doubles nearest to them") {
  std::istringstream forms(
      "0 -0 7 12345678 123456789 0.1 -0.1 .5 5. 1e5 1E-5 1.25e+3 9007199254740993 0.30000000000000004 8.5 "
      "123456789012345678901234567890 2.2250738585072011e-308 4.9e-324 1.7976931348623157e308 12345678.87654321 "
      "00000000000000000000000001.5 0.000000000000000000000000000001 3.141592653589793238462643383279 "
      "179769313486231570000");
  for (std::string text; forms >> text;) CHECK_MESSAGE(number(text) == std::strtod(text.c_str(), nullptr), text);
  CHECK(std::signbit(number("-0")));
  CHECK(number("1e-400") == 0);
  CHECK(number("0.0000000001e-400") == 0);
  CHECK(number("+3") == 3);
  CHECK(number("0e0") == 0);
  CHECK(number("0.0e-22") == 0);
  CHECK(number("1e0022") == 1e22);
  Random random(3);
  for (int k = 0; k < 20000; ++k) {
    const double value = std::ldexp(random.normal(), static_cast<int>(400 * random.normal()) % 1000);
    char digits[40];
    if (k % 3 == 0)
      std::snprintf(digits, sizeof digits, "%.*g", 1 + k % 17, value);
    else if (k % 3 == 1)  // exponents that a power of ten below 10^22 takes up, and those just beyond
      std::snprintf(digits, sizeof digits, "%.*e", k % 19, std::ldexp(random.normal(), k % 200 - 100));
    else
      std::snprintf(digits, sizeof digits, "%.*f", k % 20, random.normal() * 100);
    CHECK_MESSAGE(number(digits) == std::strtod(digits, nullptr), digits);
    // 19 digits, of which the last ones often decide between two neighbours.
    const auto even = static_cast<std::uint64_t>(random.uniform() * 0x1p52);
    const int places = k % 20;
    std::string exact =
        std::to_string(((std::uint64_t{1} << 53) | even << 1) * 512 + 512 + static_cast<std::uint64_t>(k % 3) - 1);
    exact.insert(exact.size() - static_cast<std::size_t>(places % 19), ".");
    CHECK_MESSAGE(number(exact) == std::strtod(exact.c_str(), nullptr), exact);
    CHECK(number(exactly(value)) == value);
  }
}

TEST_CASE("an error names file, line, column and what was wanted") {
  const std::pair<const char*, const char*> cases[] = {
      {"a 1:1\nb 4:abc\n", "f:2:5: expected a number after 4:, got \"abc\""},
      {"a 0:1", "f:1:3: indices begin at 1, got 0"},
      {"a -2:1", "f:1:3: indices begin at 1, got -2"},
      {"a 1:", "f:1:5: expected a number after 1:, got nothing"},
      {"a :1", "f:1:3: expected index:value, got \":1\""},
      {"a 5", "f:1:3: expected index:value, got \"5\""},
      {"a 2147483648:1", "f:1:3: index 2147483648 is beyond 2147483647"},
      {"a 1:+-1", "f:1:5: expected a number after 1:, got \"+-1\""},
      {"a 18446744073709551617:1", "f:1:3: index 18446744073709551617 is beyond 2147483647"},
      {"a 1:2  3:1 1:3", "f:1:1: index 1 appears twice in this line"},
      {"a 1:NaN", "f:1:5: expected a finite number after 1:, got \"NaN\""},
      {"a 1:-inf", "f:1:5: expected a finite number after 1:, got \"-inf\""},
      {"a 1:1e999", "f:1:5: the number \"1e999\" is too large"},
      {"a 1:0x1p3", "f:1:5: expected a number after 1:, got \"0x1p3\""},
      {"a 1:--1", "f:1:5: expected a number after 1:, got \"--1\""},
      {"\xC3\xA4 1:1 x", "f:1:7: expected index:value, got \"x\""},
      {"\x01 1:1", "f:1:1: byte \\x01: this is not a text file"},
      {"\xEF\xBB\xBF"
       "a 1:1\n",
       "f:1:1: the file begins with a byte order mark; save it as plain UTF-8"},
      {"", "f:1: there are no samples in this file"},
      {"\n# nothing\n", "f:1: there are no samples in this file"}};
  for (const auto& [text, wanted] : cases) CHECK(error_of(text) == wanted);
  const std::string with_nul("a 1:1\0 2:2", 10);
  CHECK(error_of(with_nul) == "f:1:5: expected a number after 1:, got \"1\\x00\"");
}

TEST_CASE("ids are bytes of any encoding") {
  const TextRows rows = read("caf\xE9 1:1\n\xED\xA0\x80\xC3 1:2\n"), labels = read("caf\xE9 -1", TextFormat::labels);
  CHECK(rows.ids == std::vector<std::string_view>{"caf\xE9", "\xED\xA0\x80\xC3"});
  CHECK(join({&rows, &labels}) == std::vector<std::vector<Index>>{{0}, {0}});
}

TEST_CASE("covariances as written keep the order of a line and what it repeats") {
  TextOptions options;
  options.format = TextFormat::covariances;
  options.diagonal = options.as_written = true;
  const TextRows rows = read_rows("a 2,2:5 1,1:3 2,2:4\nb 1,1:2\n", options);
  CHECK(std::vector<double>(rows.value.begin(), rows.value.end()) == std::vector<double>{5, 3, 4, 2});
  CHECK(rows.features == 2);
  CHECK_THROWS_AS(read_rows("a 1,2:1\n", options), FormatError);
}

TEST_CASE("labels are numbers, one per line") {
  const TextRows rows = read("a +1\nb -1\nc 2.5", TextFormat::labels);
  CHECK(std::vector<double>(rows.label.begin(), rows.label.end()) == std::vector<double>{1, -1, 2.5});
  CHECK(error_of("a", TextFormat::labels) == "f:1:2: expected a number as label, got nothing");
  CHECK(error_of("a abc", TextFormat::labels) == "f:1:3: expected a number as label, got \"abc\"");
  CHECK(error_of("a 1 2", TextFormat::labels) == "f:1:5: expected one label, got also \"2\"");
  CHECK(error_of("a inf", TextFormat::labels) == "f:1:3: expected a finite number as label, got \"inf\"");
}

TEST_CASE("covariances: isotropic, diagonal and full are told apart") {
  const TextRows bare = read("a 0.5\nb 1\n", TextFormat::covariances);
  CHECK((bare.bare && !bare.full && bare.features == 1));
  const TextRows diagonal = read("a 1,1:2 3,3:4\nb\n", TextFormat::covariances);
  CHECK((!diagonal.bare && !diagonal.full && diagonal.features == 3));
  CHECK(packed(diagonal, 3) == (Matrix(2, 6) << 2, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0).finished());
  const TextRows full = read("a 2,2:5\nb 1,3:1\nc 3,3:9 1,1:7\n", TextFormat::covariances);
  CHECK(full.full);
  CHECK(packed(full, 3) == (Matrix(3, 6) << 0, 0, 0, 5, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 9).finished());
}

TEST_CASE("upper triangle, lower triangle, both, and any order are the same matrix") {
  Random random(4);
  constexpr Index n = 7;
  for (const Matrix& sigma : random_covariances(3, n, random)) {
    std::vector<std::string> upper, lower, both;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        std::string entry = " " + std::to_string(i + 1) + "," + std::to_string(j + 1) + ":";
        entry += exactly(sigma(std::min(i, j), std::max(i, j)));
        if (i <= j) upper.push_back(entry);
        if (i >= j) lower.push_back(entry);
        both.push_back(entry);
      }
    const auto line = [](const std::vector<std::string>& entries) {
      std::string out = "a";
      for (const auto& entry : entries) out += entry;
      return out;
    };
    std::vector<std::string> shuffled = both;
    for (std::size_t k = shuffled.size(); k > 1; --k)
      std::swap(shuffled[k - 1], shuffled[static_cast<std::size_t>(random.uniform() * static_cast<double>(k))]);
    const std::string text = line(upper);
    const Matrix want = packed(read(text, TextFormat::covariances), n);
    for (Index i = 0, k = 0; i < n; ++i)
      for (Index j = i; j < n; ++j, ++k) CHECK(want(0, k) == sigma(i, j));
    for (const auto& entries : {lower, both, shuffled}) {
      const std::string other = line(entries);
      CHECK(packed(read(other, TextFormat::covariances), n) == want);
    }
  }
}

TEST_CASE("wrong covariances") {
  const std::pair<const char*, const char*> cases[] = {
      {"a 1,2:1 2,1:2", "f:1:1: the matrix is not symmetric: 1,2:1 but 2,1:2"},
      {"a 1,2:1 3,3:1 1,2:1", "f:1:1: index 1,2 appears twice in this line"},
      {"a 1,2:1 2,1:1 2,1:1", "f:1:1: index 2,1 appears twice in this line"},
      {"a 2,2:1 2,2:1", "f:1:1: index 2,2 appears twice in this line"},
      {"a 1,1:-1", "f:1:7: a variance must be >= 0, got \"-1\""},
      {"a -1", "f:1:3: a variance must be >= 0, got \"-1\""},
      {"a 1 2", "f:1:5: expected one variance, got also \"2\""},
      {"a 1:1", "f:1:3: expected i,j:value, got \"1:1\""},
      {"a 0,0:1", "f:1:3: indices begin at 1, got 0"},
      {"a 1\nb 1,1:1", "f:2:1: an indexed entry, but line 1 has one bare variance"},
      {"a 1,1:1\nb 1", "f:2:1: one bare variance, but line 1 has indexed entries"},
      {"a 1\nb", "f:2:1: expected a variance after the id"}};
  for (const auto& [text, wanted] : cases) CHECK(error_of(text, TextFormat::covariances) == wanted);
  const TextRows nearly = read("a 1,1:1 1,2:0.5 2,1:0.5000000001", TextFormat::covariances);
  CHECK(packed(nearly, 2)(0, 1) == doctest::Approx(0.50000000005).epsilon(1e-14));
}

TEST_CASE("a large file comes out the same for any number of threads, and its first error too") {
  Random random(5);
  std::string text;
  for (int i = 0; i < 30000; ++i) {
    text += "id" + std::to_string(i);
    for (int j = 1; j <= 20; ++j)
      if (random.uniform() < 0.7) text += " " + std::to_string(j) + ":" + exactly(random.normal());
    text += i % 3 ? "\n" : "\r\n\n";
  }
  REQUIRE(text.size() > (4u << 20));
  const TextRows one = read(text);
  for (const int threads : {2, 8}) {
    const TextRows many = read(text, TextFormat::means, threads);
    CHECK(many.ids == one.ids);
    CHECK(many.line == one.line);
    REQUIRE(many.entries() == one.entries());
    CHECK(std::memcmp(many.value.data(), one.value.data(), one.value.size() * sizeof(double)) == 0);
    CHECK(std::memcmp(many.column.data(), one.column.data(), one.column.size() * sizeof(std::int32_t)) == 0);
    CHECK(std::memcmp(many.start.data(), one.start.data(), one.start.size() * sizeof(Index)) == 0);
  }
  for (const std::size_t place : {std::size_t{2} << 20, std::size_t{3} << 20, text.size() - 50}) text[place] = '!';
  const std::string error = error_of(text);
  CHECK(error != "no error");
  for (const int threads : {2, 8}) CHECK(error_of(text, TextFormat::means, threads) == error);
  const auto lines = std::count(text.begin(), text.begin() + (std::ptrdiff_t{2} << 20), '\n');
  CHECK(error.rfind("f:" + std::to_string(lines + 1) + ":", 0) == 0);
}

TEST_CASE("a line much longer than a piece is read, between short ones") {
  std::string text = "first 1:1\nlong";
  constexpr int n = 200000;
  for (int j = 1; j <= n; ++j) text += " " + std::to_string(j) + ":" + std::to_string(j % 10);
  text += "\nlast 2:3\n";
  REQUIRE(text.size() > (1u << 20));
  for (const int threads : {1, 2, 8}) {
    const TextRows rows = read(text, TextFormat::means, threads);
    CHECK(rows.ids == std::vector<std::string_view>{"first", "long", "last"});
    CHECK(rows.features == n);
    CHECK(rows.entries() == n + 2);
    CHECK(rows.line == std::vector<Index>{1, 2, 3});
  }
}

TEST_CASE("files are joined by ids in the order of the first") {
  const TextRows means = read("a 1:1\nb: 1:2\nc 1:3\nd 1:4\n");
  const TextRows labels = read("d 1\nb 1\na 1\nx 1\n", TextFormat::labels);
  const TextRows cov = read("a: 1\nc 1\nd: 1\nb 2\n", TextFormat::covariances);
  const auto rows = join({&means, &labels, &cov});
  CHECK(rows[0] == std::vector<Index>{0, 1, 3});
  CHECK(rows[1] == std::vector<Index>{2, 1, 0});
  CHECK(rows[2] == std::vector<Index>{0, 3, 2});
  const TextRows twice = read("a 1\n\nb 1\na: 1\n", TextFormat::labels);
  CHECK_THROWS_WITH_AS(join({&means, &twice}), "f:4: the id \"a:\" is also on line 1", FormatError);
}

TEST_CASE("reading can be stopped") {
  std::string text;
  while (text.size() < (2u << 20)) text += "# a comment that fills the file with bytes that cost no time to read\n";
  text += "a 1:1\n";
  int calls = 0;
  const Watch watch([&] { return ++calls < 3; });
  CHECK_THROWS_AS(read(text), Interrupted);
  CHECK(calls == 3);
}
