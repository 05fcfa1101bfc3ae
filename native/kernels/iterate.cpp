#include "kernels/iterate.hpp"

#include <cstring>

namespace hacl {
namespace {

template <int size>
void copy_elements(char* out, std::int64_t out_stride, const char* x, std::int64_t x_stride, std::int64_t n) {
  std::int64_t i = 0;
  if (size == 2 && out_stride == 2) {  // four at once: what follows reads more than two bytes, and would wait for each
    for (std::uint16_t four[4]; i + 4 <= n; i += 4) {
      for (std::int64_t k = 0; k < 4; ++k) std::memcpy(&four[k], x + (i + k) * x_stride, 2);
      const std::uint64_t word = four[0] | std::uint64_t{four[1]} << 16 | std::uint64_t{four[2]} << 32 | std::uint64_t{four[3]} << 48;
      std::memcpy(out + i * 2, &word, sizeof word);
    }
  }
  for (; i < n; ++i) std::memcpy(out + i * out_stride, x + i * x_stride, size);
}

void copy_strided(char* out, std::int64_t out_stride, const char* x, std::int64_t x_stride, int size, std::int64_t n) {
  switch (size) {
    case 1: return copy_elements<1>(out, out_stride, x, x_stride, n);
    case 2: return copy_elements<2>(out, out_stride, x, x_stride, n);
    case 4: return copy_elements<4>(out, out_stride, x, x_stride, n);
    case 8: return copy_elements<8>(out, out_stride, x, x_stride, n);
    default: return copy_elements<16>(out, out_stride, x, x_stride, n);
  }
}

}  // namespace

void gather(char* out, const char* x, std::int64_t stride, int size, std::int64_t n) { copy_strided(out, size, x, stride, size, n); }
void scatter(char* out, std::int64_t stride, const char* x, int size, std::int64_t n) { copy_strided(out, stride, x, size, size, n); }

bool Nest::set(const Operand* operands, int n) {
  const Operand& out = operands[n - 1];
  count = n;
  nd = out.nd;
  elements = 1;
  for (int d = 0; d < nd; ++d) elements *= shape[d] = out.shape[d];
  for (int k = 0; k < n; ++k) {
    const Operand& x = operands[k];
    if (x.nd > nd) return false;
    data[k] = x.data;
    size[k] = x.size;
    const int missing = nd - x.nd;
    for (int d = 0; d < missing; ++d) stride[k][d] = 0;
    for (int d = 0; d < x.nd; ++d) {
      const bool repeated = x.shape[d] == 1;
      if (!repeated && x.shape[d] != shape[missing + d]) return false;
      stride[k][missing + d] = repeated ? 0 : x.strides[d];
    }
  }
  merge();
  return true;
}

void Nest::merge() {
  int kept = 0;
  for (int d = 0; d < nd; ++d) {
    if (shape[d] == 1) continue;
    bool joins = kept > 0;
    for (int k = 0; k < count && joins; ++k) joins = stride[k][kept - 1] == stride[k][d] * shape[d];
    if (!joins) ++kept;
    shape[kept - 1] = joins ? shape[kept - 1] * shape[d] : shape[d];
    for (int k = 0; k < count; ++k) stride[k][kept - 1] = stride[k][d];
  }
  if (kept == 0) {  // one element
    shape[0] = 1;
    for (int k = 0; k < count; ++k) stride[k][0] = size[k];
    kept = 1;
  }
  nd = kept;
}

void Nest::locate(std::int64_t row, char** at) const {
  for (int k = 0; k < count; ++k) at[k] = data[k];
  for (int d = nd - 2; d >= 0; --d) {
    const std::int64_t index = row % shape[d];
    row /= shape[d];
    for (int k = 0; k < count; ++k) at[k] += index * stride[k][d];
  }
}

}  // namespace hacl
