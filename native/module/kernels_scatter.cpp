// Rows of updates combined, one after the other, with the rows of a target that numbers name.
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "module/kernels_array.hpp"

namespace hacl::module {
namespace {

enum ScatterOp { kScatterAdd, kScatterSubtract, kScatterMultiply, kScatterMax, kScatterMin, kScatterOps };
constexpr const char* kScatterNames[] = {"scatter_add", "scatter_subtract", "scatter_multiply", "scatter_max", "scatter_min"};
constexpr const char* kNumbers = "float32, float64, an integer type";

template <int op, class T>
T combined(T a, T b) {
  if constexpr (op == kScatterMax) return a >= b || a != a ? a : b;
  else if constexpr (op == kScatterMin) return a <= b || a != a ? a : b;
  else if constexpr (std::is_integral_v<T>) {  // wraps: in 64 bits without a sign
    const std::uint64_t x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == kScatterAdd ? x + y : op == kScatterSubtract ? x - y : x * y);
  } else {
    return op == kScatterAdd ? a + b : op == kScatterSubtract ? a - b : a * b;
  }
}

template <int op, class T>
void combine_rows(const View& target, const std::int64_t* rows, const View& updates) {
  const std::int64_t width = target.shape[1];
  auto to = reinterpret_cast<T*>(target.data);
  auto from = reinterpret_cast<const T*>(updates.data);
  for (std::int64_t i = 0; i < updates.shape[0]; ++i, from += width) {
    T* row = to + rows[i] * width;
    for (std::int64_t j = 0; j < width; ++j) row[j] = combined<op>(row[j], from[j]);
  }
}

template <int op>
bool combine_kind(const View& target, const std::int64_t* rows, const View& updates) {
  switch (target.kind) {
    case kFloat: combine_rows<op, float>(target, rows, updates); return true;
    case kDouble: combine_rows<op, double>(target, rows, updates); return true;
    case kInt8: combine_rows<op, std::int8_t>(target, rows, updates); return true;
    case kUint8: combine_rows<op, std::uint8_t>(target, rows, updates); return true;
    case kInt16: combine_rows<op, std::int16_t>(target, rows, updates); return true;
    case kUint16: combine_rows<op, std::uint16_t>(target, rows, updates); return true;
    case kInt32: combine_rows<op, std::int32_t>(target, rows, updates); return true;
    case kUint32: combine_rows<op, std::uint32_t>(target, rows, updates); return true;
    case kInt64: combine_rows<op, std::int64_t>(target, rows, updates); return true;
    case kUint64: combine_rows<op, std::uint64_t>(target, rows, updates); return true;
    default: return false;
  }
}

bool view_row_numbers(PyObject* object, const char* name, std::int64_t count, View* rows, Owned* held) {
  const Argument argument{name, "rows"};
  if (!view(object, argument, rows)) return false;
  if (rows->kind != kInt64) return refuse_dtype(*rows, argument, "int64");
  if (rows->nd != 1) return refuse_shape(*rows, argument, "one axis");
  if (!rows->dense && !replace_by_copy(rows, argument, held)) return false;
  auto numbers = reinterpret_cast<const std::int64_t*>(rows->data);
  for (std::int64_t i = 0; i < rows->count; ++i) {
    if (static_cast<std::uint64_t>(numbers[i]) < static_cast<std::uint64_t>(count)) continue;
    PyErr_Format(PyExc_ValueError, "%s(): rows[%lld] = %lld; allowed: 0 to %lld", name, static_cast<long long>(i),
                 static_cast<long long>(numbers[i]), static_cast<long long>(count - 1));
    return false;
  }
  return true;
}

// (target, rows, updates): the target is changed in place.
struct Scatter {
  View target, rows, updates;
  Owned held_rows, held_updates;

  bool read(const char* name, PyObject* const* args, Py_ssize_t n) {
    if (!expect_arguments(name, n, 3, 3) || !view_output(args[0], {name, "target"}, &target)) return false;
    if (target.nd != 2 || !target.dense) return refuse_shape(target, {name, "target"}, "two axes, contiguous");
    if (!view_row_numbers(args[1], name, target.shape[0], &rows, &held_rows)) return false;
    const Argument argument{name, "updates"};
    if (!view(args[2], argument, &updates)) return false;
    if (updates.kind != target.kind || updates.size != target.size) return refuse_dtype(updates, argument, "the dtype of target");
    if (updates.nd != 2 || updates.shape[0] != rows.count || updates.shape[1] != target.shape[1]) {
      return refuse_shape(updates, argument, "a row for each of rows, as long as those of target");
    }
    if (updates.dense && !overlaps(updates, target) && updates.data != target.data) return true;
    return replace_by_copy(&updates, argument, &held_updates);
  }

