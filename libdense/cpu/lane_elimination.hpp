// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>

#include "libdense/cpu/lane_columns.hpp"
#include "libdense/cpu/lane_pivots.hpp"

/// Gaussian elimination of small matrices with partial pivoting, one per SIMD lane: a column stays
/// in registers while all steps before its own are applied to it.
namespace aperture::dense::lanes {

/// Columns and steps, too, are counted from the last one.
template <int most, Scalar T>
class Elimination {
  public:
    /// n is as Column's rows.
    explicit Elimination(int n) : n_(n) {}

    /// Returns info of the pivots. Fetches `ahead` in column_steps(n) steps.
    [[gnu::noinline]] Info<T> eliminate(const Matrix<T>& a, Ahead& ahead) {
        for (int c = n_ - 1; c >= 0; --c) {
            InRegisters v(n_);
            v.load(a.reversed(n_).from(0, c));
            apply_steps(c, v, ahead, Steps<most>{});
#pragma GCC unroll 16
            for (int i = 1; i < most; ++i) {
                if (i > c && v.has(i)) factors_[c][i] = v[i];
            }
        }
        return info_;
    }

    /// A x = b for the rows of x, in place. Fetches `ahead` in n steps for each.
    [[gnu::noinline]] void solve(int rows, const Matrix<T>& x, Ahead& ahead) {
        for (int r = 0; r < rows; ++r) {
            const Matrix<T> column = reversed_rows(n_, x.from(r, 0)).transposed();
            InRegisters v(n_);
            v.load(column);
            apply_steps(-1, v, ahead, Steps<most>{});
            substitute_upper(v);
            v.store(column);
        }
    }

    /// Stores L and U of P A = L U. `pivots` is [n][lane]. Fetches `ahead` in column_steps(n)
    /// steps.
    [[gnu::noinline]] void store_factors(const Matrix<T>& lu, int* pivots, Ahead& ahead) const {
        for (int c = n_ - 1; c >= 0; --c) {
            InRegisters v(n_);
#pragma GCC unroll 16
            for (int i = 0; i < most; ++i) v[i] = v.has(i) ? factors_[c][i] : Element<T>{};
            exchange_from(c, v, ahead, Steps<most>{});
            v.store(lu.reversed(n_).from(0, c));
            using Rows = typename core::PackLike<int, Real<T>>::type;
            const Rows rows = __builtin_convertvector(n_ - 1 - chosen_[c], Rows);
            std::memcpy(pivots + (n_ - 1 - c) * width<T>, &rows, sizeof(rows));
        }
    }

  private:
    using InRegisters = Column<most, T>;

    /// U x = y, in place.
    [[gnu::always_inline]] void substitute_upper(InRegisters& v) const {
        const bool scales = any(scaled_);
        const auto divide = [&](int k, Element<T>& value) {
            if (scales) value = scaled(value, reciprocals_[k].up);
            value = product(value, reciprocals_[k].of_scaled);
        };
        substitute_column<Second::plain>(0, v, divide,
                                         [&](int i, int k) { return factors_[k][i]; });
    }

    /// Exchanges rows s and chosen_[s].
    template <int s>
    [[gnu::always_inline]] void exchange(InRegisters& v) const {
        const Element<T> top = v[s];
        // The last step finished row s - 1 first.
#pragma GCC unroll 16
        for (int i = s - 1; i >= 0; --i) {
            const auto here = chosen_[s] == i;
            const Element<T> value = v[i];
            v[i] = select(here, top, value);
            v[s] = select(here, value, v[s]);
        }
    }

    /// Finds the pivot of column s, the first of the largest in rows [0, s], and the multipliers of
    /// the other rows.
    template <int s>
    [[gnu::always_inline]] void find_pivot(InRegisters& v) {
        Info<T> size[s + 1];
#pragma GCC unroll 16
        for (int i = 0; i <= s; ++i) size[i] = pivot_key<T>(v[i]);
        Info<T> largest = size[s];
#pragma GCC unroll 16
        for (int i = s - 1; i >= 0; --i) largest = size[i] > largest ? size[i] : largest;
        Info<T> chosen = Info<T>{} + s;
        Element<T> pivot = v[s];
#pragma GCC unroll 16
        for (int i = 0; i <= s; ++i) {
            const auto here = size[i] == largest;
            chosen = here ? Info<T>{} + i : chosen;
            pivot = select(here, v[i], pivot);
        }
        chosen_[s] = chosen;
        factors_[s][s] = pivot;
        const PivotReciprocal<T> reciprocal = accept_general_pivot<T>(pivot, n_ - s, info_);
        reciprocals_[s] = reciprocal;
        scaled_ |= reciprocal.up > Real<T>{1};
#pragma GCC unroll 16
        for (int i = s - 1; i >= 0; --i) {
            factors_[s][i] = reciprocal.times(select(chosen == i, v[s], v[i]));
        }
    }

    /// One step for a column; returns whether more follow.
    template <int s>
    [[gnu::always_inline]] bool apply_step(int column, InRegisters& v, Ahead& ahead) {
        if (!v.has(s)) return true;
        if (s == column) {
            find_pivot<s>(v);
            return false;
        }
        ahead.fetch();
        exchange<s>(v);
#pragma GCC unroll 16
        for (int i = s - 1; i >= 0; --i) {
            subtract_product<Second::plain>(v[i], factors_[s][i], v[s]);
        }
        return true;
    }
    template <int... k>
    [[gnu::always_inline]] void apply_steps(int column, InRegisters& v, Ahead& ahead,
                                            std::integer_sequence<int, k...> /*steps*/) {
        static_cast<void>((apply_step<most - 1 - k>(column, v, ahead) && ...));
    }

    template <int s>
    [[gnu::always_inline]] void exchange_below(int column, InRegisters& v, Ahead& ahead) const {
        if (s >= column) return;
        exchange<s>(v);
        ahead.fetch();
    }
    /// Exchanges the multipliers of a column as the steps after its own do.
    template <int... k>
    [[gnu::always_inline]] void exchange_from(int column, InRegisters& v, Ahead& ahead,
                                              std::integer_sequence<int, k...> /*steps*/) const {
        (exchange_below<most - 1 - k>(column, v, ahead), ...);
    }

    int n_;
    Info<T> info_{};
    Mask<Real<T>> scaled_{};  ///< where one of the pivots was scaled up
    std::array<Info<T>, most> chosen_;
    std::array<PivotReciprocal<T>, most> reciprocals_;
    /// [column][row]; below the diagonal rows are in the order of their step.
    Element<T> factors_[most][most];
};

/// Calls body(an Elimination of order n).
template <Scalar T, class Body>
void with_elimination(int n, const Body& body) {
    with_most_rows(n, [&](auto most) {
        Elimination<most, T> elimination(n);
        body(elimination);
    });
}

}  // namespace aperture::dense::lanes
