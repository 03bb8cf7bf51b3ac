#include "support/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "svmgsu/models/model.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define SVMGSU_POSIX
#else
#include <fstream>
#endif

namespace svmgsu {
namespace {

namespace fs = std::filesystem;

std::string random_hex() {
  char out[17];
  std::random_device draw;
  std::snprintf(out, sizeof out, "%08x%08x", static_cast<unsigned>(draw()), static_cast<unsigned>(draw()));
  return out;
}

#ifdef SVMGSU_POSIX
constexpr std::size_t kLongest = 200;  // bytes of a name that its partial begins with; file systems allow 255 in all

[[noreturn]] void fail(const std::string& path, int error) { throw FileError(path + ": " + std::strerror(error)); }

class File {
 public:
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  bool good() const { return number_ >= 0; }

  // 0, or what went wrong.
  int write_all(std::string_view content) const {
    while (!content.empty()) {
      const auto written = ::write(number_, content.data(), content.size());
      if (written < 0 && errno != EINTR) return errno;
      if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
  }

 private:
  int number_;
};

// The number of the open file that a name such as /dev/stdout stands for, or −1.
int descriptor_of(const std::string& path) {
  if (path == "/dev/stdout") return 1;
  if (path == "/dev/stderr") return 2;
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const std::string digits = path.rfind(folder, 0) == 0 ? path.substr(std::strlen(folder)) : "";
    if (!digits.empty() && digits.size() < 8 && digits.find_first_not_of("0123456789") == std::string::npos)
      return std::stoi(digits);
  }
  return -1;
}

// The file that symbolic links lead to, which need not be there.
std::string followed(std::string path) {
  std::error_code none;
  for (int k = 0; k < 40 && descriptor_of(path) < 0 && fs::is_symlink(path, none); ++k)
    path = (fs::path(path).parent_path() / fs::read_symlink(path, none)).string();
  return path;
}

std::string stem_of(const std::string& target) {
  const fs::path path(target);
  const std::string name = path.filename().string();
  return name.size() < kLongest ? target : (path.parent_path() / name.substr(0, kLongest)).string();
}

// Removes what killed writers have left: partials that nobody holds a lock on.
void sweep(const std::string& stem) {
  const fs::path path(stem);
  const std::string begin = path.filename().string() + ".", end = ".partial";
  std::error_code none;
  for (fs::directory_iterator it(path.has_parent_path() ? path.parent_path() : ".", none), last; !none && it != last;
       it.increment(none)) {
    const std::string name = it->path().filename().string();
    if (name.size() <= begin.size() + end.size() || name.compare(0, begin.size(), begin) != 0 ||
        name.compare(name.size() - end.size(), end.size(), end) != 0)
      continue;
    const std::string middle = name.substr(begin.size(), name.size() - begin.size() - end.size());
    if (middle.find_first_not_of("0123456789abcdef") != std::string::npos) continue;
    const File left(open(it->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (left.good() && flock(left.number(), LOCK_EX | LOCK_NB) == 0) unlink(it->path().c_str());
  }
}

// A new, locked file beside the target; its name goes to `partial`.
File make_partial(const std::string& stem, std::string& partial) {
  while (true) {
    partial = stem + "." + random_hex() + ".partial";
    File file(open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file.good()) return file;
    struct stat about{};
    const bool locked = flock(file.number(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (locked && fstat(file.number(), &about) == 0 && about.st_nlink > 0) return file;  // else it was swept away
  }
}

// Mode and owner of the file to replace; false where that cannot be, or another name holds the same file.
bool become_like(const struct stat& old, const File& file) {
  struct stat mine{};
  if (old.st_nlink > 1 || fstat(file.number(), &mine) != 0) return false;
  const bool own = mine.st_uid == old.st_uid && mine.st_gid == old.st_gid;
  return (own || fchown(file.number(), old.st_uid, old.st_gid) == 0) && fchmod(file.number(), old.st_mode & 07777) == 0;
}

void write_into(const std::string& path, const File& file, std::string_view content) {
  if (!file.good()) fail(path, errno);
  if (const int error = file.write_all(content)) fail(path, error);
}

void replace(const std::string& path, const std::string& target, const struct stat* old, std::string_view content) {
  const std::string stem = stem_of(target);
  sweep(stem);
  std::string partial;
  const File file = make_partial(stem, partial);
  if (!file.good()) {
    const int error = errno;
    const bool refused = error == EACCES || error == EPERM || error == EROFS;
    if (!refused || !old || access(target.c_str(), W_OK) != 0) fail(path, error);
    write_into(path, File(open(target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)), content);
    return;
  }
  int error = file.write_all(content);
  if (!error && old && access(target.c_str(), W_OK) != 0) error = errno;
  const bool in_place = !error && old && !become_like(*old, file);
  if (!error && !in_place && std::rename(partial.c_str(), target.c_str()) != 0) error = errno;
  if (error || in_place) unlink(partial.c_str());
  if (error) fail(path, error);
  if (in_place) write_into(path, File(open(target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)), content);
}
#endif

}  // namespace

#ifdef SVMGSU_POSIX
void write_file(const std::string& path, std::string_view content) {
  const std::string target = followed(path);
  if (const int number = descriptor_of(target); number >= 0) {
    write_into(path, File(dup(number)), content);
    return;
  }
  struct stat about{};
  const bool exists = stat(target.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) fail(path, EISDIR);
  if (exists && !S_ISREG(about.st_mode))
    write_into(path, File(open(target.c_str(), O_WRONLY | O_CLOEXEC)), content);
  else
    replace(path, target, exists ? &about : nullptr, content);
}
#else
void write_file(const std::string& path, std::string_view content) {
  const std::string partial = path + "." + random_hex() + ".partial";
  std::error_code error;
  {
    std::ofstream file(partial, std::ios::binary);
    file << content;
    file.close();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(partial, path, error);
  if (!error) return;
  std::remove(partial.c_str());
  throw FileError(path + ": cannot be written");
}
#endif

}  // namespace svmgsu
