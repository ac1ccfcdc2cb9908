// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

#include "aperture/core/executor.hpp"
#include "aperture/dense/element.hpp"
#include "aperture/dense/lanes.hpp"

/// A function of one's own on every problem of batches, whatever their layout (Ha et al. 2013).
///
///     struct Normalise {
///         float floor;                                     // common to all problems
///         template <class Vector, class Number>
///         APERTURE_HD void operator()(Vector& x, Number& length) const {
///             using T = typename Vector::Number;
///             T sum = floor;
///             for (int i = 0; i < 5; ++i) sum += x(i) * x(i);
///             length() = sqrt(sum);
///             for (int i = 0; i < 5; ++i) x(i) = x(i) / length();
///         }
///     };
///     dense::for_each_element(cpu, Normalise{1e-6f}, dense::in_out<5>(x), dense::out(length));
///
/// This file is for core::Cpu; batch_elements.cuh, for nvcc, has the same function for core::Gpu.
namespace aperture::dense {

namespace detail {

/// Of all operands alike, and of the extents that they promise.
template <class... Operands>
core::index_t expects_operands(const Operands&... operands) {
    static_assert(sizeof...(Operands) > 0, "for_each_element: no batch");
    core::index_t problems = 0;
    int number = 0;
    const auto expects_operand = [&](const auto& operand) {
        using Some = std::remove_cvref_t<decltype(operand)>;
        const auto [count, rows, columns] = operand.batch.extent;
        if (number++ == 0) problems = count;
        core::expects(count == problems && rows == Some::rows && columns == Some::columns,
                      "for_each_element: batch ", number, " is ", count, " x ", rows, " x ",
                      columns, ", must be ", problems, " x ", Some::rows, " x ", Some::columns);
    };
    (expects_operand(operands), ...);
    return problems;
}

template <class R>
using HostMatrices = core::View<R, 3, core::Host>;

/// Copies `problems` problems, at most Lanes<R>::count, to packs [row * columns + column][lane];
/// spare lanes repeat the last one.
template <class R>
void load_lanes(const HostMatrices<const R>& batch, core::index_t first, int problems, R* packs);
template <class R>
void store_lanes(const R* packs, const HostMatrices<R>& batch, core::index_t first, int problems);

/// Calls work(context, first, last) for parts of 0 .. problems - 1 on the executor's threads.
/// Parts begin at multiples of 16.
void for_each_part(core::Cpu& cpu, core::index_t problems,
                   void (*work)(const void* context, core::index_t first, core::index_t last),
                   const void* context);

/// The problems of an operand that are in lanes.
template <class Operand>
struct InLanes {
    using R = typename Operand::Number;
    static_assert(std::same_as<R, float> || std::same_as<R, double>);

    Operand operand;
    typename Operand::template ElementOf<Lanes<R>> element;

    auto& seen() {
        if constexpr (Operand::access == Access::in) {
            return std::as_const(element);
        } else {
            return element;
        }
    }
    R* numbers() { return reinterpret_cast<R*>(element.value); }
    void load(core::index_t first, int problems) {
        if constexpr (Operand::access != Access::out) {
            load_lanes<R>(operand.batch, first, problems, numbers());
        }
    }
    void store(core::index_t first, int problems) {
        if constexpr (Operand::access != Access::in) {
            store_lanes<R>(numbers(), operand.batch, first, problems);
        }
    }
};

/// One problem of an operand, for functors of numbers.
template <class Operand>
struct Alone {
    using R = typename Operand::Number;

    Operand operand;
    typename Operand::template ElementOf<R> element;

    auto& seen() {
        if constexpr (Operand::access == Access::in) {
            return std::as_const(element);
        } else {
            return element;
        }
    }
    void load(core::index_t problem) {
        if constexpr (Operand::access != Access::out) {
            for (int e = 0; e < Operand::entries; ++e) element.value[e] = at(problem, e);
        }
    }
    void store(core::index_t problem) {
        if constexpr (Operand::access != Access::in) {
            for (int e = 0; e < Operand::entries; ++e) at(problem, e) = element.value[e];
        }
    }
    auto& at(core::index_t problem, int entry) {
        return operand.batch(problem, entry / Operand::columns, entry % Operand::columns);
    }
};

template <class Functor, class... Batches>
void run_in_lanes(const Functor& functor, core::index_t first, core::index_t last,
                  Batches&&... batches) {
    constexpr core::index_t count = std::max({Lanes<typename Batches::R>::count...});
    static_assert((... && (count == Lanes<typename Batches::R>::count)),
                  "for_each_element: the batches of a call are all float or all double");
    for (core::index_t begin = first; begin < last; begin += count) {
        const auto problems = static_cast<int>(std::min(count, last - begin));
        (batches.load(begin, problems), ...);
        call_functor(functor, OneThread{}, batches.seen()...);
        (batches.store(begin, problems), ...);
    }
}

template <class Functor, class... Batches>
void run_alone(const Functor& functor, core::index_t first, core::index_t last,
               Batches&&... batches) {
    for (core::index_t problem = first; problem < last; ++problem) {
        (batches.load(problem), ...);
        call_functor(functor, OneThread{}, batches.seen()...);
        (batches.store(problem), ...);
    }
}

template <class Functor, class... Batches>
inline constexpr bool takes = requires(const Functor& functor, Batches&... batches) {
    functor(batches.seen()...);
}
|| requires(const Functor& functor, Batches&... batches) {
    functor(OneThread{}, batches.seen()...);
};

}  // namespace detail

/// Calls functor(element of the first operand, of the second, ...) for every problem, in any order.
/// Elements of `in` are const, those of `out` are undefined before. Parameters that all problems
/// have in common are members of the functor. Batches of a call are all float or all double. On a
/// Cpu a functor that takes any type computes with Lanes, that is a problem in a SIMD lane; one
/// that takes Element<float, 5>& and the like has one problem at a time, with branches of its own.
/// The functor must not throw.
///
/// `threads` of a Gpu share an element: 1 (it is in a thread's registers), a group of 2, 4, ... 32,
/// or a block of 64, 128, ... 1024 (it is in shared memory). A functor for several takes as first
/// argument their `team`: it has entries team.rank, team.rank + team.threads, ..., calls
/// team.sync() between writing and reading those of others, and adds up what they hold with
/// team.sum(value). On a Cpu the team is always OneThread.
///
/// Throws InvalidArgument if the numbers of problems differ or extents are not those promised.
/// Source: Ha et al. 2013, section III.
template <int threads = 1, class Functor, class... Operands>
void for_each_element(core::Cpu& cpu, const Functor& functor, const Operands&... operands) {
    const core::index_t problems = detail::expects_operands(operands...);
    const auto run = [&](core::index_t first, core::index_t last) {
        if constexpr (detail::takes<Functor, detail::InLanes<Operands>...>) {
            detail::run_in_lanes(functor, first, last, detail::InLanes<Operands>{operands, {}}...);
        } else {
            detail::run_alone(functor, first, last, detail::Alone<Operands>{operands, {}}...);
        }
    };
    using Run = decltype(run);
    detail::for_each_part(
        cpu, problems,
        [](const void* context, core::index_t first, core::index_t last) {
            (*static_cast<const Run*>(context))(first, last);
        },
        &run);
}

}  // namespace aperture::dense
