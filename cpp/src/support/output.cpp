#include "support/output.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "svmgsu/support/types.hpp"

namespace svmgsu {
namespace {

namespace fs = std::filesystem;

// 0, or what went wrong. Appends, so that an open file by its name (/dev/stdout) goes on where it is.
int write_into(const fs::path& path, std::string_view content) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << content;
  file.close();
  if (file) return 0;
  return errno ? errno : EIO;
}

}  // namespace

void write_file(const std::string& path, std::string_view content) {
  std::error_code none, error;
  fs::path target = path;
  const auto is_open_file = [&] { return target.string().rfind("/dev/", 0) == 0; };
  for (int k = 0; k < 40 && !is_open_file() && fs::is_symlink(target, none); ++k)
    target = target.parent_path() / fs::read_symlink(target, none);
  const fs::file_status old = fs::status(target, none);
  if (is_open_file() || (fs::exists(old) && !fs::is_regular_file(old))) {
    error.assign(write_into(target, content), std::generic_category());
  } else {
    // Not the file's own name, which may be as long as names can be.
    const fs::path partial = target.parent_path() / (".svmgsu." + std::to_string(std::random_device()()) + ".partial");
    error.assign(write_into(partial, content), std::generic_category());
    if (!error && fs::exists(old)) fs::permissions(partial, old.permissions(), none);
    if (!error) fs::rename(partial, target, error);
    if (error) fs::remove(partial, none);
  }
  if (error) throw FileError(path + ": " + std::strerror(error.value()));
}

}  // namespace svmgsu
