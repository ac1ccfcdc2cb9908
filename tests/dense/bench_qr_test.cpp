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
void expect_factors_of(const std::vector<std::pair<index_t, index_t>>& sizes, const Make& make) {
    std::vector<TallCase> cases = hard_cases({{5, 3}, sizes.back()});
    for (const auto& [rows, columns] : sizes) cases.push_back({rows, columns, Content::random});
    for (const TallCase& c : cases) {
        expect_factors<float>(c, make(float(), c.rows, c.columns));
        expect_factors<double>(c, make(double(), c.rows, c.columns));
    }
}

// Tasks have 8,192 rows.
TEST(ColumnQr, FactorsBackwardStably) {
    core::Cpu cpu(2);
    expect_factors_of({{1, 1}, {7, 3}, {100, 100}, {8200, 12}},
                      [&]<class T>(T, index_t rows, index_t columns) {
                          return bench::ColumnQr<T>(cpu, rows, columns);
                      });
}

// Panels have 64 columns.
TEST(PanelTrees, FactorsBackwardStably) {
    core::Cpu cpu(2);
    expect_factors_of({{1, 1}, {64, 64}, {4500, 129}, {700, 65}},
                      [&]<class T>(T, index_t rows, index_t columns) {
                          return bench::PanelTrees<T>(cpu, rows, columns);
                      });
}

// Blocks have 256 threads and 8 columns.
TEST(SimtColumnQr, FactorsBackwardStably) {
    core::Simt simt(core::LaneOrder::random, 5);
    expect_factors_of({{1, 1}, {40, 40}, {600, 17}, {300, 9}},
                      [&]<class T>(T, index_t rows, index_t columns) {
                          return bench::GpuColumnQr<T, core::Simt>(simt, rows, columns);
                      });
}

}  // namespace
}  // namespace aperture::dense::oracle
