// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a functor of for_each_element (batch_elements.hpp) sees. Kernels include this file, also
// those compiled at run time: it has no standard header.

#include "aperture/core/view.hpp"

namespace aperture::dense {

namespace detail {
/// The place of an entry in row-major order.
template <int... extents, class... Index>
APERTURE_HD constexpr int entry_place(Index... index) {
    static_assert(sizeof...(Index) == sizeof...(extents), "an index for each extent");
    int place = 0;
    ((place = place * extents + static_cast<int>(index)), ...);
    return place;
}
}  // namespace detail

/// A matrix Element<N, rows, columns>, a vector Element<N, n> or a number Element<N> of one
/// problem: x(i, j), x(i), x(). N is float or double, or on a CPU Lanes of them. Indices that are
/// known to the compiler, as those of loops with constant bounds, keep it in registers.
template <class N, int... extents>
struct Element {
    using Number = N;
    static constexpr int entries = (1 * ... * extents);

    N value[entries];

    template <class... Index>
    APERTURE_HD N& operator()(Index... index) {
        return value[detail::entry_place<extents...>(index...)];
    }
    template <class... Index>
    APERTURE_HD const N& operator()(Index... index) const {
        return value[detail::entry_place<extents...>(index...)];
    }
};

/// The threads that share an element, for functors that take one as their first argument: a thread
/// of a GPU alone, and always one on a CPU.
struct OneThread {
    static constexpr int threads = 1;
    static constexpr int rank = 0;
    APERTURE_HD void sync() const {}
    template <class N>
    APERTURE_HD N sum(N value) const {
        return value;
    }
};

/// What a functor does with a batch.
enum class Access { in, out, in_out };

namespace detail {
template <int... extents>
APERTURE_HD constexpr int last_extent() {
    int last = 1;
    ((last = extents), ...);
    return last;
}

template <class T, Access access>
struct StoredType {
    using type = T;
};
template <class T>
struct StoredType<T, Access::in> {
    using type = const T;
};
}  // namespace detail

/// A batch whose problems have `extents`, and what the functor does with it: the result of `in`,
/// `out` and `in_out`.
template <Access access_, class T, class Space, int... extents>
struct Operand {
    static constexpr Access access = access_;
    static constexpr int rank = sizeof...(extents);
    static_assert(rank <= 2, "problems are numbers, vectors or matrices");
    static constexpr int entries = (1 * ... * extents);
    static constexpr int columns = detail::last_extent<extents...>();
    static constexpr int rows = entries / columns;
    using Number = T;
    using Stored = typename detail::StoredType<T, access>::type;
    template <class N>
    using ElementOf = Element<N, extents...>;
    template <class OtherT, class OtherSpace>
    using Rebound = Operand<access, OtherT, OtherSpace, extents...>;

    /// [problem][row][column]; a vector is a row.
    core::View<Stored, 3, Space> batch;
};

namespace detail {
template <Access access, int... extents, class T, class U, int Rank, class Space, class Layout>
APERTURE_HD auto operand(const T*, const core::View<U, Rank, Space, Layout>& batch) {
    static_assert(Rank == 1 + sizeof...(extents), "a view [problem] and the extents of a problem");
    Operand<access, T, Space, extents...> result;
    const auto& extent = batch.extent;
    const auto& stride = batch.stride;
    result.batch.data = batch.data;
    if constexpr (Rank == 1) {
        result.batch.extent = {extent[0], 1, 1};
        result.batch.stride = {stride[0], 1, 1};
    } else if constexpr (Rank == 2) {
        result.batch.extent = {extent[0], 1, extent[1]};
        result.batch.stride = {stride[0], extent[1] * stride[1], stride[1]};
    } else {
        result.batch.extent = extent;
        result.batch.stride = stride;
    }
    return result;
}
}  // namespace detail

/// A batch that is read, written (all entries of every problem), or both: `in<5, 5>(p)` for a view
/// [problem][5][5], `in<5>(x)` for [problem][5], `in(z)` for numbers [problem]. Any strides;
/// batches that are written must not overlap others.
template <int... extents, class T, int Rank, class Space, class Layout>
APERTURE_HD auto in(const core::View<T, Rank, Space, Layout>& batch) {
    return detail::operand<Access::in, extents...>(static_cast<const T*>(nullptr), batch);
}
template <int... extents, class T, int Rank, class Space, class Layout>
APERTURE_HD auto out(const core::View<T, Rank, Space, Layout>& batch) {
    return detail::operand<Access::out, extents...>(static_cast<const T*>(nullptr), batch);
}
template <int... extents, class T, int Rank, class Space, class Layout>
APERTURE_HD auto in_out(const core::View<T, Rank, Space, Layout>& batch) {
    return detail::operand<Access::in_out, extents...>(static_cast<const T*>(nullptr), batch);
}

/// Whichever the condition says, for functors that run on Lanes, too.
template <class T>
APERTURE_HD T select(bool condition, T yes, T no) {
    return condition ? yes : no;
}

namespace detail {
template <class Functor, class Team, class... Elements>
inline constexpr bool takes_team = requires(const Functor& functor, const Team& team,
                                            Elements&... elements) {
    functor(team, elements...);
};

/// Calls a functor with or without the threads that share the element.
template <class Functor, class Team, class... Elements>
APERTURE_HD void call_functor(const Functor& functor, const Team& team, Elements&... elements) {
    if constexpr (takes_team<Functor, Team, Elements...>) {
        functor(team, elements...);
    } else {
        static_assert(Team::threads == 1,
                      "a functor whose element is shared by threads takes them as first argument");
        functor(elements...);
    }
}
}  // namespace detail

}  // namespace aperture::dense
