// The table of the level that includes this file; HACL_LEVEL is its name.
#pragma once

#include "kernels/conversions.hpp"
#include "kernels/convolve_loops.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fused.hpp"
#include "kernels/pooling_loops.hpp"
#include "kernels/reduce.hpp"
#include "kernels/reduce_few.hpp"
#include "kernels/reduce_short.hpp"
#include "kernels/remainder.hpp"
#include "kernels/rows.hpp"
#include "kernels/run_extremes.hpp"
#include "kernels/scan.hpp"
#include "kernels/scatter.hpp"
#include "kernels/table.hpp"

#define HACL_FLOATS(loop, ...) {loop<Half __VA_ARGS__>, loop<Bfloat16 __VA_ARGS__>, loop<float __VA_ARGS__>, loop<double __VA_ARGS__>}
#define HACL_NARROW(loop, ...) {loop<Half __VA_ARGS__>, loop<Bfloat16 __VA_ARGS__>, loop<float __VA_ARGS__>}
#define HACL_HALVES(loop, ...) {loop<Half __VA_ARGS__>, loop<Bfloat16 __VA_ARGS__>, nullptr}
#define HACL_BINARY(op) HACL_FLOATS(binary, , op, Same)
#define HACL_COMPARE(op) HACL_FLOATS(binary, , op, Truth)
#define HACL_SWAPPED(op) HACL_FLOATS(swapped, , op)
#define HACL_UNARY(op) HACL_FLOATS(unary, , op)
#define HACL_TO_FLOATS(from) convert<from, Half>, convert<from, Bfloat16>, convert<from, float>, convert<from, double>
#define HACL_FROM_FLOAT(from)                                                                                             \
  {HACL_TO_FLOATS(from), convert<from, Boolean>, convert<from, std::int8_t>, convert<from, std::uint8_t>,                 \
   convert<from, std::int16_t>, convert<from, std::uint16_t>, convert<from, std::int32_t>, convert<from, std::uint32_t>,  \
   convert<from, std::int64_t>, convert<from, std::uint64_t>}
#define HACL_TEST(test)                                                                                \
  {has_exponent<std::uint16_t, 0x7c00, test>, has_exponent<std::uint16_t, 0x7f80, test>,               \
   has_exponent<std::uint32_t, 0x7f800000, test>, has_exponent<std::uint64_t, 0x7ff0000000000000, test>}
#define HACL_JOIN_(a, b) a##b
#define HACL_JOIN(a, b) HACL_JOIN_(a, b)
#define HACL_TEXT_(a) #a
#define HACL_TEXT(a) HACL_TEXT_(a)

