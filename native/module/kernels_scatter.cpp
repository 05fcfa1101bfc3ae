// Updates combined, one after the other, with the rows or elements of a target that integers name.
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "module/kernels_groups.hpp"

namespace hacl::module {
namespace {

constexpr int kScatterAssign = kScatterOps;
constexpr const char* kNames[] = {"scatter_add", "scatter_subtract", "scatter_multiply", "scatter_max", "scatter_min", "scatter_assign"};
constexpr const char* kElementNames[] = {"elements_add", "elements_subtract", "elements_multiply", "elements_max", "elements_min",
                                         "elements_assign"};
constexpr const char* kNumbers = "float32, float64, an integer type, but for products float16, bfloat16";
constexpr std::int64_t kPlaces = 1024;  // worked out at once
constexpr std::int64_t kCrowdedWidth = 8;   // elements of a row from which on crowded rows are added apart
constexpr std::int64_t kAlike = 8;          // targets from which on small ones are changed side by side
constexpr std::int64_t kGroupedWidth = 32;  // and from which on halves are grouped by their rows, crowded or not

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
void combine_rows(char* target, const std::int64_t* rows, const void* updates, std::size_t count, std::size_t width) {
  auto to = reinterpret_cast<T*>(target);
  auto from = static_cast<const T*>(updates);
  for (std::size_t i = 0; i < count; ++i, from += width) {
    T* row = to + static_cast<std::size_t>(rows[i]) * width;
    for (std::size_t j = 0; j < width; ++j) row[j] = combined<op>(row[j], from[j]);
  }
}

using Rows = void (*)(char* target, const std::int64_t* rows, const void* updates, std::size_t count, std::size_t width);

template <int op>
Rows combine_kind(Kind kind) {  // nullptr: not for this kind
  switch (kind) {
    case kDouble: return combine_rows<op, double>;
    case kInt8: return combine_rows<op, std::int8_t>;
    case kUint8: return combine_rows<op, std::uint8_t>;
    case kInt16: return combine_rows<op, std::int16_t>;
    case kUint16: return combine_rows<op, std::uint16_t>;
    case kInt32: return combine_rows<op, std::int32_t>;
    case kUint32: return combine_rows<op, std::uint32_t>;
    case kInt64: return combine_rows<op, std::int64_t>;
    case kUint64: return combine_rows<op, std::uint64_t>;
    default: return nullptr;
  }
}

template <class Word>
void assign_words(char* to, const std::int64_t* rows, const char* from, std::int64_t n) {
  constexpr std::int64_t size = sizeof(Word);
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + rows[i] * size, from + i * size, sizeof(Word));
}

void assign_rows(char* to, const std::int64_t* rows, const char* from, std::int64_t n, std::int64_t bytes) {
  if (bytes == 1) return assign_words<std::uint8_t>(to, rows, from, n);
  if (bytes == 2) return assign_words<std::uint16_t>(to, rows, from, n);
  if (bytes == 4) return assign_words<std::uint32_t>(to, rows, from, n);
  if (bytes == 8) return assign_words<std::uint64_t>(to, rows, from, n);
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + rows[i] * bytes, from + i * bytes, static_cast<std::size_t>(bytes));
}

bool narrow_float(const View& v) { return v.kind < kNarrowKinds; }

constexpr std::size_t kBuckets = 1 << 16;  // a power of two

// How many updates a row may get, and room to count them.
struct Limit {
  std::uint8_t most = 0;  // 0: any number
  bool apart = false;     // rows that get more are added in double
  std::size_t rows = 0;
  std::unique_ptr<std::uint8_t[]> times;
};

// A call: out = target, then changed by updates; out may be the target, or float32 or float64 where the others are narrower.
// A third axis in front of rows is one target after the other, each changed at the same rows. Halves become halves by way of `work`,
// which is out where nothing is widened.
struct Scatter {
  View target, updates, out, work;
  Places places;
  std::int64_t outer = 1, length = 0, width = 1;
  Owned held_target, held_updates;
  std::unique_ptr<double[]> wide;
  std::unique_ptr<float[]> room;
  Groups groups;

