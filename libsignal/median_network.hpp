// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Networks of minima and maxima that compute medians of sorted rows, for the CPU's packs and the
// GPU's threads. Two outputs above each other, at rows y and y+1, share a core: the size-1 rows
// between the uppermost and the lowest row of both windows. Every row is sorted across its window
// once (used by size outputs). Rows are merged in pairs (used by two cores for size 5). Pairs are
// merged into the core; only its size+1 middle ranks can be the median of either window. Each
// output merges these with the one row that only it has. The compiler removes unused results.
//
// Minima and maxima for each pixel of a long strip:
//             sort a row   merge rows by twos   core (for 2 outputs)   last row    sum
//   size 3         6            10 / 2                  -                  6        17
//   size 5        18            26 / 2                36 / 2              10        59
//   size 7        32            42 / 2               140 / 2              14       137
//
// `Order` has a type Value and functions lower(a, b) and upper(a, b).

#include <utility>

#include "aperture/core/portable.hpp"

namespace aperture::signal::network {

/// n values in ascending order.
template <class Order, int n>
struct Ranks {
    typename Order::Value at[n];
};
template <class Order>
struct Ranks<Order, 0> {};

namespace detail {

template <class Order, int first, int n, int... i>
[[gnu::always_inline]] APERTURE_HD Ranks<Order, sizeof...(i)> every_second(
    const Ranks<Order, n>& a, std::integer_sequence<int, i...>) {
    if constexpr (sizeof...(i) == 0) {
        return {};
    } else {
        return {{a.at[first + 2 * i]...}};
    }
}
/// Elements first, first + 2, ... of a.
template <int first, class Order, int n>
[[gnu::always_inline]] APERTURE_HD auto every_second(const Ranks<Order, n>& a) {
    constexpr int count = (n - first + 1) / 2;
    return every_second<Order, first>(a, std::make_integer_sequence<int, count>{});
}

template <class Order, int size, int evens, int odds, int... i>
[[gnu::always_inline]] APERTURE_HD void exchange_pairs(const Ranks<Order, evens>& even,
                                                       const Ranks<Order, odds>& odd,
                                                       Ranks<Order, size>& merged,
                                                       std::integer_sequence<int, i...>) {
    ((merged.at[2 * i + 1] = Order::lower(odd.at[i], even.at[i + 1]),
      merged.at[2 * i + 2] = Order::upper(odd.at[i], even.at[i + 1])),
     ...);
}

}  // namespace detail

/// Batcher's odd-even merge (1968).
template <class Order, int m, int n>
[[gnu::always_inline]] APERTURE_HD Ranks<Order, m + n> merge(const Ranks<Order, m>& a,
                                                             const Ranks<Order, n>& b) {
    if constexpr (m == 0) {
        return b;
    } else if constexpr (n == 0) {
        return a;
    } else if constexpr (m == 1 && n == 1) {
        return {{Order::lower(a.at[0], b.at[0]), Order::upper(a.at[0], b.at[0])}};
    } else {
        constexpr int evens = (m + 1) / 2 + (n + 1) / 2;
        constexpr int odds = m / 2 + n / 2;
        constexpr int pairs = odds < evens - 1 ? odds : evens - 1;
        const Ranks<Order, evens> even =
            merge(detail::every_second<0>(a), detail::every_second<0>(b));
        const Ranks<Order, odds> odd =
            merge(detail::every_second<1>(a), detail::every_second<1>(b));
        Ranks<Order, m + n> merged;
        merged.at[0] = even.at[0];
        detail::exchange_pairs(even, odd, merged, std::make_integer_sequence<int, pairs>{});
        if constexpr (odds > pairs) merged.at[m + n - 1] = odd.at[pairs];
        if constexpr (evens > pairs + 1) merged.at[m + n - 1] = even.at[pairs + 1];
        return merged;
    }
}

/// The n values load(first), load(first + 1), ..., sorted.
template <class Order, int n, class Load>
[[gnu::always_inline]] APERTURE_HD Ranks<Order, n> sorted(const Load& load, int first = 0) {
    if constexpr (n == 1) {
        return {{load(first)}};
    } else {
        return merge(sorted<Order, n / 2>(load, first),
                     sorted<Order, n - n / 2>(load, first + n / 2));
    }
}

namespace detail {

template <class Order, int size, int... i>
[[gnu::always_inline]] APERTURE_HD typename Order::Value median_of(
    const Ranks<Order, size*(size - 1)>& core, const Ranks<Order, size>& row,
    std::integer_sequence<int, i...>) {
    constexpr int min = (size * size - 1) / 2 - size;
    typename Order::Value median = core.at[min + size];
    ((median = Order::lower(median, Order::upper(core.at[min + size - 1 - i], row.at[i]))), ...);
    return median;
}

}  // namespace detail

/// The median of the core, size * (size-1) values, and one more row of its window. Only ranks
/// `min` to `min` + size of the core can be the median, which has rank `size` among these and
/// the row: the least upper bound of i of the one and size+1-i of the other, over all i.
template <class Order, int size>
[[gnu::always_inline]] APERTURE_HD typename Order::Value median_of(
    const Ranks<Order, size*(size - 1)>& core, const Ranks<Order, size>& row) {
    return detail::median_of<Order, size>(core, row, std::make_integer_sequence<int, size>{});
}

/// Medians of windows above each other, in one column, two at a time. `row(r)` is row r of the
/// strip, sorted; the window of output y begins with row y.
template <class Order, int size>
class MedianStrip {
    static constexpr int half = size / 2;

  public:
    template <class Row>
    [[gnu::always_inline]] APERTURE_HD explicit MedianStrip(const Row& row)
        : MedianStrip(row, std::make_integer_sequence<int, half>{},
                      std::make_integer_sequence<int, half - 1>{}) {}

    /// Calls store(y, median) and store(y + 1, median); y must be 0 at first, then 2, 4, ...
    template <class Row, class Store>
    [[gnu::always_inline]] APERTURE_HD void next(int y, const Row& row, const Store& store) {
        const Ranks<Order, size> last = row(y + size - 1);
        const Ranks<Order, 2 * size> two = merge(lower_row_, last);
        lower_row_ = row(y + size);
        Ranks<Order, size*(size - 1)> core;
        if constexpr (half == 1) {
            core = two;
        } else if constexpr (half == 2) {
            core = merge(twos_[0], two);
            twos_[0] = two;
        } else {
            core = merge(merge(twos_[0], twos_[1]), two);
            twos_[0] = twos_[1];
            twos_[1] = two;
        }
        Ranks<Order, size>& upper_row = upper_rows_[y / 2 % half];
        store(y, median_of<Order, size>(core, upper_row));
        store(y + 1, median_of<Order, size>(core, lower_row_));
        upper_row = last;
    }

  private:
    template <class Row, int... i, int... k>
    [[gnu::always_inline]] APERTURE_HD MedianStrip(const Row& row, std::integer_sequence<int, i...>,
                                                   std::integer_sequence<int, k...>)
        : upper_rows_{row(2 * i)...},
          twos_{merge(row(2 * k + 1), row(2 * k + 2))...},
          lower_row_(row(size - 2)) {}

    /// The row that only the upper window has: it was sorted size-1 rows before, as the core's
    /// last.
    Ranks<Order, size> upper_rows_[half];
    Ranks<Order, 2 * size> twos_[half];  ///< rows of the core except the last two, in pairs
    Ranks<Order, size> lower_row_;
};

}  // namespace aperture::signal::network
