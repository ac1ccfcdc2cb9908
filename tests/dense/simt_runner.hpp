// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>

#include "tests/dense/batch_runner.hpp"

namespace aperture::dense::oracle {

/// `Orders` use register-resident kernels, others the block kernel, as on a GPU without a run-time
/// compiler.
template <class SomeOrders>
struct SimtWith : core::Simt {
    using Orders = SomeOrders;
};
template <class Orders>
using SimtRunner = HostRunner<SimtWith<Orders>, true>;

/// The same with one mapping after the other. In tests of several mappings kernels by blocks and
/// what checks results are compiled once.
template <Mapping... its_mappings>
struct SimtMappings {
    template <int... orders>
    struct Runner : SimtRunner<std::integer_sequence<int, orders...>> {
        static constexpr std::array mappings{its_mappings...};
    };
};

/// Each order takes long to compile with sanitizers. Of words of 4, 8 and 16 bytes there are rows
/// of an odd and an even number, and problems of a lane and of several. `large`: of many lanes; 34:
/// of two rows for each of a warp's.
template <class Mappings, int large>
using SomeOrders =
    ::testing::Types<Combination<typename Mappings::template Runner<1, 3, 8, large, 34>, float>,
                     Combination<typename Mappings::template Runner<3, 8>, double>,
                     Combination<typename Mappings::template Runner<1, large>, std::complex<float>>,
                     Combination<typename Mappings::template Runner<3, 8>, std::complex<double>>>;

}  // namespace aperture::dense::oracle
