// The folds of one instruction set; vector.cpp includes this file once for each set. combine() computes the
// same results as apply() of base/element.hpp, except for NaNs of sums and products of float and double. For
// these, Numbers folds the elements once more with apply(). The top of vector.cpp explains steps (1) to (3).
#if defined(FERMATA_KERNELS_VECTOR_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef FERMATA_KERNELS_VECTOR_INL_HPP
#undef FERMATA_KERNELS_VECTOR_INL_HPP
#else
#define FERMATA_KERNELS_VECTOR_INL_HPP
#endif

HWY_BEFORE_NAMESPACE();
namespace fermata::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <Op O, class D, class V>
HWY_INLINE V truth(D d, V a, V b) {
  // Eq(), not Ne(): for a NaN, Ne() is true only on some instruction sets.
  const auto x = hn::Eq(a, hn::Zero(d));
  const auto y = hn::Eq(b, hn::Zero(d));
  const auto one = hn::Set(d, hn::TFromD<D>(1));
  if constexpr (O == Op::kLand) {
    return hn::IfThenZeroElse(hn::Or(x, y), one);
  } else {
    return hn::IfThenZeroElse(hn::And(x, y), one);
  }
}

template <class D, class V>
HWY_INLINE V product(D d, V a, V b) {
  if constexpr (sizeof(hn::TFromD<D>) == 1) {  // even and odd bytes as 16-bit lanes
    const hn::RepartitionToWide<hn::RebindToUnsigned<D>> wide;
    const auto x = hn::BitCast(wide, a);
    const auto y = hn::BitCast(wide, b);
    const auto even = hn::And(hn::Mul(x, y), hn::Set(wide, std::uint16_t{0xff}));
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(x), hn::ShiftRight<8>(y)));
    return hn::BitCast(d, hn::Or(even, odd));
  } else {
    return hn::Mul(a, b);
  }
}

template <Op O, class D, class V>
HWY_INLINE V extreme(D d, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    const auto first = O == Op::kMin ? hn::Lt(a, b) : hn::Lt(b, a);
    const V zeros = O == Op::kMin ? hn::Or(a, b) : hn::And(a, b);
    const V number = hn::IfThenElse(hn::Eq(a, b), zeros, hn::IfThenElse(first, a, b));
    const V nan = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN());
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), nan, number);
  } else {
    return O == Op::kMin ? hn::Min(a, b) : hn::Max(a, b);
  }
}

template <Op O, class D, class V>
HWY_INLINE V combine(D d, V a, V b) {
  if constexpr (O == Op::kSum) return hn::Add(a, b);
  else if constexpr (O == Op::kProd) return product(d, a, b);
  else if constexpr (O == Op::kMin || O == Op::kMax) return extreme<O>(d, a, b);
  else if constexpr (O == Op::kAnd) return hn::And(a, b);
  else if constexpr (O == Op::kOr) return hn::Or(a, b);
  else if constexpr (O == Op::kXor) return hn::Xor(a, b);
  else return truth<O>(d, a, b);
}

template <class T>
HWY_INLINE const T* element(const void* from, std::size_t i) {
  return reinterpret_cast<const T*>(static_cast<const unsigned char*>(from) + i * sizeof(T));
}
template <class T>
HWY_INLINE T* element(void* to, std::size_t i) {
  return reinterpret_cast<T*>(static_cast<unsigned char*>(to) + i * sizeof(T));
}

template <Op O, class T>
struct Numbers {
  static void fold(void* out, const void* const* inputs, std::size_t k, std::size_t count) {
    const hn::ScalableTag<T> d;
    const std::size_t n = hn::Lanes(d);
    std::size_t i = 0;
    for (; i + 4 * n <= count; i += 4 * n) {  // (1)
      const T* from = element<T>(inputs[0], i);
      auto a = hn::LoadU(d, from);
      auto b = hn::LoadU(d, from + n);
      auto c = hn::LoadU(d, from + 2 * n);
      auto e = hn::LoadU(d, from + 3 * n);
      for (std::size_t j = 1; j < k; ++j) {
        from = element<T>(inputs[j], i);
        a = combine<O>(d, a, hn::LoadU(d, from));
        b = combine<O>(d, b, hn::LoadU(d, from + n));
        c = combine<O>(d, c, hn::LoadU(d, from + 2 * n));
        e = combine<O>(d, e, hn::LoadU(d, from + 3 * n));
      }
      if constexpr (kMayBeNaN<O, T>) {
        const auto nans = hn::Or(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Or(hn::IsNaN(c), hn::IsNaN(e)));
        if (HWY_UNLIKELY(k > 1 && !hn::AllFalse(d, nans))) {
          fold_elements<O, T>(out, inputs, k, i, i + 4 * n);
          continue;
        }
      }
      T* to = element<T>(out, i);
      hn::StoreU(a, d, to);
      hn::StoreU(b, d, to + n);
      hn::StoreU(c, d, to + 2 * n);
      hn::StoreU(e, d, to + 3 * n);
    }
    for (; i + n <= count; i += n) {  // (2)
      auto a = hn::LoadU(d, element<T>(inputs[0], i));
      for (std::size_t j = 1; j < k; ++j) a = combine<O>(d, a, hn::LoadU(d, element<T>(inputs[j], i)));
      if constexpr (kMayBeNaN<O, T>) {
        if (HWY_UNLIKELY(k > 1 && !hn::AllFalse(d, hn::IsNaN(a)))) {
          fold_elements<O, T>(out, inputs, k, i, i + n);
          continue;
        }
      }
      hn::StoreU(a, d, element<T>(out, i));
    }
    fold_elements<O, T>(out, inputs, k, i, count);  // (3)
  }
};

