// Places in a tensor that integers name: rows of it, or elements at their own coordinates but along one axis.
#pragma once

#include "module/kernels_array.hpp"

namespace hacl::module {

class Places {
 public:
  // Rows 0 to count - 1; negative numbers count from the end. False with an exception set: IndexError for one out of range.
  bool read_rows(PyObject* object, Argument argument, std::int64_t count);
  // Flat places in a contiguous target: those of the numbers' own coordinates, but for the axis.
  bool read_elements(PyObject* object, Argument argument, const View& target, int axis);

  std::int64_t count() const { return numbers_.count; }
  const View& numbers() const { return numbers_; }
  // Those of numbers start to start + n - 1: as they lie there, or worked out into `room`.
  const std::int64_t* fill(std::int64_t start, std::int64_t n, std::int64_t* room) const;
  // The numbers are copied where they lie in the memory of out.
  bool keep_apart(const View& out, Argument argument) {
    return (!overlaps(numbers_, out) && numbers_.data != out.data) || replace_by_copy(&numbers_, argument, &held_);
  }

 private:
  bool read(PyObject* object, Argument argument, std::int64_t size);
  template <class Int, bool plain>
  void fill_elements(std::int64_t start, std::int64_t n, std::int64_t* out) const;

  View numbers_;
  Owned held_;
  std::int64_t size_ = 0;
  bool plain_ = false;           // none is negative
  int axis_ = -1;                // -1: rows
  std::int64_t step_[kMaxDims];  // of the target, in elements
};

}  // namespace hacl::module
