// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/tall_qr.cuh"
#include "tests/dense/tall_qr_suite.hpp"

namespace aperture::dense::oracle {
namespace {

/// What is run: trees of small blocks, so that they are deep and leaves absorb several, those of
/// the library's blocks, and methods without trees.
enum class Runs { small_trees, trees, columns };

template <core::LaneOrder order, Runs runs>
struct SimtRunner {
    core::Simt simt{order, 5};

    static constexpr int groups = runs == Runs::small_trees ? 3
                                  : runs == Runs::trees     ? tuning::large_tall_groups
                                                            : 0;
    static constexpr index_t tall = runs == Runs::columns ? 197 : 530;

    static std::string why_not() { return ""; }
    static std::vector<QrMethod> methods() {
        switch (runs) {
            case Runs::small_trees:
                return {QrMethod::tsqr, QrMethod::cholesky2};
            case Runs::trees:
                return {QrMethod::caqr};
            default:
                return {QrMethod::blas2, QrMethod::shifted_cholesky3};
        }
    }
    static std::vector<std::pair<int, int>> sizes() {
        switch (runs) {
            case Runs::small_trees:
                return {{1, 1},   {2, 1},   {8, 8},    {31, 17}, {32, 32},   {33, 33},  {96, 16},
                        {97, 16}, {65, 64}, {129, 17}, {290, 5}, {1500, 33}, {3100, 65}};
            case Runs::trees:
                return {{7, 3}, {352, 16}, {353, 33}, {4100, 40}};
            default:
                return {{1, 1}, {7, 3}, {300, 9}, {40, 40}, {600, 33}};
        }
    }
    static std::uint64_t allocations() { return core::host_allocations(); }

    template <class T>
    class Qr {
      public:
        Qr(SimtRunner& runner, QrMethod method, index_t rows, index_t columns)
            : qr_(runner.simt, method, rows, columns) {}

        std::uint64_t factor(View<const T, 2, Host> a, View<T, 2, Host> r) {
            return counted([&] { qr_.factor(a, r, true); });
        }
        std::uint64_t find_r(View<const T, 2, Host> a, View<T, 2, Host> r) {
            return counted([&] { qr_.factor(a, r, false); });
        }
        std::uint64_t form_q(View<T, 2, Host> q) {
            return counted([&] { qr_.form_q(q); });
        }
        void apply_q_transposed(View<const T, 2, Host> c, View<T, 2, Host> x) {
            qr_.apply_q_transposed(c, x);
        }
        void apply_q(View<const T, 2, Host> x, View<T, 2, Host> c) { qr_.apply_q(x, c); }
        bool fell_back() const { return qr_.fell_back(); }

      private:
        template <class Work>
        static std::uint64_t counted(const Work& work) {
            const auto before = allocations();
            work();
            return allocations() - before;
        }

        gpu::DeviceTallQr<T, core::Simt, groups> qr_;
    };
};

using SmallTrees = SimtRunner<core::LaneOrder::random, Runs::small_trees>;
using Trees = SimtRunner<core::LaneOrder::reverse, Runs::trees>;
using Columns = SimtRunner<core::LaneOrder::random, Runs::columns>;
INSTANTIATE_TYPED_TEST_SUITE_P(SimtSmallTrees, TallQrSuite, SmallTrees);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtTrees, TallQrSuite, Trees);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtColumns, TallQrSuite, Columns);

/// Columns in three sides of a Gram matrix's blocks, and in one that is full.
TEST(SimtCholeskyQr, FactorsManyColumns) {
    core::Simt simt(core::LaneOrder::reverse, 5);
    for (const index_t columns : {index_t{200}, index_t{96}}) {
        const Array<float, 2> a = matrix_of<float>({330, columns, Content::random});
        gpu::DeviceTallQr<float, core::Simt> qr(simt, QrMethod::cholesky2, 330, columns);
        Array<float, 2> r({columns, columns}), q({330, columns}), unit({columns, columns});
        qr.factor(a.view(), r, true);
        EXPECT_FALSE(qr.fell_back());
        qr.form_q(q);
        EXPECT_LE(residual_ratio<float>(a.view(), q.view(), r.view()), ratio_limit);
        EXPECT_LE(orthogonality_ratio<float>(q.view()), ratio_limit);
        qr.apply_q_transposed(q.view(), unit);
        for (index_t i = 0; i < columns; ++i) {
            for (index_t j = 0; j < columns; ++j) ASSERT_NEAR(unit(i, j), i == j ? 1 : 0, 1e-5);
        }
    }
}

}  // namespace
}  // namespace aperture::dense::oracle
