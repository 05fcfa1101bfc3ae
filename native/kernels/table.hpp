// The loops of one SIMD level, by operator and element type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/convolve_table.hpp"
#include "kernels/pooling_table.hpp"

namespace hacl {

enum Kind { kHalf, kBfloat16, kFloat, kDouble, kBool, kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64, kOther };
constexpr int kKinds = kOther;
constexpr int kFloatKinds = 4;
constexpr int kKindSize[kKinds] = {2, 2, 4, 8, 1, 1, 1, 2, 2, 4, 4, 8, 8};

enum BinaryOp { kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum, kDivideNoNan, kXdivy, kFloorDivide, kMultiplyNoNan,
                kRemainder, kFloorRemainder, kBinaryOps };
enum CompareOp { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kCompareOps };
enum ReduceOp { kSum, kProduct, kLargest, kSmallest, kReduceOps };
enum UnaryOp { kAbsolute, kNegative, kRelu, kSqrt, kReciprocal, kSquare, kExp, kAdds, kMuls, kFloor, kCeil, kTrunc, kRint, kRsqrt, kUnaryOps };
enum ScatterOp { kScatterAdd, kScatterSubtract, kScatterMultiply, kScatterMax, kScatterMin, kScatterOps };
enum FusedOp { kAddProduct, kAddQuotient, kInterpolate, kClip, kFusedOps };
enum TestOp { kFiniteTest, kInfTest, kNanTest, kTestOps };

constexpr std::size_t kColumnTile = 512;    // columns that are reduced or scanned together

// x1 and x2 advance by one element when their step is 1, stay when it is 0.
using BinaryLoop = void (*)(const void* x1, bool step1, const void* x2, bool step2, void* out, std::size_t n);
using UnaryLoop = void (*)(const void* x, void* out, std::size_t n, double value);
using FusedLoop = void (*)(const void* x1, bool step1, const void* x2, bool step2, const void* x3, bool step3, void* out, std::size_t n,
                           double value);
using ConvertLoop = void (*)(const void* x, void* out, std::size_t n, bool saturate);
using SelectLoop = void (*)(const void* condition, const void* x1, const void* x2, void* out, std::size_t n);

// `rows` rows (at least one for extremes and places) that lie `stride` elements apart, over up to kColumnTile columns.
using ColumnLoop = void (*)(const void* x, std::size_t rows, std::size_t stride, std::size_t columns, double* out);
using RowLoop = double (*)(const void* x, std::size_t n);
using CentredRow = double (*)(const void* x, float centre, std::size_t n);
using CentredSteps = void (*)(const void* x, const float* centre, bool each, float* out, std::size_t n);
using ColumnPlace = void (*)(const void* x, std::size_t rows, std::size_t stride, std::size_t columns, std::int32_t* place);
using RowPlace = std::int64_t (*)(const void* x, std::size_t n);
using ScanColumns = void (*)(const void* x, void* out, std::size_t rows, std::ptrdiff_t stride, std::size_t columns, bool exclusive);
// `rows` rows into elements of their own type, rounded once; false: some result needs care, all are to be worked out again.
using FewRows = bool (*)(const void* x, std::size_t rows, std::size_t stride, std::size_t columns, double divisor, void* out);
// `rows` rows of n elements each, likewise; false also where there is no way for rows of n.
using ShortRows = bool (*)(const void* x, std::size_t rows, std::size_t n, double divisor, void* out);
// The extreme so far and its place.
using RunRow = void (*)(const void* x, void* values, std::int64_t* places, std::size_t n);
using RunColumns = void (*)(const void* x, void* values, std::int64_t* places, std::size_t rows, std::size_t stride, std::size_t columns);
using ScanShort = void (*)(float* x, std::size_t n, bool reverse, bool exclusive);
using ScatterRows = void (*)(float* target, const std::int64_t* rows, const void* updates, std::size_t count, std::size_t width);

// Updates by the row of the target that they change, in their order: those of row r are order[ends[r - 1]] (0 for the first) up to
// order[ends[r]]. Of rows with more than `many` they are added in double.
struct Grouped {
  const void* target;
  const void* updates;
  const std::uint32_t* ends;
  const std::uint32_t* order;
  std::size_t width, many;
  void* out;  // may be the target
};
using GroupRows = void (*)(const Grouped& groups, std::size_t first, std::size_t last);

// Small targets of `length` elements each, one after the other, with `count` updates for each, all at the same places.
struct Alike {
  const void* target;
  const void* updates;
  const std::int64_t* places;
  std::size_t length, count;
  void* out;  // may be the target
};
constexpr std::size_t kAlikeLength = 512;  // a multiple of every vector's length
using ScatterAlike = void (*)(const Alike& targets, std::size_t first, std::size_t last);
using ScanRow = void (*)(const void* x, void* out, std::size_t n, bool reverse, bool exclusive);

struct Table {
  const char* name;
  BinaryLoop binary[kBinaryOps][kFloatKinds];
  BinaryLoop compare[kCompareOps][kFloatKinds];
  UnaryLoop unary[kUnaryOps][kFloatKinds];  // nullptr: not for this kind
  FusedLoop fused[kFusedOps][kFloatKinds];
  ConvertLoop convert[kKinds][kKinds];      // nullptr: integer to integer
  SelectLoop select[5];                     // by log2 of the element size

