#include "module/kernels_array.hpp"

#include <cstring>
#include <utility>

namespace hacl::module {
namespace {

struct ArrayHead {
  PyObject_HEAD
  char* data;
  int nd;
  std::int64_t* dimensions;
  std::int64_t* strides;
  PyObject* base;
  PyObject* descr;
  int flags;
};

struct DescrHead {
  PyObject_HEAD
  PyTypeObject* typeobj;
  char kind;
  char type;
  char byteorder;
  char flags;
  int type_num;
  union {
    int elsize_1;  // NumPy 1.x
    struct {
      std::uint64_t flags_2;  // NumPy 2.x
      std::int64_t elsize_2;
    };
  };
};

constexpr int kDense = 0x0001;
constexpr int kWriteable = 0x0400;
constexpr int kHalfNumber = 23;
constexpr Kind kKindOf[] = {kBool, kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64, kInt64, kUint64, kFloat, kDouble};

PyTypeObject* array_type = nullptr;
int bfloat16_number = -1;
bool numpy_2 = false;

const ArrayHead* head(PyObject* o) { return reinterpret_cast<const ArrayHead*>(o); }
const DescrHead* descr(PyObject* o) { return reinterpret_cast<const DescrHead*>(head(o)->descr); }

Kind kind_of(const DescrHead* d) {
  if (d->byteorder == '>') return kOther;
  if (d->type_num == kHalfNumber) return kHalf;
  if (d->type_num == bfloat16_number) return kBfloat16;
  return d->type_num >= 0 && d->type_num <= 12 ? kKindOf[d->type_num] : kOther;
}

int element_size(const DescrHead* d) { return numpy_2 ? static_cast<int>(d->elsize_2) : d->elsize_1; }

// Whether the struct says of a 2 x 3 array of this dtype what its attributes say.
bool struct_agrees(PyObject* numpy, PyObject* dtype, std::int64_t size) {
  Owned array(PyObject_CallMethod(numpy, "zeros", "((ii)O)", 2, 3, dtype));
  if (array.get() == nullptr || Py_TYPE(array.get()) != array_type) return false;
  const ArrayHead* a = head(array.get());
  if (a->nd != 2 || a->dimensions[0] != 2 || a->dimensions[1] != 3 || a->strides[0] != 3 * size || a->strides[1] != size) return false;
  if ((a->flags & (kDense | kWriteable)) != (kDense | kWriteable) || a->base != nullptr) return false;
  Owned real_dtype(PyObject_GetAttrString(array.get(), "dtype"));
  if (real_dtype.get() != a->descr) return false;
  Owned number(PyObject_GetAttrString(real_dtype.get(), "num"));
  if (number.get() == nullptr || PyLong_AsLong(number.get()) != descr(array.get())->type_num) return false;
  Owned interface(PyObject_GetAttrString(array.get(), "ctypes"));
  if (interface.get() == nullptr) return false;
  Owned address(PyObject_GetAttrString(interface.get(), "data"));
  return address.get() != nullptr && PyLong_AsVoidPtr(address.get()) == a->data && element_size(descr(array.get())) == size;
}

bool all_agree(PyObject* numpy, PyObject* bfloat16) {
  Owned version(PyObject_GetAttrString(numpy, "__version__"));
  if (version.get() == nullptr) return false;
  numpy_2 = PyUnicode_ReadChar(version.get(), 0) != '1' || PyUnicode_ReadChar(version.get(), 1) != '.';
  constexpr std::pair<const char*, int> samples[] = {{"int8", 1}, {"float16", 2}, {"float32", 4}, {"float64", 8}, {"complex128", 16}};
  for (const auto& [name, size] : samples) {
    Owned dtype(PyUnicode_FromString(name));
    if (dtype.get() == nullptr || !struct_agrees(numpy, dtype.get(), size)) return false;
  }
  return struct_agrees(numpy, bfloat16, 2);
}

PyObject* dtype_text(const View& x) {
  Owned dtype(PyObject_GetAttrString(x.object, "dtype"));
  return dtype.get() == nullptr ? nullptr : PyObject_Str(dtype.get());
}

std::pair<const char*, const char*> extent(const View& v) {
  if (v.dense) return {v.data, v.data + v.count * v.size};
  const char* low = v.data;
  const char* high = v.data + v.size;
  for (int d = 0; d < v.nd; ++d) {
    const std::int64_t reach = v.strides[d] * (v.shape[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

bool in_place(const View& x, const View& out) {
  if (x.data != out.data || x.size != out.size || x.count != out.count) return false;
  if (x.dense && out.dense) return true;
  return same_shape(x, out) && std::memcmp(x.strides, out.strides, sizeof(std::int64_t) * static_cast<std::size_t>(x.nd)) == 0;
}

}  // namespace

bool find_numpy() {
  Owned numpy(PyImport_ImportModule("numpy"));
  if (numpy.get() == nullptr) return false;
  Owned ml_dtypes(PyImport_ImportModule("ml_dtypes"));
  if (ml_dtypes.get() == nullptr) return false;
  Owned array(PyObject_GetAttrString(numpy.get(), "ndarray"));
  Owned scalar(PyObject_GetAttrString(ml_dtypes.get(), "bfloat16"));
  if (array.get() == nullptr || scalar.get() == nullptr) return false;
  Owned bfloat16(PyObject_CallMethod(numpy.get(), "dtype", "O", scalar.get()));
  if (bfloat16.get() == nullptr) return false;
  Owned number(PyObject_GetAttrString(bfloat16.get(), "num"));
  if (number.get() == nullptr) return false;
  bfloat16_number = static_cast<int>(PyLong_AsLong(number.get()));
  array_type = reinterpret_cast<PyTypeObject*>(array.get());
  Py_INCREF(array_type);
  if (all_agree(numpy.get(), bfloat16.get())) return true;
  if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_ImportError,
                    "hostacl._kernels: this NumPy lays out its arrays otherwise than NumPy 1.26 to 2.x; install one of those");
  }
  return false;
}

bool view(PyObject* object, Argument argument, View* out) {
  if (Py_TYPE(object) != array_type && !PyType_IsSubtype(Py_TYPE(object), array_type)) {
    PyErr_Format(PyExc_TypeError, "%s(): %s is a %.200s; allowed: a numpy.ndarray", argument.function, argument.name,
                 Py_TYPE(object)->tp_name);
    return false;
  }
  const ArrayHead* a = head(object);
  const DescrHead* d = descr(object);
  out->object = object;
  out->data = a->data;
  out->nd = a->nd;
  out->shape = a->dimensions;
  out->strides = a->strides;
  std::int64_t count = 1;
  for (int i = 0; i < a->nd; ++i) count *= a->dimensions[i];
  out->count = count;
  out->kind = kind_of(d);
  out->size = element_size(d);
  out->dense = (a->flags & kDense) != 0;
  out->writeable = (a->flags & kWriteable) != 0;
  return true;
}

bool view_output(PyObject* object, Argument argument, View* out) {
  if (!view(object, argument, out)) return false;
  if (out->writeable) return true;
  PyErr_Format(PyExc_ValueError, "%s(): %s is read-only; allowed: a writeable array", argument.function, argument.name);
  return false;
}

bool expect_arguments(const char* function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most) {
  if (given >= least && given <= most) return true;
  PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd positional arguments, %zd were given", function, least, most, given);
  return false;
}

bool refuse_dtype(const View& x, Argument argument, const char* allowed) {
  Owned text(dtype_text(x));
  if (text.get() != nullptr) {
    PyErr_Format(PyExc_TypeError, "%s(): %s has dtype %U; allowed: %s", argument.function, argument.name, text.get(), allowed);
  }
  return false;
}

bool refuse_shape(const View& x, Argument argument, const char* allowed) {
  Owned shape(PyObject_GetAttrString(x.object, "shape"));
  if (shape.get() != nullptr) {
    PyErr_Format(PyExc_ValueError, "%s(): %s has shape %S; allowed: %s", argument.function, argument.name, shape.get(), allowed);
  }
  return false;
}

bool replace_by_copy(View* x, Argument argument, Owned* holder) {
  PyObject* copied = PyObject_CallMethod(x->object, "copy", nullptr);
  if (copied == nullptr) return false;
  holder->set(copied);
  return view(copied, argument, x);
}

bool overlaps(const View& x, const View& out) {
  if (x.count == 0 || out.count == 0) return false;
  const auto [low, high] = extent(x);
  const auto [out_low, out_high] = extent(out);
  return low < out_high && out_low < high && !in_place(x, out);
}

}  // namespace hacl::module
