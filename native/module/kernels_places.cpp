#include "module/kernels_places.hpp"

namespace hacl::module {
namespace {

template <class Int>
std::int64_t from_front(Int number, std::int64_t size) {
  const std::int64_t wide = number;
  return wide + (size & -static_cast<std::int64_t>(wide < 0));
}

// Whether one of them is not 0 to size - 1: the sign bit tells, without a branch.
template <class Int>
bool any_outside(const Int* numbers, std::int64_t n, std::int64_t size) {
  std::uint64_t found = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t place = static_cast<std::uint64_t>(static_cast<std::int64_t>(numbers[i]));
    found |= place | (static_cast<std::uint64_t>(size - 1) - place);
  }
  return found >> 63 != 0;
}

template <class Int>
bool all_inside(const View& numbers, Argument argument, std::int64_t size) {
  auto at = reinterpret_cast<const Int*>(numbers.data);
  std::int64_t i = 0;
  for (; i < numbers.count; ++i) {
    const std::int64_t place = from_front(at[i], size);
    if (any_outside(&place, 1, size)) break;
  }
  if (i == numbers.count) return true;
  PyErr_Format(PyExc_IndexError, "%s(): %s[%lld] = %lld; allowed: %lld to %lld", argument.function, argument.name,
               static_cast<long long>(i), static_cast<long long>(at[i]), static_cast<long long>(-size), static_cast<long long>(size - 1));
  return false;
}

}  // namespace

bool Places::read(PyObject* object, Argument argument, std::int64_t size) {
  if (!view(object, argument, &numbers_)) return false;
  const bool wide = numbers_.kind == kInt64;
  if (!wide && numbers_.kind != kInt32) return refuse_dtype(numbers_, argument, "int32, int64");
  if (!numbers_.dense && !replace_by_copy(&numbers_, argument, &held_)) return false;
  size_ = size;
  plain_ = wide ? !any_outside(reinterpret_cast<const std::int64_t*>(numbers_.data), numbers_.count, size)
                : !any_outside(reinterpret_cast<const std::int32_t*>(numbers_.data), numbers_.count, size);
  if (plain_) return true;
  return wide ? all_inside<std::int64_t>(numbers_, argument, size) : all_inside<std::int32_t>(numbers_, argument, size);
}

bool Places::read_rows(PyObject* object, Argument argument, std::int64_t count) {
  if (!read(object, argument, count)) return false;
  return numbers_.nd == 1 || refuse_shape(numbers_, argument, "one axis");
}

bool Places::read_elements(PyObject* object, Argument argument, const View& target, int axis) {
  if (axis < 0 || axis >= target.nd) {
    PyErr_Format(PyExc_ValueError, "%s(): axis = %d; allowed: 0 to %d", argument.function, axis, target.nd - 1);
    return false;
  }
  if (!read(object, argument, target.shape[axis])) return false;
  bool fits = numbers_.nd == target.nd;
  for (int d = 0; fits && d < target.nd; ++d) fits = d == axis || numbers_.shape[d] <= target.shape[d];
  if (!fits) return refuse_shape(numbers_, argument, "the rank of target, and but along the axis no larger than it");
  axis_ = axis;
  for (int d = 0; d < target.nd; ++d) step_[d] = target.strides[d] / target.size;
  return true;
}

template <class Int, bool plain>
void Places::fill_elements(std::int64_t start, std::int64_t n, std::int64_t* out) const {
  auto numbers = reinterpret_cast<const Int*>(numbers_.data) + start;
  const int last = numbers_.nd - 1;
  const std::int64_t inner = numbers_.shape[last], along = step_[axis_];
  const std::int64_t step = axis_ == last ? 0 : step_[last];
  for (std::int64_t done = 0; done < n;) {
    std::int64_t row = (start + done) / inner, base = 0;
    const std::int64_t first = (start + done) % inner, rest = n - done;
    const std::int64_t k = inner - first < rest ? inner - first : rest;
    for (int d = last - 1; d >= 0; row /= numbers_.shape[d], --d) base += d == axis_ ? 0 : row % numbers_.shape[d] * step_[d];
    for (std::int64_t j = 0; j < k; ++j) {
      const std::int64_t number = plain ? numbers[done + j] : from_front(numbers[done + j], size_);
      out[done + j] = base + (first + j) * step + number * along;
    }
    done += k;
  }
}

const std::int64_t* Places::fill(std::int64_t start, std::int64_t n, std::int64_t* out) const {
  const bool wide = numbers_.kind == kInt64;
  if (axis_ < 0 && wide && plain_) return reinterpret_cast<const std::int64_t*>(numbers_.data) + start;
  if (axis_ >= 0 && plain_) wide ? fill_elements<std::int64_t, true>(start, n, out) : fill_elements<std::int32_t, true>(start, n, out);
  else if (axis_ >= 0) wide ? fill_elements<std::int64_t, false>(start, n, out) : fill_elements<std::int32_t, false>(start, n, out);
  for (std::int64_t i = 0; axis_ < 0 && i < n; ++i) {
    out[i] = wide ? from_front(reinterpret_cast<const std::int64_t*>(numbers_.data)[start + i], size_)
                  : from_front(reinterpret_cast<const std::int32_t*>(numbers_.data)[start + i], size_);
  }
  return out;
}

}  // namespace hacl::module
