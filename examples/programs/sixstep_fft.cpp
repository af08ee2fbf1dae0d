// FFT of N = n1 n2 complex points by the six-step method (Bailey, FFTs in External or Hierarchical Memory,
// 1990). SIZE is N, a power of two. A repetition is a transform and its inverse, which restores the input.
//
// With j = n2 a + b and k = c + n1 d:  X[k] = sum_b w_n2^(b d) ( w_N^(b c) sum_a w_n1^(a c) x[j] ).
// 1. transpose (n1 x n2); 2. transform the n2 rows of n1 points; 3. multiply by w_N^(b c); 4. transpose; 5.
// transform the n1 rows of n2 points; 6. transpose. A thread transposes into the rows that it transforms
// next, so only transpositions need a barrier before them.
#include <algorithm>
#include <utility>

#include "team.hpp"

using namespace programs;

namespace {

struct Complex {
  double re, im;
};
Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
double size(Complex a) { return std::hypot(a.re, a.im); }

using Points = std::vector<Complex>;

// exp(-2 pi i k / n), k = 0..n-1
Points roots_of(Index n) {
  Points roots;
  for (Index k = 0; k < n; ++k) {
    const double angle = -2 * std::acos(-1.0) * static_cast<double>(k) / static_cast<double>(n);
    roots.push_back({std::cos(angle), std::sin(angle)});
  }
  return roots;
}

// Radix 2 in place, for rows of equal length.
class RowTransform {
 public:
  explicit RowTransform(Index n) : n_(n), roots_(roots_of(n)), reversed_(static_cast<std::size_t>(n)) {
    for (Index i = 1; i < n; ++i)
      reversed_[static_cast<std::size_t>(i)] =
          reversed_[static_cast<std::size_t>(i / 2)] / 2 + (i % 2 != 0 ? n / 2 : 0);
  }

  void operator()(Complex* row, double sign) const {
    for (Index i = 0; i < n_; ++i)
      if (const Index j = reversed_[static_cast<std::size_t>(i)]; i < j) std::swap(row[i], row[j]);
    for (Index half = 1; half < n_; half *= 2)
      for (Index begin = 0; begin < n_; begin += 2 * half)
        for (Index i = 0; i < half; ++i) {
          const Complex root = roots_[static_cast<std::size_t>(i * (n_ / (2 * half)))];
          const Complex even = row[begin + i], odd = row[begin + i + half] * Complex{root.re, sign * root.im};
          row[begin + i] = even + odd;
          row[begin + i + half] = even - odd;
        }
  }

 private:
  Index n_;
  Points roots_;
  std::vector<Index> reversed_;
};

// Fills the rows `mine` of `to` from the columns of `from`, which has `rows` rows.
void transpose(const Points& from, Points& to, Index rows, Index columns, Range mine, double scale) {
  constexpr Index kBlock = 8;  // the lines of so many rows stay in the cache
  for (Index block = 0; block < rows; block += kBlock)
    for (Index c = mine.begin; c < mine.end; ++c)
      for (Index r = block; r < std::min(rows, block + kBlock); ++r) {
        const Complex x = from[static_cast<std::size_t>(r * columns + c)];
        to[static_cast<std::size_t>(c * rows + r)] = {scale * x.re, scale * x.im};
      }
}

class SixStep {
 public:
  explicit SixStep(Index n)
      : n1_(first_factor(n)), n2_(n / n1_), first_(n1_), second_(n2_), roots_(roots_of(n)) {}

  // From x to y; x is overwritten. sign 1: forward; -1: inverse. A barrier must separate two calls.
  void transform(Points& x, Points& y, double sign, Member& member) const {
    const Range rows2 = member.share(n2_), rows1 = member.share(n1_);
    transpose(x, y, n1_, n2_, rows2, 1);  // 1
    for (Index b = rows2.begin; b < rows2.end; ++b) {
      Complex* row = &y[static_cast<std::size_t>(b * n1_)];
      first_(row, sign);                 // 2
      for (Index c = 0; c < n1_; ++c) {  // 3
        const Complex root = roots_[static_cast<std::size_t>(b * c)];
        row[c] = row[c] * Complex{root.re, sign * root.im};
      }
    }
    member.barrier();
    // 4
    transpose(y, x, n2_, n1_, rows1, 1);
    // 5
    for (Index c = rows1.begin; c < rows1.end; ++c) second_(&x[static_cast<std::size_t>(c * n2_)], sign);
    member.barrier();
    transpose(x, y, n1_, n2_, rows2, sign > 0 ? 1 : 1 / static_cast<double>(n1_ * n2_));  // 6
    member.barrier();
  }

  // This thread's rows of a result.
  Range mine(const Member& member) const {
    const Range rows = member.share(n2_);
    return {rows.begin * n1_, rows.end * n1_};
  }

  // The transform's definition, for one k.
  Complex direct(const Points& x, Index k) const {
    const Index n = n1_ * n2_;
    Complex sum{0, 0};
    for (Index j = 0; j < n; ++j)
      sum = sum + x[static_cast<std::size_t>(j)] * roots_[static_cast<std::size_t>(j * k % n)];
    return sum;
  }

 private:
  static Index first_factor(Index n) {
    Index n1 = 1;
    while (n1 * n1 * 4 <= n) n1 *= 2;
    return n1;
  }

  Index n1_, n2_;
  RowTransform first_, second_;
  Points roots_;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments a = arguments_of(argc, argv, "points, a power of two", 4, Index{1} << 24);
  if ((a.size & (a.size - 1)) != 0) {
    std::fprintf(stderr, "%s: %lld is not a power of two\n", argv[0], static_cast<long long>(a.size));
    return 2;
  }
  const SixStep plan(a.size);
  Points input;
  std::uint64_t state = 1;
  for (Index j = 0; j < a.size; ++j) {
    const double re = random_number(state);
    input.push_back({re, random_number(state)});
  }
  Points x = input, y(input.size()), spectrum(input.size());
  const Timing timing = run_team(a.threads, [&](Member& member) {
    const Range mine = plan.mine(member);
    for (int r = 0; r < a.repetitions; ++r) {
      plan.transform(x, y, 1, member);
      if (r + 1 == a.repetitions)
        std::copy(y.begin() + mine.begin, y.begin() + mine.end, spectrum.begin() + mine.begin);
      plan.transform(y, x, -1, member);
    }
  });

  // The input must be restored, and samples of the spectrum must agree with the definition. A transform's
  // error is about the rounding of the roots in its N sums.
  double error = 0;
  const auto worse = [&](double e) {
    if (!(e <= error)) error = e;  // keeps a NaN
  };
  for (std::size_t j = 0; j < input.size(); ++j) worse(size(x[j] - input[j]));
  const double scale = std::sqrt(static_cast<double>(a.size));
  for (Index sample = 0; sample < 16; ++sample) {
    const Index k = (sample * (a.size / 16) + sample * sample) % a.size;
    worse(size(spectrum[static_cast<std::size_t>(k)] - plan.direct(input, k)) / scale);
  }
  std::vector<double> values;
  for (const Points* points : {&spectrum, &x})
    for (const Complex& p : *points) values.insert(values.end(), {p.re, p.im});
  const double bound = 4 * 0x1p-52 * std::log2(static_cast<double>(a.size)) * (2.0 * a.repetitions + scale);
  return report(a, timing, checksum(values), "distance from the input and the definition", error, bound);
}
