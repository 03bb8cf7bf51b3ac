// Files that appear complete or not at all.
#pragma once

#include <string>
#include <string_view>

namespace svmgsu {

// Writes beside the file, as `path.<hex>.partial`, and renames, so that a reader never sees half a file. Symbolic links
// are followed, mode and owner of a file that was there are kept, and devices, pipes and /dev/stdout are written into.
// The partial file is locked while its writer lives; one that a killed process left is removed by the next call for
// the same path. Throws FileError.
void write_file(const std::string& path, std::string_view content);

}  // namespace svmgsu
