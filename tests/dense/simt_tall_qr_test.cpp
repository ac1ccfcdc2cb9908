// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/tall_qr.cuh"
#include "tests/dense/tall_qr_suite.hpp"

namespace aperture::dense::oracle {
namespace {

/// Configurations: trees of small blocks, which are deep and whose leaves absorb several blocks;
/// trees of the library's blocks; the library's choice for 163 and 99 KiB of shared memory a block.
enum class Runs { small_trees, trees, sm_80, sm_86 };

template <core::LaneOrder order, Runs runs>
struct SimtRunner {
    core::Simt simt{order, 5};

    SimtRunner() {
        if (runs == Runs::sm_80) simt.device = {80, 163 * 1024};
        if (runs == Runs::sm_86) simt.device = {86, 99 * 1024};
    }

    static constexpr int groups = runs == Runs::small_trees ? 3
                                  : runs == Runs::trees     ? tuning::large_tall_groups
                                                            : 0;
    static index_t tall() { return 530; }

    static std::string why_not() { return ""; }
    static std::vector<QrMethod> methods() {
        if (runs == Runs::trees) return {QrMethod::tsqr};
        return {QrMethod::tsqr, QrMethod::cholesky2};
    }
    static std::vector<std::pair<int, int>> sizes() {
        switch (runs) {
            case Runs::small_trees:
                return {{1, 1},   {2, 1},   {8, 8},    {31, 17}, {32, 32},   {33, 33},  {96, 16},
                        {97, 16}, {65, 64}, {129, 17}, {290, 5}, {1500, 33}, {3100, 65}};
            case Runs::trees:
                return {{7, 3}, {352, 16}, {353, 33}, {4100, 40}};
            default:
                return {{33, 33}, {97, 16}, {290, 5}, {1500, 33}};
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
using Sm80 = SimtRunner<core::LaneOrder::reverse, Runs::sm_80>;
using Sm86 = SimtRunner<core::LaneOrder::random, Runs::sm_86>;
INSTANTIATE_TYPED_TEST_SUITE_P(SimtSmallTrees, TallQrSuite, SmallTrees);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtTrees, TallQrSuite, Trees);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtSm80, TallQrSuite, Sm80);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtSm86, TallQrSuite, Sm86);

/// Expects a tree of the largest blocks that fit in the device's shared memory.
template <class T, int Groups>
void expect_groups(int shared_bytes, index_t rows) {
    core::Simt simt;
    simt.device.shared_memory_per_block = shared_bytes;
    const auto tree = gpu::make_tree<T, core::Simt, 0>(simt, rows, 3);
    using Expected = gpu::TreeQr<T, core::Simt, Groups>;
    EXPECT_NE(dynamic_cast<const Expected*>(tree.get()), nullptr) << shared_bytes << ' ' << rows;
}

TEST(SimtTreeQr, TakesBlocksThatADeviceHasRoomFor) {
    constexpr index_t many = tuning::large_tall_rows;
    expect_groups<float, 11>(227 * 1024, many);
    expect_groups<float, 11>(163 * 1024, many);
    expect_groups<float, 7>(99 * 1024, many);
    expect_groups<float, 7>(99 * 1024, 1000);
    expect_groups<double, 11>(227 * 1024, many);
    expect_groups<double, 7>(163 * 1024, many);
    expect_groups<double, 4>(99 * 1024, many);
    expect_groups<double, 4>(99 * 1024, 1000);
}

TEST(SimtGram, HasTheSameSumsOnSmallDevices) {
    const auto gram = [](int shared_bytes, auto number) {
        using T = decltype(number);
        core::Simt simt;
        simt.device.shared_memory_per_block = shared_bytes;
        const Array<T, 2> a = matrix_of<T>({300, 130, Content::random});
        Array<T, 2> columns({130, 320});
        for (index_t i = 0; i < 300; ++i) {
            for (index_t j = 0; j < 130; ++j) columns(j, i) = a(i, j);
        }
        Array<double, 2> sums({130, 130});
        gpu::ColumnProducts<T, core::Simt>(simt).find_gram({columns.data(), {300, 130}, {1, 320}},
                                                           core::kernel_view(sums.view()));
        return sums;
    };
    const auto expect_same = [&](auto number) {
        const auto whole = gram(227 * 1024, number);
        for (const int shared_bytes : {163 * 1024, 99 * 1024}) {
            const auto small = gram(shared_bytes, number);
            for (index_t i = 0; i < whole.size(); ++i) {
                ASSERT_NEAR(small.data()[i], whole.data()[i], 1e-14 * 300) << i;
            }
        }
    };
    expect_same(1.0F);
    expect_same(1.0);
}

/// 200 columns span three sides of the Gram matrix's blocks, 96 columns fill one.
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
