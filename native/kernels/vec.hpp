// Vectors of one SIMD level and how each element type is loaded into them and rounded out of them.
// Included by the level_*.cpp files only; all names are local to the file, so that no code of one level is shared with another.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#if defined(HACL_AVX2) || defined(HACL_AVX512)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12's own header: _mm512_undefined_ps
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#elif defined(HACL_NEON)
#include <arm_neon.h>
#endif

#define HACL_INLINE inline __attribute__((always_inline))
#define HACL_LAMBDA __attribute__((always_inline))
#if defined(__clang__)
#define HACL_INDEPENDENT
#else
#define HACL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace {

#if defined(HACL_AVX512)
constexpr std::size_t W = 16;
#elif defined(HACL_AVX2)
constexpr std::size_t W = 8;
#else
constexpr std::size_t W = 4;
#endif

typedef float F __attribute__((vector_size(W * 4)));
typedef std::int32_t I __attribute__((vector_size(W * 4)));
typedef std::uint32_t U __attribute__((vector_size(W * 4)));
typedef std::uint16_t H __attribute__((vector_size(W * 2)));
typedef std::uint8_t B __attribute__((vector_size(W)));
typedef double D __attribute__((vector_size(W * 4)));
typedef std::int64_t L __attribute__((vector_size(W * 4)));
typedef std::uint8_t BD __attribute__((vector_size(W / 2)));

struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

