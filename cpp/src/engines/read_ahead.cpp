#include "engines/read_ahead.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "support/poll.hpp"

namespace svmgsu {
namespace {

// Waits until `ready`, and asks now and then whether to go on.
template <class Ready>
void wait_politely(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Ready ready) {
  while (!changed.wait_for(lock, std::chrono::milliseconds(50), ready)) {
    lock.unlock();
    poll();
    lock.lock();
  }
}

}  // namespace

ReadAhead::ReadAhead(const OpenFiles& files, std::vector<Index> bounds) : files_(files), bounds_(std::move(bounds)) {}

void ReadAhead::begin(int readers) {
  readers_ = readers;
  Index most = 0;
  for (std::size_t k = 1; k < bounds_.size(); ++k) most = std::max(most, bounds_[k] - bounds_[k - 1]);
  try {
    for (Place& place : places_)
      for (const auto& file : files_) place.buffers.emplace_back(most * file->file().row_bytes());
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {  // no memory for a thread, as a rule
    failure_ = std::make_exception_ptr(std::bad_alloc());
  } catch (...) {
    failure_ = std::current_exception();
  }
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const std::vector<const char*>& ReadAhead::wait(std::size_t k) {
  Place& place = places_[k % kPlaces];
  std::unique_lock<std::mutex> lock(mutex_);
  const auto here = [&] { return place.full && place.window == k; };
  wait_politely(changed_, lock, [&] { return here() || failure_; });
  if (!here()) std::rethrow_exception(failure_);
  return place.arrays;
}

void ReadAhead::release(std::size_t k) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Place& place = places_[k % kPlaces];
    if (--place.users == 0) place.full = false;
  }
  changed_.notify_all();
}

void ReadAhead::leave(std::size_t k) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--readers_ == 0) stop_ = true;
    for (Place& place : places_)
      if (place.full && place.window >= k && --place.users == 0) place.full = false;
  }
  changed_.notify_all();
}

void ReadAhead::run() {
  try {
    for (std::size_t k = 0; k + 1 < bounds_.size() && !stop_; ++k) read(k);
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = std::current_exception();
  }
  changed_.notify_all();
}

void ReadAhead::read(std::size_t k) {
  Place& place = places_[k % kPlaces];
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || !place.full; });
  }
  std::vector<const char*> arrays;
  for (std::size_t f = 0; f < files_.size() && !stop_; ++f) {
    files_[f]->read(bounds_[k], bounds_[k + 1], place.buffers[f].data(), &stop_);
    arrays.push_back(place.buffers[f].data());
  }
  if (stop_) return;
  for (const auto& file : files_) file->require_unchanged();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    place.arrays = std::move(arrays);
    place.window = k;
    place.users = readers_;
    place.full = readers_ > 0;
  }
  changed_.notify_all();
}

void Meeting::expect(int members) {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_ = members;
}

void Meeting::leave() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --members_;
    begin_if_all_wait();
  }
  changed_.notify_all();
}

// The mutex is held.
void Meeting::begin_if_all_wait() {
  int wanting = 0;
  for (const Waiting& one : waiting_) wanting += !one.pass;
  if (wanting == 0 || wanting < members_) return;
  std::shared_ptr<ReadAhead> pass;
  int readers = 0;
  for (Waiting& one : waiting_) {
    if (one.pass || (pass && one.bounds != pass->bounds())) continue;
    if (!pass) pass = std::make_shared<ReadAhead>(one.files, one.bounds);
    one.pass = pass;
    ++readers;
  }
  pass->begin(readers);
}

std::shared_ptr<ReadAhead> Meeting::join(const OpenFiles& files, const std::vector<Index>& bounds) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto mine = waiting_.insert(waiting_.end(), {files, bounds, nullptr});
  try {
    begin_if_all_wait();
    changed_.notify_all();
    wait_politely(changed_, lock, [&] { return mine->pass != nullptr; });
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    const std::shared_ptr<ReadAhead> pass = mine->pass;
    waiting_.erase(mine);
    lock.unlock();
    const ReadAhead::Reader gone(pass);
    throw;
  }
  const std::shared_ptr<ReadAhead> pass = mine->pass;
  waiting_.erase(mine);
  return pass;
}

}  // namespace svmgsu