namespace hacl {

extern const Table HACL_JOIN(table_, HACL_LEVEL);
const Table HACL_JOIN(table_, HACL_LEVEL) = {
    HACL_TEXT(HACL_LEVEL),
    {HACL_BINARY(Add), HACL_BINARY(Subtract), HACL_BINARY(Multiply), HACL_BINARY(Divide), HACL_BINARY(Maximum), HACL_BINARY(Minimum),
     HACL_BINARY(DivideNoNan), HACL_BINARY(Xdivy), HACL_BINARY(FloorDivide), HACL_BINARY(MultiplyNoNan),
     HACL_BINARY(Remainder), HACL_BINARY(FloorRemainder)},
    {HACL_COMPARE(Equal), HACL_COMPARE(NotEqual), HACL_COMPARE(Less), HACL_COMPARE(LessEqual), HACL_SWAPPED(Less), HACL_SWAPPED(LessEqual)},
    {HACL_UNARY(Absolute), HACL_UNARY(Negative), HACL_UNARY(Relu), HACL_UNARY(Sqrt), HACL_UNARY(Reciprocal), HACL_UNARY(Square),
     {unary<Half, Exp>, unary<Bfloat16, Exp>, unary<float, Exp>, nullptr}, HACL_UNARY(Adds), HACL_UNARY(Muls),
     HACL_UNARY(Floor), HACL_UNARY(Ceil), HACL_UNARY(Trunc), HACL_UNARY(Rint), HACL_UNARY(Rsqrt)},
    {HACL_FLOATS(fused, , AddProduct), HACL_FLOATS(fused, , AddQuotient), HACL_FLOATS(fused, , Interpolate), HACL_FLOATS(clip, , Clip)},
    {HACL_FROM_FLOAT(Half), HACL_FROM_FLOAT(Bfloat16), HACL_FROM_FLOAT(float), HACL_FROM_FLOAT(double),
     {HACL_TO_FLOATS(Boolean)}, {HACL_TO_FLOATS(std::int8_t)}, {HACL_TO_FLOATS(std::uint8_t)}, {HACL_TO_FLOATS(std::int16_t)},
     {HACL_TO_FLOATS(std::uint16_t)}, {HACL_TO_FLOATS(std::int32_t)}, {HACL_TO_FLOATS(std::uint32_t)}, {HACL_TO_FLOATS(std::int64_t)},
     {HACL_TO_FLOATS(std::uint64_t)}},
    {select<std::uint8_t>, select<std::uint16_t>, select<std::uint32_t>, select<std::uint64_t>, select<unsigned __int128>},
    row_max, row_sum, row_sum_of_squares, row_deviations, row_exp_sum, HACL_NARROW(row_scale, ), row_subtract, row_normalise,
    {HACL_NARROW(column_sum, ), HACL_NARROW(column_product, ), HACL_NARROW(column_extreme, , Maximum),
     HACL_NARROW(column_extreme, , Minimum)},
    {HACL_NARROW(sum_of, ), HACL_NARROW(product_of, ), HACL_NARROW(extreme_of, , Maximum), HACL_NARROW(extreme_of, , Minimum)},
    {HACL_NARROW(centred_sum, , Square), {centred_sum<Half, ExpBelow>, centred_sum<Bfloat16, ExpBelow>, centred_sum<float, Exp>}},
    {HACL_HALVES(centred_steps, , Square), HACL_HALVES(centred_steps, , ExpBelow)},
    {HACL_NARROW(column_place, , LargerLater), HACL_NARROW(column_place, , SmallerLater)},
    {HACL_NARROW(place_of, , Maximum), HACL_NARROW(place_of, , Minimum)},
    {HACL_FLOATS(scan_columns, , Add), HACL_FLOATS(scan_columns, , Multiply)},
    {HACL_FLOATS(scan_row, , Add), HACL_FLOATS(scan_row, , Multiply)},
    {HACL_NARROW(few_sums, ), HACL_NARROW(few_products, ), HACL_NARROW(few_extremes, , Maximum), HACL_NARROW(few_extremes, , Minimum)},
    {HACL_NARROW(short_sums, ), HACL_HALVES(short_products, ), HACL_NARROW(short_extremes, , Maximum),
     HACL_NARROW(short_extremes, , Minimum)},
    {HACL_NARROW(run_row, , Smaller), HACL_NARROW(run_row, , Larger)},
    {HACL_NARROW(run_columns, , Smaller), HACL_NARROW(run_columns, , Larger)},
    {scan_short<Add>, scan_short<Multiply>},
    {HACL_TEST(kIsFinite), HACL_TEST(kIsInf), HACL_TEST(kIsNan)},
    {HACL_NARROW(scatter_rows, , Add), HACL_NARROW(scatter_rows, , Subtract), HACL_NARROW(scatter_rows, , Multiply),
     HACL_NARROW(scatter_rows, , Maximum), HACL_NARROW(scatter_rows, , Minimum)},
    {HACL_NARROW(group_rows, , Add), HACL_NARROW(group_rows, , Subtract), {nullptr, nullptr, nullptr},
     HACL_NARROW(group_rows, , Maximum), HACL_NARROW(group_rows, , Minimum)},
    {HACL_NARROW(scatter_alike, , Add), HACL_NARROW(scatter_alike, , Subtract), HACL_NARROW(scatter_alike, , Multiply),
     HACL_NARROW(scatter_alike, , Maximum), HACL_NARROW(scatter_alike, , Minimum)},
    {kBlockRows, kPanel, HACL_NARROW(conv_fill, ), conv_multiply, conv_few, conv_dot, HACL_NARROW(conv_finish, )},
    {{HACL_NARROW(line_largest, ), HACL_NARROW(line_sum, )}, {HACL_NARROW(rows_largest, ), HACL_NARROW(rows_mean, )}}};

}  // namespace hacl