template <class V>
HACL_INLINE V load_bytes(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class V>
HACL_INLINE void store_bytes(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

HACL_INLINE F splat(float x) { return F{} + x; }

// x in every lane, -0 too, and a * b + c, rounded once at every level but scalar.
#if defined(HACL_AVX512)
HACL_INLINE F repeated(float x) { return (F)_mm512_set1_ps(x); }
HACL_INLINE F multiply_add(F a, F b, F c) { return (F)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
#elif defined(HACL_AVX2)
HACL_INLINE F repeated(float x) { return (F)_mm256_set1_ps(x); }
HACL_INLINE F multiply_add(F a, F b, F c) { return (F)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
#elif defined(HACL_NEON)
HACL_INLINE F repeated(float x) { return (F)vdupq_n_f32(x); }
HACL_INLINE F multiply_add(F a, F b, F c) { return (F)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
#else
HACL_INLINE F repeated(float x) { return F{x, x, x, x}; }
HACL_INLINE F multiply_add(F a, F b, F c) { return a * b + c; }
#endif
HACL_INLINE F as_float(U u) { return (F)u; }
HACL_INLINE U as_bits(F f) { return (U)f; }

// b > a ? b : a, of which compilers make two instructions.
#if defined(HACL_AVX512)
HACL_INLINE F larger(F a, F b) { return (F)_mm512_max_ps((__m512)b, (__m512)a); }
#elif defined(HACL_AVX2)
HACL_INLINE F larger(F a, F b) { return (F)_mm256_max_ps((__m256)b, (__m256)a); }
#else
HACL_INLINE F larger(F a, F b) { return b > a ? b : a; }
#endif

// ---- half: hardware where there is some, else bits; the subnormal halves go through an integer, never a subnormal float.
#if defined(HACL_AVX512)
HACL_INLINE F load_half(const void* p) { return (F)_mm512_cvtph_ps(load_bytes<__m256i>(p)); }
HACL_INLINE void store_half(void* p, F v) {
  store_bytes(p, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#elif defined(HACL_AVX2)
HACL_INLINE F load_half(const void* p) { return (F)_mm256_cvtph_ps(load_bytes<__m128i>(p)); }
HACL_INLINE void store_half(void* p, F v) {
  store_bytes(p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#elif defined(HACL_NEON)
HACL_INLINE F load_half(const void* p) { return (F)vcvt_f32_f16(load_bytes<float16x4_t>(p)); }
HACL_INLINE void store_half(void* p, F v) { store_bytes(p, vcvt_f16_f32((float32x4_t)v)); }
#else
HACL_INLINE F load_half(const void* p) {
  U h = __builtin_convertvector(load_bytes<H>(p), U);
  U magnitude = h & 0x7fffu;
  U normal = (magnitude << 13) + 0x38000000u;
  U special = (magnitude << 13) | 0x7f800000u | ((U)(magnitude > 0x7c00u) & 0x00400000u);
  U tiny = as_bits(__builtin_convertvector((I)magnitude, F) * 0x1p-24f);
  U bits = (U)(magnitude < 0x400u) ? tiny : ((U)(magnitude >= 0x7c00u) ? special : normal);
  return as_float(bits | ((h & 0x8000u) << 16));
}
HACL_INLINE void store_half(void* p, F v) {
  U u = as_bits(v) & 0x7fffffffu;
  U normal = (u - 0x38000000u + 0xfffu + ((u >> 13) & 1u)) >> 13;
  U tiny = as_bits(as_float(u) + 0.5f) - 0x3f000000u;  // the sum's last place is 2^-24, the smallest half
  U nan = 0x7e00u | ((u >> 13) & 0x3ffu);
  U bits = (U)(u < 0x38800000u) ? tiny : ((U)(u >= 0x47800000u) ? U{} + 0x7c00u : normal);
  bits = (U)(u > 0x7f800000u) ? nan : bits;
  store_bytes(p, __builtin_convertvector(bits | ((as_bits(v) >> 16) & 0x8000u), H));
}
#endif

// ---- the steps between 16 and 32 bits, and from a mask to bytes, that compilers make too long of the generic form
#if defined(HACL_AVX512)
HACL_INLINE U widen_words(const void* p) { return (U)_mm512_cvtepu16_epi32(load_bytes<__m256i>(p)); }
HACL_INLINE void store_words(void* p, U v) { store_bytes(p, _mm512_cvtepi32_epi16((__m512i)v)); }
HACL_INLINE void store_truth(void* p, I mask) { store_bytes(p, __builtin_convertvector(mask & 1, B)); }
#elif defined(HACL_AVX2)
HACL_INLINE U widen_words(const void* p) { return (U)_mm256_cvtepu16_epi32(load_bytes<__m128i>(p)); }
HACL_INLINE void store_words(void* p, U v) {  // all below 2^16: packing does not saturate
  const __m256i packed = _mm256_packus_epi32((__m256i)v, (__m256i)v);
  store_bytes(p, _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
}
HACL_INLINE void store_truth(void* p, I mask) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)mask), _mm256_extracti128_si256((__m256i)mask, 1));
  const __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
  _mm_storel_epi64(static_cast<__m128i*>(p), bytes);
}
#else
HACL_INLINE U widen_words(const void* p) { return __builtin_convertvector(load_bytes<H>(p), U); }
HACL_INLINE void store_words(void* p, U v) { store_bytes(p, __builtin_convertvector(v, H)); }
HACL_INLINE void store_truth(void* p, I mask) { store_bytes(p, __builtin_convertvector(mask & 1, B)); }
#endif
HACL_INLINE void store_truth(void* p, L mask) { store_bytes(p, __builtin_convertvector(mask & 1, BD)); }

HACL_INLINE F load_bfloat16(const void* p) { return as_float(widen_words(p) << 16); }
HACL_INLINE void store_bfloat16(void* p, F v) {
  const U u = as_bits(v);
  const U rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  store_words(p, v != v ? (u >> 16) | 0x40u : rounded);
}

// ---- one interface for the element types a vector of floats can hold
template <class T>
struct Lanes;

template <>
struct Lanes<Half> {
  using V = F;
  static constexpr std::size_t n = W;
  static constexpr float largest = 65504.0f;
  static HACL_INLINE F load(const Half* p) { return load_half(p); }
  static HACL_INLINE void store(Half* p, F v) { store_half(p, v); }
};

template <>
struct Lanes<Bfloat16> {
  using V = F;
  static constexpr std::size_t n = W;
  static constexpr float largest = 0x1.fep127f;
  static HACL_INLINE F load(const Bfloat16* p) { return load_bfloat16(p); }
  static HACL_INLINE void store(Bfloat16* p, F v) { store_bfloat16(p, v); }
};

template <>
struct Lanes<float> {
  using V = F;
  static constexpr std::size_t n = W;
  static constexpr float largest = 0x1.fffffep127f;
  static HACL_INLINE F load(const float* p) { return load_bytes<F>(p); }
  static HACL_INLINE void store(float* p, F v) { store_bytes(p, v); }
};

template <>
struct Lanes<double> {
  using V = D;
  static constexpr std::size_t n = W / 2;
  static HACL_INLINE D load(const double* p) { return load_bytes<D>(p); }
  static HACL_INLINE void store(double* p, D v) { store_bytes(p, v); }
};

#if defined(HACL_AVX2)
HACL_INLINE __m256i first_lanes_mask(std::size_t k) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(k)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

// The first k < 4, and k < 8, elements of two bytes in the low bits, without a call of memcpy: two reads that meet or overlap.
HACL_INLINE std::uint64_t load_few_words(const void* p, std::size_t k) {
  auto at = static_cast<const char*>(p);
  if (k == 1) return load_bytes<std::uint16_t>(at);
  if (k == 0) return 0;
  const std::uint64_t low = load_bytes<std::uint32_t>(at), last = load_bytes<std::uint32_t>(at + 2 * k - 4);
  return low | last >> (16 * (4 - k)) << 32;
}
HACL_INLINE void store_few_words(void* p, std::size_t k, std::uint64_t words) {
  auto at = static_cast<char*>(p);
  if (k == 1) store_bytes(at, static_cast<std::uint16_t>(words));
  if (k < 2) return;
  store_bytes(at, static_cast<std::uint32_t>(words));
  store_bytes(at + 2 * k - 4, static_cast<std::uint32_t>(words >> (16 * (k - 2))));
}
template <std::size_t n>
HACL_INLINE void load_words(std::uint64_t (&words)[n], const void* p, std::size_t k) {
  auto at = static_cast<const char*>(p);
  if constexpr (n == 1) {
    words[0] = load_few_words(at, k);
  } else if (k < 4) {
    words[0] = load_few_words(at, k);
    words[1] = 0;
  } else {
    words[0] = load_bytes<std::uint64_t>(at);
    words[1] = k == 4 ? 0 : load_bytes<std::uint64_t>(at + 2 * k - 8) >> (16 * (8 - k));
  }
}
template <std::size_t n>
HACL_INLINE void store_some_words(void* p, std::size_t k, const std::uint64_t (&words)[n]) {
  auto at = static_cast<char*>(p);
  if (n == 1 || k < 4) return store_few_words(at, k, words[0]);
  store_bytes(at, words[0]);
  store_few_words(at + 8, k - 4, words[n - 1]);
}

// The first k < n elements; the other lanes hold zeros.
template <class T>
HACL_INLINE typename Lanes<T>::V load_some(const T* p, std::size_t k) {
#if defined(HACL_AVX512)
  if constexpr (sizeof(T) == 4) return (F)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << k) - 1), p);
  if constexpr (sizeof(T) == 2) {
    const __m256i bits = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << k) - 1), p);
    return Lanes<T>::load(reinterpret_cast<const T*>(&bits));
  }
#elif defined(HACL_AVX2)
  if constexpr (sizeof(T) == 4) return (F)_mm256_maskload_ps(p, first_lanes_mask(k));
#endif
#if !defined(HACL_AVX512)
  if constexpr (sizeof(T) == 2) {
    std::uint64_t words[W / 4];
    load_words(words, p, k);
#if defined(HACL_AVX2)
    const __m128i bits = _mm_set_epi64x(static_cast<std::int64_t>(words[1]), static_cast<std::int64_t>(words[0]));  // in registers
    return Lanes<T>::load(reinterpret_cast<const T*>(&bits));
#else
    return Lanes<T>::load(reinterpret_cast<const T*>(words));
#endif
  }
#endif
  T part[Lanes<T>::n] = {};
  __builtin_memcpy(part, p, k * sizeof(T));
  return Lanes<T>::load(part);
}

