#include "svmgsu/support/dense.hpp"

namespace svmgsu {
namespace {

// Not for correctness: so that sums over vectors begin at the same place of a packet always, and give the same bits.
constexpr std::uintptr_t kAlignment = 64;

}  // namespace

// The address that operator new gave stands before the numbers. Its variant with an alignment would do without, but
// takes five times as long for the short vectors of a small problem.
void* allocate_bytes(std::size_t bytes) {
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*), "there is room for an address");
  if (bytes == 0) return nullptr;
  if (bytes > SIZE_MAX - kAlignment) throw std::bad_alloc();
  void* const raw = ::operator new(bytes + kAlignment);
  const std::uintptr_t next = (reinterpret_cast<std::uintptr_t>(raw) / kAlignment + 1) * kAlignment;
  void** const aligned = reinterpret_cast<void**>(next);
  aligned[-1] = raw;
  return aligned;
}

void release_bytes(void* memory) noexcept {
  if (memory) ::operator delete(static_cast<void**>(memory)[-1]);
}

}  // namespace svmgsu