  const std::int64_t* numbers() const { return reinterpret_cast<const std::int64_t*>(rows.data); }
};

template <int op>
PyObject* scatter(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = kScatterNames[op];
  Scatter call;
  if (!call.read(name, args, n)) return nullptr;
  bool known;
  {
    const Unlocked unlocked(call.updates.count);
    known = combine_kind<op>(call.target, call.numbers(), call.updates);
  }
  if (!known && !refuse_dtype(call.target, {name, "target"}, kNumbers)) return nullptr;
  Py_RETURN_NONE;
}

template <class Word>
void assign_words(char* to, const std::int64_t* rows, const char* from, std::int64_t n) {
  constexpr std::int64_t size = sizeof(Word);
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + rows[i] * size, from + i * size, sizeof(Word));
}

PyObject* scatter_assign(PyObject*, PyObject* const* args, Py_ssize_t n) {
  Scatter call;
  if (!call.read("scatter_assign", args, n)) return nullptr;
  const Unlocked unlocked(call.updates.count);
  const std::int64_t bytes = call.target.shape[1] * call.target.size, count = call.rows.count;
  char* to = call.target.data;
  const char* from = call.updates.data;
  if (bytes == 2) assign_words<std::uint16_t>(to, call.numbers(), from, count);
  else if (bytes == 4) assign_words<std::uint32_t>(to, call.numbers(), from, count);
  else if (bytes == 8) assign_words<std::uint64_t>(to, call.numbers(), from, count);
  else {
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + call.numbers()[i] * bytes, from + i * bytes, static_cast<std::size_t>(bytes));
  }
  Py_RETURN_NONE;
}

// Adds as long as no row gets more than `limit` updates; false when one does, the target then being half done.
bool add_up_to(const View& target, const std::int64_t* rows, const View& updates, std::uint8_t limit, std::uint8_t* times) {
  const std::int64_t width = target.shape[1];
  auto to = reinterpret_cast<float*>(target.data);
  auto from = reinterpret_cast<const float*>(updates.data);
  for (std::int64_t i = 0; i < updates.shape[0]; ++i, from += width) {
    if (++times[rows[i]] > limit) return false;
    float* row = to + rows[i] * width;
    for (std::int64_t j = 0; j < width; ++j) row[j] += from[j];
  }
  return true;
}

// (target, rows, updates, limit), float32: whether all of it was done.
PyObject* scatter_add_up_to(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = "scatter_add_up_to";
  Scatter call;
  if (!expect_arguments(name, n, 4, 4) || !call.read(name, args, 3)) return nullptr;
  if (call.target.kind != kFloat && !refuse_dtype(call.target, {name, "target"}, "float32")) return nullptr;
  const long limit = PyLong_AsLong(args[3]);
  if (limit == -1 && PyErr_Occurred()) return nullptr;
  if (limit < 1 || limit > 254) return PyErr_Format(PyExc_ValueError, "%s(): limit = %ld; allowed: 1 to 254", name, limit);
  const std::unique_ptr<std::uint8_t[]> times(new (std::nothrow) std::uint8_t[static_cast<std::size_t>(call.target.shape[0])]());
  if (times == nullptr) return PyErr_NoMemory();
  bool done;
  {
    const Unlocked unlocked(call.updates.count);
    done = add_up_to(call.target, call.numbers(), call.updates, static_cast<std::uint8_t>(limit), times.get());
  }
  return PyBool_FromLong(done);
}

constexpr const char* kScatters = "Rows of updates combined with rows of the target, in place.";

}  // namespace

PyMethodDef scatter_methods[] = {
    method("scatter_add", scatter<kScatterAdd>, kScatters), method("scatter_subtract", scatter<kScatterSubtract>, kScatters),
    method("scatter_multiply", scatter<kScatterMultiply>, kScatters), method("scatter_max", scatter<kScatterMax>, kScatters),
    method("scatter_min", scatter<kScatterMin>, kScatters), method("scatter_assign", scatter_assign, kScatters),
    method("scatter_add_up_to", scatter_add_up_to, "scatter_add unless a row gets too many updates."), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