  // One row of float32. Sums keep 64 lanes over blocks of 1,024 elements whatever the level, and add the blocks in double.
  float (*row_max)(const float* x, std::size_t n);
  double (*row_sum)(const float* x, std::size_t n);
  double (*row_sum_of_squares)(const float* x, float centre, std::size_t n);
  void (*row_deviations)(const float* x, float centre, std::size_t n, double* sum, double* squares);  // of x - centre
  double (*row_exp_sum)(const float* x, float max, float* y, std::size_t n);  // y = exp(x - max), or nullptr; x may be y
  void (*row_scale[kNarrowKinds])(const float* x, float factor, void* out, std::size_t n);  // x * factor, rounded once; out may be x
  void (*row_subtract)(const float* x, float first, float second, float* y, std::size_t n);  // y = (x - first) - second
  // y = ((x - centre) - rest) * factor * gamma + beta, without gamma or beta where they are nullptr; x may be y
  void (*row_normalise)(const float* x, float centre, float rest, float factor, const float* gamma, const float* beta, float* y, std::size_t n);

  ColumnLoop reduce_columns[kReduceOps][kNarrowKinds];
  RowLoop reduce_row[kReduceOps][kNarrowKinds];
  CentredRow centred_row[2][kNarrowKinds];     // squares, exponentials
  CentredSteps centred_steps[2][kNarrowKinds];  // nullptr: not for this kind
  ColumnPlace place_columns[2][kNarrowKinds];  // of the largest, of the smallest
  RowPlace place_row[2][kNarrowKinds];
  ScanColumns scan_columns[2][kFloatKinds];    // sums, products; they may run in place
  ScanRow scan_row[2][kFloatKinds];
  FewRows few_rows[kReduceOps][kNarrowKinds];
  ShortRows short_rows[kReduceOps][kNarrowKinds];  // nullptr: not for this kind
  RunRow run_row[2][kNarrowKinds];             // to the largest, to the smallest
  RunColumns run_columns[2][kNarrowKinds];
  ScanShort scan_short[2];                     // sums, products, in place
  UnaryLoop test[kTestOps][kFloatKinds];       // gives bytes of truth
  ScatterRows scatter_rows[kScatterOps][kNarrowKinds];
  GroupRows group_rows[kScatterOps][kNarrowKinds];  // nullptr: products
  ScatterAlike scatter_alike[kScatterOps][kNarrowKinds];
  ConvolveLoops convolve;
  PoolingLoops pooling;
};

const Table& table();                            // the level in use
const Table* const* levels();                    // those this machine can run, slowest first, then nullptr
bool use_level(const char* name);                // false: not one of them

}  // namespace hacl