// 16-bit floats, in the low halves of 32-bit lanes. These functions convert them on every instruction set, as
// base/element.hpp does, since Highway's own conversions truncate on some.
template <class T, class DF, class VI>
HWY_INLINE hn::Vec<DF> widened(DF df, VI h) {
  const hn::RebindToUnsigned<DF> du;
  if constexpr (std::is_same_v<T, Bfloat16>) {
    return hn::BitCast(df, hn::ShiftLeft<16>(h));
  } else {
    const auto exponent = hn::Set(du, 0x1fu << 23);
    const auto magnitude = hn::ShiftLeft<13>(hn::And(h, hn::Set(du, 0x7fffu)));
    const auto shifted = hn::And(magnitude, exponent);
    const auto bits = hn::Add(magnitude, hn::Set(du, 112u << 23));
    const auto infinite = hn::Add(bits, hn::Set(du, 112u << 23));
    const auto magic = hn::BitCast(df, hn::Set(du, 113u << 23));
    const auto small = hn::BitCast(du, hn::Sub(hn::BitCast(df, hn::Add(bits, hn::Set(du, 1u << 23))), magic));
    const auto finite = hn::IfThenElse(hn::Eq(shifted, hn::Zero(du)), small, bits);
    const auto value = hn::IfThenElse(hn::Eq(shifted, exponent), infinite, finite);
    return hn::BitCast(df, hn::Or(value, hn::ShiftLeft<16>(hn::And(h, hn::Set(du, 0x8000u)))));
  }
}

template <class T, class DF, class VF>
HWY_INLINE hn::Vec<hn::RebindToSigned<DF>> narrowed(DF df, VF f) {
  const hn::RebindToSigned<DF> di;
  const auto all = hn::BitCast(di, f);
  const auto magnitude = hn::And(all, hn::Set(di, 0x7fffffff));
  const auto nan = hn::Gt(magnitude, hn::Set(di, 0x7f800000));
  const auto one = hn::Set(di, 1);
  if constexpr (std::is_same_v<T, Bfloat16>) {
    const auto odd = hn::And(hn::ShiftRight<16>(all), one);
    const auto rounded = hn::ShiftRight<16>(hn::Add(all, hn::Add(odd, hn::Set(di, 0x7fff))));
    return hn::IfThenElse(nan, hn::Set(di, 0x7fc0), hn::And(rounded, hn::Set(di, 0xffff)));
  } else {
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), one);
    const auto normal =
        hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(odd, hn::Set(di, 0xfff - (112 << 23)))));
    const auto magic = hn::Set(di, (127 - 15 + 23 - 10 + 1) << 23);
    const auto small =
        hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, magic))), magic);
    auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 113 << 23)), small, normal);
    bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, (143 << 23) - 1)), hn::Set(di, 0x7c00), bits);
    bits = hn::Or(bits, hn::And(hn::ShiftRight<16>(all), hn::Set(di, 0x8000)));
    return hn::IfThenElse(nan, hn::Set(di, 0x7e00), bits);
  }
}

template <Op O, class T>
struct SixteenBitFloats {
  static void fold(void* out, const void* const* inputs, std::size_t k, std::size_t count) {
    const hn::ScalableTag<float> df;
    const hn::RebindToUnsigned<decltype(df)> du;
    const hn::RebindToSigned<decltype(df)> di;
    const hn::Rebind<std::uint16_t, decltype(df)> narrow_tag;
    const std::size_t n = hn::Lanes(df);
    const auto load = [&](std::size_t j, std::size_t i) HWY_ATTR {
      return widened<T>(df, hn::PromoteTo(du, hn::LoadU(narrow_tag, element<std::uint16_t>(inputs[j], i))));
    };
    std::size_t i = 0;
    for (; i + n <= count; i += n) {  // (2)
      auto a = load(0, i);
      auto bits =
          hn::BitCast(di, hn::PromoteTo(du, hn::LoadU(narrow_tag, element<std::uint16_t>(inputs[0], i))));
      for (std::size_t j = 1; j < k; ++j) {
        bits = narrowed<T>(df, combine<O>(df, a, load(j, i)));
        a = widened<T>(df, hn::BitCast(du, bits));
      }
      hn::StoreU(hn::DemoteTo(narrow_tag, bits), narrow_tag, element<std::uint16_t>(out, i));
    }
    fold_elements<O, T>(out, inputs, k, i, count);  // (3)
  }
};

