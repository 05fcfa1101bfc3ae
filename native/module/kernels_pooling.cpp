// Pooling over the last three axes.
#include "kernels/pooling.hpp"
#include "module/kernels_array.hpp"
#include "module/kernels_numbers.hpp"

namespace hacl::module {
namespace {

constexpr int kAxes = 3;

bool read_arrays(const char* name, PyObject* const* args, View* x, View* out, Owned* held) {
  const Argument source{name, "x"}, target{name, "out"};
  if (!view(args[0], source, x) || !view_output(args[1], target, out)) return false;
  if (x->kind > kFloat) return refuse_dtype(*x, source, "float16, bfloat16, float32");
  if (out->kind != x->kind) return refuse_dtype(*out, target, "the dtype of x");
  if (x->nd != kAxes + 1) return refuse_shape(*x, source, "four dims");
  const bool fits = out->nd == kAxes + 1 && out->dense && out->shape[0] == x->shape[0];
  if (!fits) return refuse_shape(*out, target, "four dims, contiguous, the first as that of x");
  return x->dense || replace_by_copy(x, source, held);
}

bool read_windows(const char* name, PyObject* const* args, const View& x, const View& out, Convolution* c) {
  if (!read_numbers(args[0], {name, "sizes"}, kAxes, 1, c->kernel) || !read_numbers(args[1], {name, "strides"}, kAxes, 1, c->stride) ||
      !read_numbers(args[2], {name, "dilations"}, kAxes, 1, c->dilation) || !read_numbers(args[3], {name, "before"}, kAxes, 0, c->before)) {
    return false;
  }
  c->kind = x.kind;
  c->out_kind = out.kind;
  c->x = x.data;
  c->out = out.data;
  c->images = c->channels = c->filters = 1;
  c->groups = x.shape[0];
  for (int d = 0; d < kAxes; ++d) {
    c->in[d] = x.shape[d + 1];
    c->size[d] = out.shape[d + 1];
  }
  return true;
}

bool read_divisors(const char* name, PyObject* object, const Convolution& c, View* divisors, Owned* held) {
  const Argument argument{name, "divisors"};
  if (!view(object, argument, divisors)) return false;
  if (divisors->kind != kFloat) return refuse_dtype(*divisors, argument, "float32");
  if (divisors->count != c.places()) return refuse_shape(*divisors, argument, "one element for each place of a plane of out");
  return divisors->dense || replace_by_copy(divisors, argument, held);
}

PyObject* pool_call(const char* name, PyObject* const* args, Py_ssize_t n, bool mean) {
  View x, out, divisors{};
  Owned held, apart, held_too, apart_too;
  Convolution c{};
  if (!expect_arguments(name, n, mean ? 7 : 6, mean ? 7 : 6) || !read_arrays(name, args, &x, &out, &held)) return nullptr;
  if (!separate(&x, out, {name, "x"}, &apart) || !read_windows(name, args + 2, x, out, &c)) return nullptr;
  if (mean && (!read_divisors(name, args[6], c, &divisors, &held_too) || !separate(&divisors, out, {name, "divisors"}, &apart_too))) {
    return nullptr;
  }
  if (x.data == out.data && x.count > 0 && out.count > 0 && !replace_by_copy(&x, {name, "x"}, &apart)) return nullptr;
  c.x = x.data;
  Pooled result;
  {
    const Unlocked unlocked(x.count);
    result = pool(c, mean ? reinterpret_cast<const float*>(divisors.data) : nullptr);
  }
  if (result == Pooled::kNoMemory) return PyErr_NoMemory();
  return PyBool_FromLong(result == Pooled::kDone);
}

PyObject* pool_max(PyObject*, PyObject* const* args, Py_ssize_t n) { return pool_call("pool_max", args, n, false); }
PyObject* pool_mean(PyObject*, PyObject* const* args, Py_ssize_t n) { return pool_call("pool_mean", args, n, true); }

}  // namespace

PyMethodDef pooling_methods[] = {
    method("pool_max", pool_max, "The largest element of each window over the last three axes, into out."),
    method("pool_mean", pool_mean, "The sum of each window over the last three axes over its divisor, into out."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
