// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/change_layout.cuh"
#include "tests/dense/layout_suite.hpp"

namespace aperture::dense::oracle {
namespace {

struct OnCpu {
    template <class T>
    static void run(MatrixBatch<const T, core::Host> from, MatrixBatch<T, core::Host> to,
                    const auto& functor) {
        core::Cpu cpu(2);
        change_layout<T>(cpu, from, to, functor);
    }
};
struct OnSimt {
    template <class T>
    static void run(MatrixBatch<const T, core::Host> from, MatrixBatch<T, core::Host> to,
                    const auto& functor) {
        core::Simt simt(core::LaneOrder::random);
        launch_change_layout<core::Simt, T>(simt, from, to, functor);
    }
};

TEST(ChangeLayout, SquaresOnTheWayOnTheCpu) {
    check_squares<OnCpu, float>();
    check_squares<OnCpu, double>();
    check_squares<OnCpu, std::complex<float>>();
    check_squares<OnCpu, std::complex<double>>();
}

TEST(ChangeLayout, SquaresOnTheWayOnTheSimtExecutor) {
    check_squares<OnSimt, float>();
    check_squares<OnSimt, std::complex<double>>();
}

// A GPU's last tile has few problems, or none but those that were moved to it.
TEST(ChangeLayout, SquaresOfAnyNumberOfProblemsOnTheSimtExecutor) {
    for (core::index_t problems = 62; problems < 82; ++problems) {
        const core::Extents<3> extent{problems, 9, 9};
        check_squares<OnSimt, float>(extent, Order::columns, Order::problems, 0, 0);
        check_squares<OnSimt, float>(extent, Order::problems, Order::columns, 0, 0);
    }
}

template <class T>
void check_large_batch(core::index_t problems, int rows, int columns, core::index_t gap) {
    SCOPED_TRACE(::testing::Message() << problems << " of " << rows << " x " << columns);
    HostBatch<T> from(problems, rows, columns, Order::columns);
    HostBatch<T> to(problems, rows, columns, Order::problems, gap);
    HostBatch<T> back(problems, rows, columns, Order::columns, 2 * gap);
    const auto for_each = [&](const auto& visit) {
        for (core::index_t p = 0; p < problems; ++p) {
            for (int i = 0; i < rows; ++i) {
                for (int j = 0; j < columns; ++j) visit(p, i, j);
            }
        }
    };
    int number = 0;
    for_each([&](core::index_t p, int i, int j) { from.view()(p, i, j) = T(Real<T>(++number)); });
    core::Cpu cpu(2);
    change_layout<T>(cpu, std::as_const(from).view(), to.view());
    change_layout<T>(cpu, std::as_const(to).view(), back.view());
    to.expect_gaps_untouched();
    back.expect_gaps_untouched();
    core::index_t wrong = 0;
    for_each([&](core::index_t p, int i, int j) {
        const T value = from.view()(p, i, j);
        if (to.view()(p, i, j) != value || back.view()(p, i, j) != value) ++wrong;
    });
    EXPECT_EQ(wrong, 0);
}

// Large enough for stores past the caches, at addresses of every kind.
TEST(ChangeLayout, OfLargeBatches) {
    check_large_batch<float>(30011, 1, 37, 1);
    check_large_batch<float>(300007, 2, 2, 0);
    check_large_batch<float>(4003, 17, 17, 0);
    check_large_batch<float>(1203, 31, 31, 0);
    check_large_batch<double>(601, 31, 31, 0);
    check_large_batch<double>(1203, 5, 100, 3);
    check_large_batch<std::complex<double>>(901, 17, 19, 0);
}

/// All entries of a batch have places of their own, within its size.
template <class Layout>
void expect_disjoint(const core::Extents<3>& extent, const Padding& padding) {
    std::vector<int> uses(static_cast<std::size_t>(padding.size));
    const core::View<int, 3, core::Host, Layout> view(uses.data(), extent, padding.stride);
    for (core::index_t p = 0; p < extent[0]; ++p) {
        for (core::index_t i = 0; i < extent[1]; ++i) {
            for (core::index_t j = 0; j < extent[2]; ++j)
                ++view.data[p * padding.stride[0] + i * padding.stride[1] + j * padding.stride[2]];
        }
    }
    EXPECT_EQ(std::count(uses.begin(), uses.end(), 1), extent[0] * extent[1] * extent[2]);
}

TEST(Padding, CostsAtMostATenth) {
    for (const core::index_t problems : {1, 31, 320, 1000, 4096}) {
        for (const core::index_t n : {1, 2, 3, 5, 7, 8, 11}) {
            const core::Extents<3> extent{problems, n, n};
            const Padding apart = padded<float, core::Interleaved>(extent);
            const Padding after = padded<double, core::Concatenated>(extent);
            expect_disjoint<core::Interleaved>(extent, apart);
            expect_disjoint<core::Concatenated>(extent, after);
            EXPECT_LE(10 * apart.size, 11 * problems * n * n);
            EXPECT_LE(10 * after.size, 11 * problems * n * n);
        }
    }
}

TEST(Padding, AlignsMatricesWhereThatIsCheap) {
    const auto stride = [](core::index_t n) {
        return padded<float, core::Concatenated>({10, 1, n}).stride[0];
    };
    EXPECT_EQ(stride(5), 5);    // 8 would cost 60 %
    EXPECT_EQ(stride(39), 40);  // of 16 bytes
    EXPECT_EQ(stride(31), 32);  // of 128 bytes
    EXPECT_EQ(stride(1001), 1024);
}

TEST(Padding, AlignsEntriesAwayFromPages) {
    const auto stride = [](core::index_t problems) {
        return padded<float, core::Interleaved>({problems, 5, 5}).stride[2];
    };
    EXPECT_EQ(stride(10), 10);
    EXPECT_EQ(stride(1000), 1056);  // 1024 is a page
    EXPECT_EQ(stride(1000000), 1000000 + 0);
    EXPECT_EQ(stride(1 << 20), (1 << 20) + 32);
    EXPECT_EQ(stride(3000), 3008);
}

}  // namespace
}  // namespace aperture::dense::oracle