template <class T>
HACL_INLINE void store_some(T* p, std::size_t k, typename Lanes<T>::V v) {
  T part[Lanes<T>::n];
#if defined(HACL_AVX512)
  if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << k) - 1), (__m512)v);
  if constexpr (sizeof(T) == 2) {
    Lanes<T>::store(part, v);
    return _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << k) - 1), load_bytes<__m256i>(part));
  }
#elif defined(HACL_AVX2)
  if constexpr (sizeof(T) == 4) return _mm256_maskstore_ps(p, first_lanes_mask(k), (__m256)v);
#endif
#if !defined(HACL_AVX512)
  if constexpr (sizeof(T) == 2) {
#if defined(HACL_AVX2)
    __m128i bits;
    Lanes<T>::store(reinterpret_cast<T*>(&bits), v);
    const std::uint64_t words[] = {static_cast<std::uint64_t>(_mm_cvtsi128_si64(bits)), static_cast<std::uint64_t>(_mm_extract_epi64(bits, 1))};
#else
    std::uint64_t words[W / 4];
    Lanes<T>::store(reinterpret_cast<T*>(words), v);
#endif
    return store_some_words(p, k, words);
  }
#endif
  Lanes<T>::store(part, v);
  __builtin_memcpy(p, part, k * sizeof(T));
}

