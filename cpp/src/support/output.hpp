// Files that appear complete or not at all.
#pragma once

#include <string>
#include <string_view>

namespace svmgsu {

// Writes a file beside `path` and renames it, so that a reader never sees half a file. A symbolic link is followed, the
// mode of an existing file is kept, and pipes, devices and /dev/stdout are written into. Throws FileError.
void write_file(const std::string& path, std::string_view content);

}  // namespace svmgsu