  bool read_arrays(const char* name, PyObject* in, PyObject* change, PyObject* result) {
    if (!view(in, {name, "target"}, &target) || !view_output(result, {name, "out"}, &out)) return false;
    if (!view(change, {name, "updates"}, &updates)) return false;
    if (!target.dense && !replace_by_copy(&target, {name, "target"}, &held_target)) return false;
    if (!out.dense || !same_shape(out, target)) return refuse_shape(out, {name, "out"}, "the shape of target, contiguous");
    if (updates.kind != target.kind || updates.size != target.size) return refuse_dtype(updates, {name, "updates"}, "the dtype of target");
    const bool widened = (out.kind == kFloat || out.kind == kDouble) && narrow_float(target);
    const bool same = out.kind == target.kind && out.size == target.size;
    return widened || same || refuse_dtype(out, {name, "out"}, "the dtype of target, or a wider float than it");
  }

  bool read_rows(const char* name, PyObject* const* args) {
    if (!read_arrays(name, args[0], args[2], args[3])) return false;
    const int along = target.nd - 2;
    if (along != 0 && along != 1) return refuse_shape(target, {name, "target"}, "two axes, or one more in front");
    outer = along == 0 ? 1 : target.shape[0];
    length = target.shape[along];
    width = target.shape[along + 1];
    if (!places.read_rows(args[1], {name, "rows"}, length)) return false;
    bool fits = updates.nd == target.nd && updates.shape[along] == places.count() && updates.shape[along + 1] == width;
    fits = fits && (along == 0 || updates.shape[0] == outer);
    if (!fits) return refuse_shape(updates, {name, "updates"}, "a row for each of rows, as long as those of target");
    return set_apart(name, "rows");
  }

  bool read_elements(const char* name, PyObject* const* args) {
    if (!read_arrays(name, args[0], args[2], args[4])) return false;
    const long axis = PyLong_AsLong(args[3]);
    if (axis == -1 && PyErr_Occurred()) return false;
    if (!places.read_elements(args[1], {name, "indices"}, target, static_cast<int>(axis))) return false;
    if (!same_shape(updates, places.numbers())) return refuse_shape(updates, {name, "updates"}, "the shape of indices");
    length = out.count;
    return set_apart(name, "indices");
  }

  bool set_apart(const char* name, const char* numbers) {
    if (!separate(&target, out, {name, "target"}, &held_target) || !places.keep_apart(out, {name, numbers})) return false;
    const bool copied = !updates.dense || overlaps(updates, out) || updates.data == out.data;
    return !copied || replace_by_copy(&updates, {name, "updates"}, &held_updates);
  }

  // What is taken from target to work, and from work to out.
  static void move(const View& from, const View& to) {
    if (from.data == to.data) return;
    auto body = [&](std::int64_t begin, std::int64_t end) {
      const std::size_t n = static_cast<std::size_t>(end - begin);
      const char* x = from.data + begin * from.size;
      if (from.kind == to.kind) std::memcpy(to.data + begin * to.size, x, n * static_cast<std::size_t>(to.size));
      else table().convert[from.kind][to.kind](x, to.data + begin * to.size, n, false);
    };
    split_units(to.count, 1, body);
  }

  // Calls each(places, updates, n) for one block of them after the other, as long as it gives true; updates of the first target.
  template <class Each>
  bool blocks(Each each, std::int64_t most = kPlaces) const {
    std::int64_t numbers[kPlaces];
    for (std::int64_t i = 0; i < places.count(); i += most) {
      const std::int64_t n = places.count() - i < most ? places.count() - i : most;
      if (!each(places.fill(i, n, numbers), updates.data + i * width * updates.size, n)) return false;
    }
    return true;
  }

  // Calls each(rows, updates, n, target) likewise for one target after the other, on several threads.
  template <class Each>
  void all_blocks(Each each, std::int64_t most = kPlaces) const {
    const std::int64_t step = length * width * work.size, change = places.count() * width * updates.size;
    auto body = [&](std::int64_t begin, std::int64_t end) {
      blocks([&](const std::int64_t* rows, const char* from, std::int64_t n) {
        for (std::int64_t o = begin; o < end; ++o) {
          each(rows, from + o * change, static_cast<std::size_t>(n), work.data + o * step);
        }
        return true;
      }, most);
    };
    split_units(outer, places.count() * width, body);
  }

