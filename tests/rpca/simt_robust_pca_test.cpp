// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcore/allocated_bytes.hpp"
#include "libdense/gpu/tall_qr.cuh"
#include "librpca/gpu/robust_pca.cuh"
#include "tests/rpca/like_cpu_suite.hpp"
#include "tests/rpca/robust_pca_suite.hpp"
#include "tests/rpca/workspace_cases.hpp"

namespace aperture::rpca {

/// Eigenvectors for gpu::Spectrum on the SIMT host executor.
class EigenEigenvectors {
  public:
    EigenEigenvectors(core::Simt& /*simt*/, int order) : order_(order) {}

    /// 0, since Eigen's temporary memory is not on a device.
    static core::index_t bytes(core::Simt& /*simt*/, int /*order*/) { return 0; }

    void operator()(double* matrix, double* eigenvalues) const {
        Eigen::Map<Eigen::MatrixXd> all(matrix, order_, order_);
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(all);
        all = solver.eigenvectors();
        Eigen::Map<Eigen::VectorXd>(eigenvalues, order_) = solver.eigenvalues();
    }
    const int* failure() const { return &failure_; }

  protected:
    int failure_ = 0;

  private:
    int order_;
};

/// As if the second decomposition did not converge.
struct FailingEigenvectors : EigenEigenvectors {
    using EigenEigenvectors::EigenEigenvectors;

    void operator()(double* matrix, double* eigenvalues) {
        EigenEigenvectors::operator()(matrix, eigenvalues);
        failure_ = ++calls == 2 ? 1 : 0;
    }
    int calls = 0;
};

template <class T>
struct SolverParts<T, core::Simt> {
    using Operations = gpu::MultiplierOperations<T, core::Simt, EigenEigenvectors>;
    using Matrix = gpu::ProjectedMatrix<T, core::Simt>;
};

}  // namespace aperture::rpca

namespace aperture::rpca::oracle {
namespace {

template <class T>
using SimtRobustPca = RobustPca<T, core::Simt>;

template <core::LaneOrder order, core::SimtDevice device>
struct SimtRunner : HostRunner<core::Simt> {
    SimtRunner() : HostRunner{core::Simt(order, 7)} { executor.device = device; }

    static bool large() { return false; }
    static constexpr int ahead = 1;
    static std::vector<Shape> shapes() { return device_shapes(); }
};

constexpr core::SimtDevice hopper{90, 227 * 1024};
constexpr core::SimtDevice ada{89, 99 * 1024};
using OnHopper = SimtRunner<core::LaneOrder::forward, hopper>;
using OnAda = SimtRunner<core::LaneOrder::random, ada>;
INSTANTIATE_TYPED_TEST_SUITE_P(SimtForward, RobustPcaSuite, OnHopper);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtRandom, RobustPcaSuite, OnAda);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtRandom, RobustPcaLikeCpuSuite, OnAda);

template <class T>
void expect_promised(index_t frames, index_t values, const Parameters& parameters,
                     const core::SimtDevice& device = {}) {
    core::Simt simt;
    simt.device = device;
    const auto bytes_of_run = [&](FramesView<const T, core::Host> m) {
        const auto before = core::host_bytes_allocated();
        SimtRobustPca<T>(simt, frames, values, parameters).run(m, {}, {}, {});
        return static_cast<index_t>(core::host_bytes_allocated() - before);
    };
    expect_promise<T>(SimtRobustPca<T>::workspace_bytes(simt, frames, values, parameters), frames,
                      values, parameters, bytes_of_run);
}

// 130 frames are two blocks of frames. Rotations of 170 frames do not fit in shared memory.
TEST(SimtRobustPca, AllocatesWhatItPromises) {
    for (const Parameters& parameters : all_ways()) {
        expect_promised<float>(1, 1, parameters);
        expect_promised<double>(9, 1000, parameters);
        expect_promised<float>(12, 6000, parameters);
    }
    // Partial sums of products take most of the memory on a device of many multiprocessors.
    constexpr core::SimtDevice large{90, 227 * 1024, 132};
    Parameters parameters;
    parameters.max_iterations = 1;
    parameters.solver = Solver::accaltproj;
    expect_promised<float>(12, 15000, parameters, large);
    expect_promised<double>(12, 15000, parameters, large);
    parameters.solver = Solver::ialm;
    expect_promised<float>(130, 700, parameters);
    expect_promised<double>(170, 300, parameters);
}

TEST(SimtRobustPca, EndsWhereEigenvectorsDoNotConverge) {
    using Operations = gpu::MultiplierOperations<double, core::Simt, FailingEigenvectors>;
    core::Simt simt;
    const Array<double, 2> m = frames_of<double>(video_like(300, 170));
    Multipliers<double, Operations> multipliers(simt, 170, 300, Parameters{});
    EXPECT_THROW(multipliers.run(m.view(), {}, {}, {}), core::DeviceError);
}

/// f of matrices with known eigenvalues. Each run starts from the result of the one before.
TEST(SimtSpectrum, IsTheFunctionOfTheMatrix) {
    for (const int order : {1, 2, 3, 5, 31, 32, 33, 64, 67}) {
        SCOPED_TRACE(order);
        core::Simt simt(core::LaneOrder::reverse);
        gpu::Spectrum<double, core::Simt, EigenEigenvectors> spectrum(simt, order);
        spectrum.begin();
        RunState state;
        Matrix noise = Matrix::Random(order, order);
        noise.col(0).setOnes();
        const Matrix basis = Eigen::HouseholderQR<Matrix>(noise).householderQ();
        for (const double scale : {1e-3, 1.0, 2.25, 1e3}) {
            SCOPED_TRACE(scale);
            // Eigenvalues over twelve orders of magnitude, one of them twice.
            Eigen::VectorXd values(order);
            for (int i = 0; i < order; ++i) values(i) = std::pow(10.0, 5.9 - 12.0 * i / order);
            if (order > 2) values(order / 3) = values(order / 3 - 1 + (order < 6 ? 1 : 0));
            // The first eigenvector is that of equal frames. Its component must not affect the
            // function.
            values(0) = 0;
            const Matrix changing = values.cwiseSqrt().asDiagonal() * basis.transpose();
            const Matrix w = changing.colwise() + 100 * Eigen::VectorXd::Random(order);
            const Matrix matrix = w.transpose() * w;
            const Matrix matrix_of_changing = changing.transpose() * changing;
            const Eigen::VectorXd kept = values.unaryExpr([&](double value) {
                const double x = scale * value;
                return x > 1 ? 1 - 1 / std::sqrt(x) : 0.0;
            });
            spectrum.find(matrix.data(), scale, &state);
            const Eigen::Map<const Matrix> function(spectrum.function(), order, order);
            const Eigen::Map<const Matrix> vectors(spectrum.transposed_basis(), order, order);
            EXPECT_LE((vectors.transpose() * vectors - Matrix::Identity(order, order)).norm(),
                      1e-13 * order);
            const Matrix found = vectors * function * vectors.transpose();
            const Matrix expected = basis * kept.asDiagonal() * basis.transpose();
            // Of eigenvalues up to 10^6, those near 10^-6 of the largest are accurate to 10^-4.
            EXPECT_LE((found - expected).norm(), 1e-8 * order);
            EXPECT_EQ(state.rank, ((scale * values).array() > 1 + 1e-9).count());
            EXPECT_NEAR(spectrum.largest_eigenvalue(matrix_of_changing.data(), &state),
                        values.maxCoeff(), 1e-9 * values.maxCoeff());
        }
    }
}

}  // namespace
}  // namespace aperture::rpca::oracle