// The bits of k <= W elements of a half type, widened; the other lanes hold zeros.
template <class T>
HACL_INLINE U load_half_bits(const T* p, std::size_t k) {
  if (k == W) return widen_words(p);
#if defined(HACL_AVX512)
  return (U)_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << k) - 1), p));
#else
  std::uint64_t words[W / 4];
  load_words(words, p, k);
  return widen_words(words);
#endif
}
template <class T>
HACL_INLINE void store_half_bits(T* p, std::size_t k, U bits) {
  if (k == W) return store_words(p, bits);
#if defined(HACL_AVX512)
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << k) - 1), _mm512_cvtepi32_epi16((__m512i)bits));
#else
  std::uint64_t words[W / 4];
  store_words(words, bits);
  store_some_words(p, k, words);
#endif
}

// Between half a vector of floats and a vector of doubles; compilers make several steps of the generic form.
typedef float FH __attribute__((vector_size(W * 2)));
#if defined(HACL_AVX512)
HACL_INLINE D to_doubles(FH v) { return (D)_mm512_cvtps_pd((__m256)v); }
HACL_INLINE FH to_floats(D v) { return (FH)_mm512_cvtpd_ps((__m512d)v); }
HACL_INLINE D low_doubles(F v) { return to_doubles((FH)_mm512_castps512_ps256((__m512)v)); }
HACL_INLINE D high_doubles(F v) { return to_doubles((FH)_mm512_extractf32x8_ps((__m512)v, 1)); }
#elif defined(HACL_AVX2)
HACL_INLINE D to_doubles(FH v) { return (D)_mm256_cvtps_pd((__m128)v); }
HACL_INLINE FH to_floats(D v) { return (FH)_mm256_cvtpd_ps((__m256d)v); }
HACL_INLINE D low_doubles(F v) { return to_doubles((FH)_mm256_castps256_ps128((__m256)v)); }
HACL_INLINE D high_doubles(F v) { return to_doubles((FH)_mm256_extractf128_ps((__m256)v, 1)); }
#else
HACL_INLINE D to_doubles(FH v) { return __builtin_convertvector(v, D); }
HACL_INLINE FH to_floats(D v) { return __builtin_convertvector(v, FH); }
HACL_INLINE D low_doubles(F v) {
  FH part;
  __builtin_memcpy(&part, &v, sizeof part);
  return to_doubles(part);
}
HACL_INLINE D high_doubles(F v) {
  FH part;
  __builtin_memcpy(&part, reinterpret_cast<const char*>(&v) + sizeof part, sizeof part);
  return to_doubles(part);
}
#endif