  // Rows that share a bucket are counted together; false tells of a bucket, so of a row only where each has its own.
  bool few_in(const Limit& limit, std::size_t buckets) const {
    std::uint8_t* times = limit.times.get();
    std::memset(times, 0, buckets);
    const std::size_t mask = buckets == kBuckets ? kBuckets - 1 : SIZE_MAX;
    return blocks([&](const std::int64_t* rows, const char*, std::int64_t n) {
      std::uint8_t most = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        std::uint8_t& time = times[static_cast<std::size_t>(rows[i]) & mask];
        time = static_cast<std::uint8_t>(time + (time <= limit.most));
        most = time > most ? time : most;
      }
      return most <= limit.most;
    });
  }

  bool fits(const Limit& limit) const {
    if (limit.most == 0) return true;
    const bool sparse = static_cast<std::size_t>(places.count()) < kBuckets * limit.most / 3;  // else shared buckets overflow
    if (limit.rows > kBuckets && sparse && few_in(limit, kBuckets)) return true;
    return few_in(limit, limit.rows < kBuckets ? kBuckets : limit.rows);
  }

  // Updates are widened to doubles, a few rows at a time.
  bool widens() const { return out.kind == kDouble && updates.kind != kDouble; }
  bool halves() const { return out.kind == kHalf || out.kind == kBfloat16; }
  std::int64_t rows_at_once() const { return width < kPlaces ? kPlaces / (width > 0 ? width : 1) : 1; }

  // Many small targets of single elements, which change side by side.
  bool alike() const {
    return width == 1 && outer >= kAlike && length <= static_cast<std::int64_t>(kAlikeLength) && places.count() <= kPlaces &&
           narrow_float(out) && out.kind == target.kind;
  }

  // What is needed before Python's lock is given back. Rows of halves and those that may be crowded are grouped, unless narrow.
  template <int op, bool elements>
  bool make_room(const Limit& limit) {
    work = out;
    if constexpr (op == kScatterAssign) return true;
    constexpr bool grouped = !elements && op != kScatterMultiply;
    const bool crowds = limit.apart && limit.most > 0 && out.kind == kFloat;
    if (grouped && out.kind == target.kind && width >= kCrowdedWidth && (halves() || crowds) && places.count() <= UINT32_MAX) {
      if (!groups.reserve(places, length > 0 ? length : 1)) return PyErr_NoMemory() != nullptr;
      if (width >= kGroupedWidth) return true;
    }
    if (widens()) {
      wide.reset(new (std::nothrow) double[static_cast<std::size_t>(rows_at_once() * (width > 0 ? width : 1))]);
      return wide != nullptr || PyErr_NoMemory() != nullptr;
    }
    if (!halves() || alike()) return true;
    room.reset(new (std::nothrow) float[static_cast<std::size_t>(out.count)]);
    if (room == nullptr) return PyErr_NoMemory() != nullptr;
    work.data = reinterpret_cast<char*>(room.get());
    work.kind = kFloat;
    work.size = sizeof(float);
    return true;
  }

  template <int op>
  void run_widened() const {
    const ConvertLoop widen = table().convert[updates.kind][kDouble];
    for (std::int64_t o = 0; o < outer; ++o) {
      blocks([&](const std::int64_t* rows, const char* from, std::int64_t n) {
        widen(from + o * places.count() * width * updates.size, wide.get(), static_cast<std::size_t>(n * width), false);
        combine_rows<op, double>(out.data + o * length * width * out.size, rows, wide.get(), static_cast<std::size_t>(n),
                                 static_cast<std::size_t>(width));
        return true;
      }, rows_at_once());
    }
  }

  template <int op>
  bool run_alike() const {
    std::int64_t numbers[kPlaces];
    const Alike all{target.data, updates.data, places.fill(0, places.count(), numbers), static_cast<std::size_t>(length),
                    static_cast<std::size_t>(places.count()), out.data};
    const ScatterAlike loop = table().scatter_alike[op][out.kind];
    auto body = [&](std::int64_t begin, std::int64_t end) { loop(all, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)); };
    split_units(outer, places.count() + length, body);
    return true;
  }

  template <int op>
  bool run_groups(const Limit& limit) {
    const GroupRows loop = table().group_rows[op][target.kind];
    groups.sort(places);
    for (std::int64_t o = 0; o < outer; ++o) {
      const std::int64_t at = o * length * width * out.size;
      const Grouped all{target.data + at, updates.data + o * places.count() * width * out.size, groups.ends(), groups.order(),
                        static_cast<std::size_t>(width), limit.most == 0 ? SIZE_MAX : limit.most, out.data + at};
      auto body = [&](std::int64_t begin, std::int64_t end) { loop(all, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)); };
      split_units(length, width + width * places.count() / length, body);
    }
    return true;
  }

  // False when a row gets more than limit updates (0: no limit), and cannot be added apart; nothing is done then.
  template <int op>
  bool run(const Limit& limit) {
    const Unlocked unlocked(out.count + updates.count);
    if (out.count == 0) return true;
    const bool grouped = groups.reserved() && halves() && room == nullptr;
    const bool few = (grouped && limit.apart) || fits(limit);
    if (!few && !(groups.reserved() && limit.apart)) return false;
    if constexpr (op != kScatterAssign) {
      if (grouped || !few) return run_groups<op>(limit);
      if (alike()) return run_alike<op>();
    }
    move(target, work);
    if constexpr (op == kScatterAssign) {
      all_blocks([&](const std::int64_t* rows, const char* from, std::size_t n, char* to) {
        assign_rows(to, rows, from, static_cast<std::int64_t>(n), width * out.size);
      });
    } else if (widens()) {
      run_widened<op>();
    } else {
      const Rows loop = combine_kind<op>(work.kind);
      const ScatterRows floats = work.kind == kFloat ? table().scatter_rows[op][updates.kind] : nullptr;
      all_blocks([&](const std::int64_t* rows, const char* from, std::size_t n, char* to) {
        if (floats == nullptr) loop(to, rows, from, n, static_cast<std::size_t>(width));
        else floats(reinterpret_cast<float*>(to), rows, from, n, static_cast<std::size_t>(width));
      });
    }
    move(work, out);
    return true;
  }
};

