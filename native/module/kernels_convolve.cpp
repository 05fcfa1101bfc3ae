// Grouped convolutions.
#include "kernels/convolve.hpp"

#include <algorithm>

#include "module/kernels_array.hpp"
#include "module/kernels_numbers.hpp"

namespace hacl::module {
namespace {

constexpr const char* kName = "convolve";
constexpr Argument kX{kName, "x"}, kFilter{kName, "filter"}, kBias{kName, "bias"}, kOut{kName, "out"};

bool read_tensor(PyObject* object, Argument argument, View* v, Owned* held) {
  if (!view(object, argument, v)) return false;
  if (v->kind > kFloat) return refuse_dtype(*v, argument, "float16, bfloat16, float32");
  if (v->nd != 5) return refuse_shape(*v, argument, "five dims");
  return v->dense || replace_by_copy(v, argument, held);
}

bool read_out(PyObject* object, const View& x, View* out) {
  if (!view_output(object, kOut, out)) return false;
  if (out->kind != x.kind && out->kind != kFloat) return refuse_dtype(*out, kOut, "the dtype of x, float32");
  return (out->nd == 5 && out->dense) || refuse_shape(*out, kOut, "five dims, contiguous");
}

bool read_bias(PyObject* object, std::int64_t filters, View* bias, Owned* held) {
  if (!view(object, kBias, bias)) return false;
  if (bias->kind != kFloat) return refuse_dtype(*bias, kBias, "float32");
  if (bias->count != filters) return refuse_shape(*bias, kBias, "one element for each filter");
  return bias->dense || replace_by_copy(bias, kBias, held);
}

// Batch, channels, groups and sizes agree; false with ValueError set.
bool fill_sizes(const View& x, const View& filter, const View& out, const std::int64_t* pads, Convolution* c) {
  if (c->groups < 1 || filter.shape[1] * c->groups != x.shape[1] || filter.shape[0] % c->groups != 0) {
    return refuse_shape(filter, kFilter, "channels of x / groups for each filter, and a multiple of groups filters");
  }
  bool fits = out.shape[0] == x.shape[0] && out.shape[1] == filter.shape[0];
  for (int d = 0; d < 3; ++d) {
    const std::int64_t room = x.shape[d + 2] + pads[2 * d] + pads[2 * d + 1] - (filter.shape[d + 2] - 1) * c->dilation[d] - 1;
    c->in[d] = x.shape[d + 2];
    c->kernel[d] = filter.shape[d + 2];
    c->size[d] = out.shape[d + 2];
    c->before[d] = pads[2 * d];
    fits = fits && room >= 0 && out.shape[d + 2] == room / c->stride[d] + 1;
  }
  c->images = x.shape[0];
  c->channels = filter.shape[1];
  c->filters = filter.shape[0] / c->groups;
  return fits || refuse_shape(out, kOut, "the batch of x, the filters, and the sizes that strides, dilations and pads give");
}

PyObject* convolve(PyObject*, PyObject* const* args, Py_ssize_t n) {
  View x, filter, bias{}, out;
  Owned held[6];
  Convolution c{};
  std::int64_t pads[6];
  if (!expect_arguments(kName, n, 8, 8) || !read_tensor(args[0], kX, &x, &held[0]) || !read_tensor(args[1], kFilter, &filter, &held[1])) {
    return nullptr;
  }
  if (filter.kind != x.kind && !refuse_dtype(filter, kFilter, "the dtype of x")) return nullptr;
  if (args[2] != Py_None && !read_bias(args[2], filter.shape[0], &bias, &held[2])) return nullptr;
  if (!read_out(args[3], x, &out) || !read_numbers(args[4], {kName, "strides"}, 3, 1, c.stride) ||
      !read_numbers(args[5], {kName, "dilations"}, 3, 1, c.dilation) || !read_numbers(args[6], {kName, "pads"}, 6, 0, pads)) {
    return nullptr;
  }
  c.groups = PyNumber_AsSsize_t(args[7], PyExc_ValueError);
  if ((c.groups == -1 && PyErr_Occurred()) || !fill_sizes(x, filter, out, pads, &c)) return nullptr;
  if (!separate(&x, out, kX, &held[3]) || !separate(&filter, out, kFilter, &held[4])) return nullptr;
  if (args[2] != Py_None && !separate(&bias, out, kBias, &held[5])) return nullptr;
  c.kind = x.kind;
  c.out_kind = out.kind;
  c.x = x.data;
  c.filter = filter.data;
  c.bias = reinterpret_cast<const float*>(bias.data);
  c.out = out.data;
  bool done = false;
  {
    const Unlocked unlocked(out.count * std::max(c.depth(), std::int64_t{1}));
    done = hacl::convolve(c);
  }
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef convolve_methods[] = {
    method("convolve", convolve, "Grouped cross-correlation of five-dim images with filters, and a bias, into out."), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
