// The updates of each row of a target, in their order.
#pragma once

#include <memory>
#include <new>

#include "module/kernels_places.hpp"

namespace hacl::module {

class Groups {
 public:
  // Room for up to UINT32_MAX of them, and at least one row; false when there is no memory.
  bool reserve(const Places& places, std::int64_t rows) {
    rows_ = rows;
    ends_.reset(new (std::nothrow) std::uint32_t[static_cast<std::size_t>(rows)]());
    order_.reset(new (std::nothrow) std::uint32_t[static_cast<std::size_t>(places.count() + 1)]);
    return ends_ != nullptr && order_ != nullptr;
  }
  bool reserved() const { return order_ != nullptr; }

  // By counting: how many each row gets, where each row's begin, which they are.
  void sort(const Places& places) {
    each(places, [this](std::int64_t row, std::int64_t) { ++ends_[row]; });
    std::uint32_t begin = 0;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::uint32_t n = ends_[row];
      ends_[row] = begin;
      begin += n;
    }
    each(places, [this](std::int64_t row, std::int64_t update) { order_[ends_[row]++] = static_cast<std::uint32_t>(update); });
  }

  const std::uint32_t* ends() const { return ends_.get(); }
  const std::uint32_t* order() const { return order_.get(); }

 private:
  template <class Each>
  void each(const Places& places, Each use) {
    constexpr std::int64_t most = 1024;
    std::int64_t room[most];
    for (std::int64_t i = 0; i < places.count(); i += most) {
      const std::int64_t n = places.count() - i < most ? places.count() - i : most;
      const std::int64_t* rows = places.fill(i, n, room);
      for (std::int64_t k = 0; k < n; ++k) use(rows[k], i + k);
    }
  }

  std::int64_t rows_ = 0;
  std::unique_ptr<std::uint32_t[]> ends_, order_;
};

}  // namespace hacl::module