// Counts, where there are as many updates as a limit above 0 at all.
bool read_limit(const char* name, PyObject* given, const Scatter& call, Limit* limit) {
  const long value = PyLong_AsLong(given);
  if (value == -1 && PyErr_Occurred()) return false;
  if (value < 0 || value > 254) {
    PyErr_Format(PyExc_ValueError, "%s(): limit = %ld; allowed: 0 to 254", name, value);
    return false;
  }
  if (call.places.count() <= value) return true;
  limit->most = static_cast<std::uint8_t>(value);
  limit->rows = static_cast<std::size_t>(call.length);
  limit->times.reset(new (std::nothrow) std::uint8_t[limit->rows < kBuckets ? kBuckets : limit->rows]);
  if (limit->times == nullptr) PyErr_NoMemory();
  return limit->times != nullptr;
}

template <int op, bool elements>
PyObject* scatter(PyObject*, PyObject* const* args, Py_ssize_t n) {
  constexpr const char* name = elements ? kElementNames[op] : kNames[op];
  constexpr Py_ssize_t least = elements ? 5 : 4;
  Scatter call;
  constexpr bool limited = op == kScatterAdd || op == kScatterSubtract;
  if (!expect_arguments(name, n, least, least + (!limited ? 0 : elements ? 1 : 2))) return nullptr;
  if (!(elements ? call.read_elements(name, args) : call.read_rows(name, args))) return nullptr;
  if constexpr (op != kScatterAssign) {
    const bool known = call.out.kind == kFloat || (op != kScatterMultiply && call.halves()) || combine_kind<op>(call.out.kind) != nullptr;
    if (!known && !refuse_dtype(call.out, {name, "out"}, kNumbers)) return nullptr;
  }
  Limit limit;
  if (n > least && !read_limit(name, args[least], call, &limit)) return nullptr;
  const int apart = n > least + 1 ? PyObject_IsTrue(args[least + 1]) : 0;
  if (apart < 0) return nullptr;
  limit.apart = apart != 0;
  if (!call.make_room<op, elements>(limit)) return nullptr;
  return PyBool_FromLong(call.run<op>(limit));
}

constexpr const char* kRows = "Rows of updates combined with rows of the target, into out.";
constexpr const char* kElements = "Updates combined with elements of the target along an axis, into out.";

template <int op>
PyMethodDef by_rows() { return method(kNames[op], scatter<op, false>, kRows); }
template <int op>
PyMethodDef by_elements() { return method(kElementNames[op], scatter<op, true>, kElements); }

}  // namespace

PyMethodDef scatter_methods[] = {
    by_rows<kScatterAdd>(), by_rows<kScatterSubtract>(), by_rows<kScatterMultiply>(), by_rows<kScatterMax>(), by_rows<kScatterMin>(),
    by_rows<kScatterAssign>(), by_elements<kScatterAdd>(), by_elements<kScatterSubtract>(), by_elements<kScatterMultiply>(),
    by_elements<kScatterMax>(), by_elements<kScatterMin>(), by_elements<kScatterAssign>(), {nullptr, nullptr, 0, nullptr}};

}  // namespace hacl::module
