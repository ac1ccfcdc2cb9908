// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "bench/column_qr.hpp"
#include "bench/gpu_column_qr.cuh"
#include "bench/panel_trees.hpp"
#include "libcore/gpu/launch.cuh"
#include "tests/dense/tall_qr_suite.hpp"

/// The QR methods that only benchmarks run.
namespace aperture::dense::oracle {
namespace {

/// make(type, rows, columns)
template <class Make>
void expect_factors_of(std::vector<TallCase> cases, index_t tall, const Make& make) {
    for (const TallCase& c : hard_cases(tall)) cases.push_back(c);
    for (const TallCase& c : cases) {
        expect_factors<float>(c, make(float(), c.rows, c.columns));
        expect_factors<double>(c, make(double(), c.rows, c.columns));
    }
}

TEST(ColumnQr, FactorsBackwardStably) {
    core::Cpu cpu(2);
    expect_factors_of({{1, 1, Content::random},
                       {7, 3, Content::random},
                       {100, 100, Content::random},
                       {9001, 20, Content::random}},
                      6200, [&]<class T>(T, index_t rows, index_t columns) {
                          return bench::ColumnQr<T>(cpu, rows, columns);
                      });
}

// Panels have 64 columns.
TEST(PanelTrees, FactorsBackwardStably) {
    core::Cpu cpu(2);
    expect_factors_of({{1, 1, Content::random},
                       {64, 64, Content::random},
                       {700, 65, Content::random},
                       {4500, 129, Content::random}},
                      6200, [&]<class T>(T, index_t rows, index_t columns) {
                          return bench::PanelTrees<T>(cpu, rows, columns);
                      });
}

TEST(SimtColumnQr, FactorsBackwardStably) {
    core::Simt simt(core::LaneOrder::random, 5);
    expect_factors_of({{1, 1, Content::random},
                       {7, 3, Content::random},
                       {300, 9, Content::random},
                       {600, 33, Content::random}},
                      197, [&]<class T>(T, index_t rows, index_t columns) {
                          return bench::GpuColumnQr<T, core::Simt>(simt, rows, columns);
                      });
}

}  // namespace
}  // namespace aperture::dense::oracle
