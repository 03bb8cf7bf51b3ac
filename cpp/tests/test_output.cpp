#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "folder.hpp"
#include "support/output.hpp"
#include "svmgsu/models/model.hpp"

using namespace svmgsu;
using svmgsu::test::Folder;
namespace fs = std::filesystem;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("a symbolic link is written through, also to a file that is not there yet") {
  const Folder folder;
  fs::create_directory(folder.file("there"));
  fs::create_symlink("there/file", folder.file("link"));
  for (const std::string text : {"first", "second"}) {
    write_file(folder.file("link"), text);
    CHECK(fs::is_symlink(folder.file("link")));
    CHECK(read(folder.file("there/file")) == text);
  }
  CHECK(folder.entries() == 2);
}

TEST_CASE("the mode of a file is kept") {
  const Folder folder;
  write_file(folder.file("a"), "something longer");
  fs::permissions(folder.file("a"), fs::perms::owner_all | fs::perms::group_read);
  write_file(folder.file("a"), "new");
  CHECK(fs::status(folder.file("a")).permissions() == (fs::perms::owner_all | fs::perms::group_read));
  CHECK(folder.entries() == 1);
}

TEST_CASE("a pipe and a device are written into") {
  const Folder folder;
  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  std::string found;
  std::thread reader([&] { found = read(folder.file("pipe")); });
  write_file(folder.file("pipe"), "content");
  reader.join();
  CHECK(found == "content");
  CHECK(fs::is_fifo(folder.file("pipe")));
  write_file("/dev/null", "content");
  CHECK(fs::is_character_file("/dev/null"));
  if (fs::exists("/dev/full"))
    CHECK_THROWS_WITH_AS(write_file("/dev/full", "x"), "/dev/full: No space left on device", FileError);
}

TEST_CASE("an open file by its number goes on where it is") {
  const Folder folder;
  const int file = open(folder.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(write(file, "before ", 7) == 7);
  write_file("/dev/fd/" + std::to_string(file), "after");
  close(file);
  CHECK(read(folder.file("out")) == "before after");
}

TEST_CASE("threads that write one file leave one whole") {
  const Folder folder;
  std::vector<std::thread> threads;
  for (int k = 0; k < 8; ++k)
    threads.emplace_back([&, k] { write_file(folder.file("m"), std::string(10000, static_cast<char>('a' + k))); });
  for (std::thread& thread : threads) thread.join();
  const std::string found = read(folder.file("m"));
  CHECK(found == std::string(10000, found[0]));
  CHECK(folder.entries() == 1);
}

TEST_CASE("a name as long as the system allows") {
  const Folder folder;
  write_file(folder.file(std::string(255, 'n')), "x");
  CHECK(folder.entries() == 1);
}

TEST_CASE("what cannot be written is named, with the reason") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(write_file(folder.file("absent/m"), "x"),
                       (folder.file("absent/m") + ": No such file or directory").c_str(), FileError);
  fs::create_directory(folder.file("d"));
  CHECK_THROWS_WITH_AS(write_file(folder.file("d"), "x"), (folder.file("d") + ": Is a directory").c_str(), FileError);
}
