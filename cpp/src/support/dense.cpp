#include "svmgsu/support/dense.hpp"

namespace svmgsu {
namespace {

// Not for correctness: so that sums over vectors begin at the same place of a packet always, and give the same bits.
constexpr std::align_val_t kAlignment{64};

}  // namespace

void* allocate_bytes(std::size_t bytes) { return bytes == 0 ? nullptr : ::operator new(bytes, kAlignment); }

void release_bytes(void* memory) noexcept { ::operator delete(memory, kAlignment); }

}  // namespace svmgsu
