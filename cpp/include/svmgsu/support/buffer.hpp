// An array that grows by realloc, which for large arrays moves pages and copies nothing, and whose memory can be
// handed on.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace svmgsu {

// Filling new memory page by page takes a quarter of the time of reading a file; with huge pages it does not.
inline void use_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kHuge = std::uintptr_t{1} << 21;
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(data) + kHuge - 1) / kHuge * kHuge;
  const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(data) + bytes) / kHuge * kHuge;
  if (last > first + 8 * kHuge) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };

 public:
  using Owner = std::unique_ptr<T[], Free>;

  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::move(other.data_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }
  const T* begin() const { return data_.get(); }
  const T* end() const { return data_.get() + size_; }

  void clear() { size_ = 0; }
  // Room for so many; memory that is never touched costs nothing.
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) resize_to(capacity);
  }
  void shrink(std::size_t size) { size_ = size; }

  void push(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }

  void append(const T* values, std::size_t count) {
    if (count == 0) return;
    if (size_ + count > capacity_) grow(size_ + count);
    std::memcpy(data_.get() + size_, values, count * sizeof(T));
    size_ += count;
  }

  // Gives the memory away; never null, also when empty.
  Owner release() {
    resize_to(size_ == 0 ? 1 : size_);
    size_ = capacity_ = 0;
    return std::move(data_);
  }

 private:
  void grow(std::size_t least) {
    resize_to(least < capacity_ + capacity_ / 2 ? capacity_ + capacity_ / 2 : least + 16);
  }

  void resize_to(std::size_t capacity) {
    void* moved = std::realloc(static_cast<void*>(data_.get()), capacity * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(data_.release());
    data_.reset(static_cast<T*>(moved));
    capacity_ = capacity;
    use_huge_pages(moved, capacity * sizeof(T));
  }

  Owner data_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace svmgsu
