// Atomic128: sixteen bytes that change together.
//
// On x86-64 compare_exchange is one `lock cmpxchg16b`, and a load is one aligned
// 16-byte move, which Intel and AMD document as atomic on every processor with AVX
// (Intel SDM vol. 3A 9.1.1; AMD64 APM vol. 2 7.3.2). On a processor without AVX the
// load is a compare-exchange of zero with zero. Elsewhere the compiler's own 16-byte
// atomics are used. std::atomic is not: GCC turns it into library calls.
//
// Memory order: sequentially consistent throughout. A locked instruction is a full
// barrier on x86-64 whatever one asks for, so a weaker order would buy nothing there.
//
// Thread rule: any thread. Tested by atomic128_test.cc, under TSan too.

#pragma once

#include <cstdint>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define WEIR_ATOMIC128_SSE 1
#elif !__has_feature(thread_sanitizer)
#define WEIR_ATOMIC128_SSE 1
#endif
#endif

#ifdef WEIR_ATOMIC128_SSE
#include <emmintrin.h>
#endif

namespace weir {

__extension__ typedef unsigned __int128 Uint128;

// Whether no thread can change a value between a load and an exchange: wasm/single_thread.
inline constexpr bool kOneThread = false;

class alignas(16) Atomic128 {
 public:
  Uint128 load() const noexcept {
#ifdef WEIR_ATOMIC128_SSE
    if (kLoadsAreAtomic) [[likely]] {
      __m128i both;  // by hand: a compiler may split an ordinary 16-byte load in two
      asm volatile("movdqa %1, %0" : "=x"(both) : "m"(value_) : "memory");
      const auto low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(both));
      const auto high =
          static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(both, both)));
      return (Uint128{high} << 64) | low;
    }
    return __sync_val_compare_and_swap(const_cast<Uint128*>(&value_), Uint128{0}, Uint128{0});
#else
    return __atomic_load_n(&value_, __ATOMIC_SEQ_CST);
#endif
  }

  // The upper eight bytes: cheaper than load(), where they suffice.
  std::uint64_t load_high() const noexcept { return load_half(kHighHalf); }
  // Loads each half on its own. The caller's exchange finds out whether the halves belong together.
  Uint128 load_halves() const noexcept {
    return Uint128{load_high()} << 64 | load_half(1 - kHighHalf);
  }

  // Two bits for each of eight neighbours, set if its upper four bytes are `upper`.
  static unsigned find(const Atomic128* eight, std::uint32_t upper) noexcept {
#ifdef WEIR_ATOMIC128_SSE
    // Forces the compiler to read the values now, in any order.
    asm volatile("" : "+m"(*reinterpret_cast<Uint128(*)[8]>(const_cast<Uint128*>(&eight->value_))));
    const auto* words = reinterpret_cast<const __m128i*>(&eight->value_);
    const auto uppers = [](const __m128i* four) {
      return _mm_unpackhi_epi64(_mm_unpackhi_epi32(four[0], four[1]),
                                _mm_unpackhi_epi32(four[2], four[3]));
    };
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(upper));
    const __m128i found = _mm_packs_epi32(_mm_cmpeq_epi32(uppers(words), wanted),
                                          _mm_cmpeq_epi32(uppers(words + 4), wanted));
    return static_cast<unsigned>(_mm_movemask_epi8(found));
#else
    unsigned found = 0;
    for (int at = 0; at < 8; ++at) {
      if (eight[at].load_high() >> 32 == upper) found |= 3U << 2 * at;
    }
    return found;
#endif
  }

  // Stores `desired` if the value is `expected`; says whether it did.
  bool compare_exchange(Uint128 expected, Uint128 desired) noexcept {
    return __sync_bool_compare_and_swap(&value_, expected, desired);
  }

 private:
  // May alias the value that it is half of.
  typedef std::uint64_t __attribute__((may_alias)) HalfWord;
  static constexpr int kHighHalf = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1 : 0;
  std::uint64_t load_half(int which) const noexcept {
    return __atomic_load_n(reinterpret_cast<const HalfWord*>(&value_) + which, __ATOMIC_SEQ_CST);
  }

  [[gnu::visibility("hidden")]] static const bool kLoadsAreAtomic;

  Uint128 value_ = 0;
};

static_assert(sizeof(Atomic128) == 16 && alignof(Atomic128) == 16);

}  // namespace weir