// Each half of a vector of integers, widened.
typedef std::int32_t IH __attribute__((vector_size(W * 2)));
#if defined(HACL_AVX512)
HACL_INLINE L to_longs(IH v) { return (L)_mm512_cvtepi32_epi64((__m256i)v); }
HACL_INLINE L low_longs(I v) { return to_longs((IH)_mm512_castsi512_si256((__m512i)v)); }
HACL_INLINE L high_longs(I v) { return to_longs((IH)_mm512_extracti32x8_epi32((__m512i)v, 1)); }
#elif defined(HACL_AVX2)
HACL_INLINE L to_longs(IH v) { return (L)_mm256_cvtepi32_epi64((__m128i)v); }
HACL_INLINE L low_longs(I v) { return to_longs((IH)_mm256_castsi256_si128((__m256i)v)); }
HACL_INLINE L high_longs(I v) { return to_longs((IH)_mm256_extracti128_si256((__m256i)v, 1)); }
#else
HACL_INLINE L to_longs(IH v) { return __builtin_convertvector(v, L); }
HACL_INLINE L low_longs(I v) { return to_longs(load_bytes<IH>(&v)); }
HACL_INLINE L high_longs(I v) { return to_longs(load_bytes<IH>(reinterpret_cast<const char*>(&v) + sizeof(IH))); }
#endif

// The one element at p in every lane.
template <class T>
HACL_INLINE typename Lanes<T>::V load_all(const T* p) {
  T part[Lanes<T>::n];
  for (std::size_t i = 0; i < Lanes<T>::n; ++i) __builtin_memcpy(&part[i], p, sizeof(T));
  return Lanes<T>::load(part);
}

#if defined(HACL_AVX512)
HACL_INLINE F square_root(F x) { return (F)_mm512_sqrt_ps((__m512)x); }
HACL_INLINE D square_root(D x) { return (D)_mm512_sqrt_pd((__m512d)x); }
#elif defined(HACL_AVX2)
HACL_INLINE F square_root(F x) { return (F)_mm256_sqrt_ps((__m256)x); }
HACL_INLINE D square_root(D x) { return (D)_mm256_sqrt_pd((__m256d)x); }
#elif defined(HACL_NEON)
HACL_INLINE F square_root(F x) { return (F)vsqrtq_f32((float32x4_t)x); }
HACL_INLINE D square_root(D x) { return (D)vsqrtq_f64((float64x2_t)x); }
#else
template <class V>
HACL_INLINE V square_root(V x) {
  for (std::size_t i = 0; i < sizeof x / sizeof x[0]; ++i) {
    if constexpr (sizeof x[0] == 4) x[i] = __builtin_sqrtf(x[i]);
    else x[i] = __builtin_sqrt(x[i]);
  }
  return x;
}
#endif

// Whole numbers: downward, upward, toward zero, to the nearest even.
enum Rounding { kDown, kUp, kToZero, kNearest };
#if defined(HACL_AVX512) || defined(HACL_AVX2)
template <Rounding way>
constexpr int rounding_mode() {
  constexpr int modes[] = {_MM_FROUND_TO_NEG_INF, _MM_FROUND_TO_POS_INF, _MM_FROUND_TO_ZERO, _MM_FROUND_TO_NEAREST_INT};
  return modes[way] | _MM_FROUND_NO_EXC;
}
#endif
#if defined(HACL_AVX512)
template <Rounding way>
HACL_INLINE F whole(F x) { return (F)_mm512_roundscale_ps((__m512)x, rounding_mode<way>()); }
template <Rounding way>
HACL_INLINE D whole(D x) { return (D)_mm512_roundscale_pd((__m512d)x, rounding_mode<way>()); }
#elif defined(HACL_AVX2)
template <Rounding way>
HACL_INLINE F whole(F x) { return (F)_mm256_round_ps((__m256)x, rounding_mode<way>()); }
template <Rounding way>
HACL_INLINE D whole(D x) { return (D)_mm256_round_pd((__m256d)x, rounding_mode<way>()); }
#else
template <Rounding way, class V>
HACL_INLINE V whole(V x) {
  for (std::size_t i = 0; i < sizeof x / sizeof x[0]; ++i) {
    if constexpr (way == kDown) x[i] = std::floor(x[i]);
    else if constexpr (way == kUp) x[i] = std::ceil(x[i]);
    else if constexpr (way == kToZero) x[i] = std::trunc(x[i]);
    else x[i] = std::nearbyint(x[i]);
  }
  return x;
}
#endif

}  // namespace
