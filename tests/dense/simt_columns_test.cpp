// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "libdense/gpu/batch_factor.cuh"
#include "tests/dense/factor_suite.hpp"
#include "tests/dense/orthogonal_suite.hpp"

namespace aperture::dense::oracle {

/// Threads and groups of threads have problems of these orders in their registers. Each takes long
/// to compile.
struct SimtColumns : core::Simt {
    using Orders = std::integer_sequence<int, 1, 3, 8, 17>;
};

/// The same, with the mapping forced.
template <Mapping mapping>
struct Forced {
    static constexpr bool emulated = true;
    SimtColumns executor = SimtColumns();

    void run(auto function, auto... arguments) {
        const ForcedMapping forced(mapping);
        function(executor, arguments...);
    }
};
using InColumns = Forced<Mapping::columns>;
using InRows = Forced<Mapping::rows>;
INSTANTIATE_TYPED_TEST_SUITE_P(SimtColumns, FactorSuite, AllCombinations<InColumns>);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtRows, FactorSuite, AllCombinations<InRows>);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtColumns, OrthogonalSuite, AllCombinations<InColumns>);

}  // namespace aperture::dense::oracle