// Pairs, as two vectors: values and indices. A lane is half of a pair. Comparisons ignore the padding of
// values and indices.
template <Op O, Type Y>
struct Pairs {
  using P = Element<Y>;
  using Lane = std::conditional_t<sizeof(P) == 16, std::int64_t, std::int32_t>;
  using Value = std::conditional_t<Y == Type::kFloatInt, float,
                                   std::conditional_t<Y == Type::kDoubleInt, double, Lane>>;

  template <class DV, class V>
  static HWY_INLINE hn::Vec<DV> value(DV dv, V v) {
    if constexpr (Y == Type::kInt16Int) return hn::ShiftLeft<16>(v);
    else return hn::BitCast(dv, v);
  }
  template <class V>
  static HWY_INLINE V index(V v) {
    if constexpr (sizeof(P) == 16) return hn::ShiftLeft<32>(v);
    else return v;
  }
  // The lanes in which b comes before a, by the rule of precedes() in base/element.hpp.
  template <class D, class V>
  static HWY_INLINE hn::Mask<D> second(D d, V a, V ai, V b, V bi) {
    const hn::Rebind<Value, D> dv;
    const auto x = value(dv, a);
    const auto y = value(dv, b);
    auto before = O == Op::kMinloc ? hn::Lt(y, x) : hn::Lt(x, y);
    auto equal = hn::Eq(x, y);
    if constexpr (hwy::IsFloat<Value>()) {
      const auto nan_x = hn::IsNaN(x);
      const auto nan_y = hn::IsNaN(y);
      before = hn::Or(before, hn::AndNot(nan_x, nan_y));
      equal = hn::Or(equal, hn::And(nan_x, nan_y));
    }
    auto lower = hn::Lt(index(bi), index(ai));
    if constexpr (hwy::IsFloat<Value>())
      lower = hn::Or(lower, hn::And(hn::Eq(index(bi), index(ai)), hn::Lt(b, a)));
    return hn::Or(hn::RebindMask(d, before), hn::And(hn::RebindMask(d, equal), lower));
  }
  static void fold(void* out, const void* const* inputs, std::size_t k, std::size_t count) {
    const hn::ScalableTag<Lane> d;
    const std::size_t n = hn::Lanes(d);
    std::size_t i = 0;
    for (; i + n <= count; i += n) {  // (2)
      hn::Vec<decltype(d)> a, ai, b, bi;
      hn::LoadInterleaved2(d, element<Lane>(inputs[0], 2 * i), a, ai);
      for (std::size_t j = 1; j < k; ++j) {
        hn::LoadInterleaved2(d, element<Lane>(inputs[j], 2 * i), b, bi);
        const auto take = second(d, a, ai, b, bi);
        a = hn::IfThenElse(take, b, a);
        ai = hn::IfThenElse(take, bi, ai);
      }
      hn::StoreInterleaved2(a, ai, d, element<Lane>(out, 2 * i));
    }
    fold_elements<O, P>(out, inputs, k, i, count);  // (3)
  }
};

struct Vectors {
  // sum, prod, land and lor give the same bits for signed and unsigned integers, so both share one fold.
  template <Op O, class T>
  static constexpr Fold number() {
    if constexpr (O == Op::kAnd || O == Op::kOr || O == Op::kXor || O == Op::kMin || O == Op::kMax ||
                  !std::is_integral_v<T>) {
      return Numbers<O, T>::fold;
    } else {
      return Numbers<O, std::make_unsigned_t<T>>::fold;
    }
  }
  template <Op O, Type T>
  static constexpr Fold of() {
    if constexpr (is_pair(T)) return Pairs<O, T>::fold;
    else if constexpr (T == Type::kHalf || T == Type::kBfloat16) return SixteenBitFloats<O, Element<T>>::fold;
    else return number<O, Element<T>>();
  }
};

// Null if the operator is not defined for the type.
#if HWY_TARGET == HWY_SCALAR
Fold fold_of(Op op, Type type) { return look_up<Portable>(op, type); }
#else
Fold fold_of(Op op, Type type) { return look_up<Vectors>(op, type); }
#endif

}  // namespace fermata::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
