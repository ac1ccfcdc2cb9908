// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "libdense/cpu/lane_columns.hpp"
#include "libdense/cpu/lane_qr.hpp"

/// Householder QR of small real matrices, one per SIMD lane: columns stay in registers while all
/// reflectors before their own are applied to them. Complex columns need more registers than there
/// are.
namespace aperture::dense::lanes {

/// Rows and steps are counted from the last row.
template <int most, Scalar T>
class Reflectors {
  public:
    /// m >= n; m is as Column's rows.
    Reflectors(int m, int n) : m_(m), n_(n) {}

    /// A = Q R. Fetches `ahead` in column_steps(n) steps.
    [[gnu::noinline]] void factor(const Matrix<T>& a, Ahead& ahead) {
        int c = 0;
        // A reflector waits for a sum and its product. With two columns one works for the other.
        for (; c + 2 <= n_; c += 2) {
            InRegisters v[] = {load(a.from(0, c)), load(a.from(0, c + 1))};
            apply_steps<true>(m_ - 1 - c, v, ahead, Steps<most>{});
        }
        if (c < n_) {
            InRegisters v[] = {load(a.from(0, c))};
            apply_steps<true>(m_ - 1 - c, v, ahead, Steps<most>{});
        }
    }

    /// Stores R and the reflectors below it, and their factors as a row.
    void store(const Matrix<T>& qr, const Matrix<T>& tau) {
        copy(m_, n_, factors(), qr);
        for (int c = 0; c < n_; ++c) tau.store(0, c, taus_[m_ - 1 - c]);
    }

    /// Inverts R's diagonal; returns info of it.
    Info<T> prepare_solutions() { return invert_r_diagonal(n_, factors()); }

    /// x that minimises |A x - b|, for the rows b of x, in place. Fetches `ahead` in n steps for
    /// each.
    [[gnu::noinline]] void solve(int rows, const Matrix<T>& x, Ahead& ahead) {
        for (int r = 0; r < rows; ++r) {
            const Matrix<T> column = x.from(r, 0).transposed();
            InRegisters v[] = {load(column)};
            apply_steps<false>(m_ - 1 - n_, v, ahead, Steps<most>{});
            const auto divide = [&](int k, Element<T>& value) {
                value = product(value, columns_[k][k]);
            };
            substitute_column<Second::plain>(m_ - n_, v[0], divide,
                                             [&](int i, int k) { return columns_[k][i]; });
            v[0].store(from_last_row(column));
        }
    }

  private:
    using InRegisters = Column<most, T>;

    /// With rows and columns counted from the first.
    Matrix<T> factors() {
        return {reinterpret_cast<Real<T>*>(&columns_[m_ - 1][m_ - 1]), -1, -most};
    }

    Matrix<T> from_last_row(const Matrix<T>& a) const {
        return {a.at(m_ - 1, 0), -a.row_stride, a.column_stride};
    }

    [[gnu::always_inline]] InRegisters load(const Matrix<T>& column) const {
        InRegisters v(m_);
        v.load(from_last_row(column));
        return v;
    }

    template <int s>
    [[gnu::always_inline]] void make(InRegisters& v) {
        core::Pack<Real<T>> below{};
#pragma GCC unroll 16
        for (int i = s - 1; i >= 0; --i) below += square(v[i]);
        const Reflector<T> reflector = reflector_of(v[s], below);
        taus_[s] = reflector.tau;
        columns_[s][s] = real_element<T>(reflector.beta);
#pragma GCC unroll 16
        for (int i = 0; i < most; ++i) {
            if (i < s) columns_[s][i] = product(v[i], reflector.factor);
            if (i > s && v.has(i)) columns_[s][i] = v[i];
        }
    }

    /// Applies reflector s to the columns from number `first` on.
    template <int s, int first, int columns>
    [[gnu::always_inline]] void reflect(InRegisters (&v)[columns], Ahead& ahead) const {
        constexpr int sums = std::min(columns - first == 1 ? 4 : 2, s + 1);
        Element<T> sum[columns][sums] = {};
#pragma GCC unroll 2
        for (int j = first; j < columns; ++j) {
            ahead.fetch();
            sum[j][0] = v[j][s];
        }
#pragma GCC unroll 16
        for (int i = s - 1; i >= 0; --i) {
#pragma GCC unroll 2
            for (int j = first; j < columns; ++j) {
                add_product<Second::plain>(sum[j][(s - i) % sums], v[j][i], columns_[s][i]);
            }
        }
#pragma GCC unroll 2
        for (int j = first; j < columns; ++j) {
#pragma GCC unroll 4
            for (int i = 1; i < sums; ++i) sum[j][0] = sum_of(sum[j][0], sum[j][i]);
            sum[j][0] = product(taus_[s], sum[j][0]);
            v[j][s] = difference(v[j][s], sum[j][0]);
        }
#pragma GCC unroll 16
        for (int i = s - 1; i >= 0; --i) {
#pragma GCC unroll 2
            for (int j = first; j < columns; ++j) {
                subtract_product<Second::plain>(v[j][i], columns_[s][i], sum[j][0]);
            }
        }
    }

    /// Applies reflector s or, in the last step, makes the columns' own ones if they are to be
    /// made; returns whether more follow.
    template <bool makes, int s, int columns>
    [[gnu::always_inline]] bool apply_step(int last, InRegisters (&v)[columns], Ahead& ahead) {
        if (!v[0].has(s)) return true;
        if (s != last) {
            reflect<s, 0>(v, ahead);
            return true;
        }
        if constexpr (makes) {
            make<s>(v[0]);
            if constexpr (columns == 2 && s > 0) {
                reflect<s, 1>(v, ahead);
                make<s - 1>(v[1]);
            }
        }
        return false;
    }
    template <bool makes, int columns, int... k>
    [[gnu::always_inline]] void apply_steps(int last, InRegisters (&v)[columns], Ahead& ahead,
                                            std::integer_sequence<int, k...> /*steps*/) {
        static_cast<void>((apply_step<makes, most - 1 - k>(last, v, ahead) && ...));
    }

    int m_, n_;
    std::array<Element<T>, most> taus_;
    Element<T> columns_[most][most];  ///< R above and on the diagonal, reflectors below
};

/// Most rows of which two columns fit in 32 registers, and in 16.
inline constexpr int most_reflected = std::min(core::simd_bytes == 64 ? 12 : 8, most_in_registers);

template <Scalar T>
constexpr bool is_reflected(int m) {
    return !is_complex<T> && is_in_registers<most_reflected>(m);
}

/// Calls body(Reflectors of m x n) if there are some for so many rows; returns whether it did.
template <Scalar T, class Body>
bool with_reflectors(int m, int n, const Body& body) {
    if constexpr (!is_complex<T>) {
        if (is_reflected<T>(m)) {
            with_most_rows<most_reflected>(m, [&](auto most) {
                Reflectors<most, T> reflectors(m, n);
                body(reflectors);
            });
            return true;
        }
    }
    return false;
}

}  // namespace aperture::dense::lanes
