// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Results of `corr` on a GPU compared with those on the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "tests/apps/ensemble_suite.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::apps {
namespace {

LoadedImage image_of(unsigned seed, core::index_t rows, core::index_t columns) {
    LoadedImage loaded;
    loaded.file = "image";
    loaded.image.planes = core::Array<float, 3>({3, rows, columns});
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> value(0, 255);
    for (float& sample : loaded.image.planes) sample = static_cast<float>(value(generator));
    return loaded;
}

/// Writes a mask that is black in one corner.
std::filesystem::path mask_file(const aperture::tests::TemporaryFolder& folder, core::index_t rows,
                                core::index_t columns) {
    const auto file = folder / "mask.pgm";
    std::ofstream stream(file);
    stream << "P2\n" << columns << ' ' << rows << "\n255\n";
    for (core::index_t y = 0; y < rows; ++y) {
        for (core::index_t x = 0; x < columns; ++x) stream << (y < 9 && x < 20 ? 0 : 255) << '\n';
    }
    return file;
}

void expect_close(const double* found, const double* expected, core::index_t count, double bound) {
    for (core::index_t i = 0; i < count; ++i) {
        ASSERT_NEAR(found[i], expected[i], bound) << "entry " << i;
    }
}

double largest_of(const core::Array<double, 2>& surface) {
    double largest = 0;
    for (const double value : surface) largest = std::max(largest, std::abs(value));
    return largest;
}

class GpuCorr : public aperture::tests::GpuTest {
  protected:
    Console console_{"corr", true};
    core::Cpu cpu_{2};
    aperture::tests::TemporaryFolder folder_;
};
class GpuCorrEstimators : public GpuCorr, public testing::WithParamInterface<corr::Estimator> {};
INSTANTIATE_TEST_SUITE_P(All, GpuCorrEstimators,
                         testing::Values(corr::Estimator::raw, corr::Estimator::unbiased,
                                         corr::Estimator::pearson));

TEST_P(GpuCorrEstimators, SurfacesAreTheCpus) {
    const LoadedImage a = image_of(1, 60, 70);
    const LoadedImage b = image_of(2, 60, 70);
    core::Gpu gpu;
    for (const bool pair : {false, true}) {
        for (const bool masked : {false, true}) {
            for (const bool stored : {false, true}) {
                SCOPED_TRACE(testing::Message() << pair << masked << stored);
                CorrOptions options;
                options.inputs = {"a", "b"};
                options.inputs.resize(pair ? 2 : 1);
                options.parameters.estimator = GetParam();
                options.parameters.both_signs = true;
                if (stored) options.parameters.planes.reset();
                if (masked) options.masks = {mask_file(folder_, 60, 70)};
                const core::Extents<3>& extent = a.image.planes.extent();
                corr::ImageCorrelator<core::Cpu> expected(cpu_, options.parameters, extent, pair,
                                                          read_masks(options, a.shape()));
                corr::ImageCorrelator<core::Gpu> found(gpu, options.parameters, extent, pair,
                                                       read_masks(gpu, options, a.shape()));
                for (int run = 0; run < 2; ++run) {
                    const core::Array<float, 3>& first = run == 0 ? b.image.planes : a.image.planes;
                    const core::Array<float, 3>& second = pair ? b.image.planes : first;
                    expected.run(first, second);
                    found.run(first, second);
                    const corr::Surfaces& e = expected.surfaces();
                    const corr::Surfaces& f = found.surfaces();
                    const double bound = 1e-4 * largest_of(e.surface);
                    expect_close(f.surface.data(), e.surface.data(), e.surface.size(), bound);
                    ASSERT_EQ(f.planes.extent(), e.planes.extent());
                    expect_close(f.planes.data(), e.planes.data(), e.planes.size(), bound);
                    EXPECT_TRUE(aperture::tests::same_bytes(f.counts, e.counts));
                    EXPECT_NEAR(corr::energy(cpu_, found.planes(corr::Side::a)),
                                corr::energy(cpu_, expected.planes(corr::Side::a)),
                                1e-4 * corr::energy(cpu_, expected.planes(corr::Side::a)));
                }
            }
        }
    }
}

TEST_F(GpuCorr, PairsAreTheCpus) {
    std::vector<std::filesystem::path> files;
    for (unsigned i = 0; i < 4; ++i) {
        const std::string name = std::to_string(i) + ".pnm";
        files.push_back(tests::write_noise(folder_ / name, i / 2, {40, 50}, true));
    }
    CorrOptions options;
    options.ensemble = true;
    options.parameters.each_plane = false;
    options.all_pairs = true;
    options.parameters.both_signs = true;
    options.inputs = {folder_ / ""};
    options.parameters.planes = corr::PlaneKind::rgb;
    options.parameters.normalization = corr::Normalization::none;
    core::Gpu gpu;
    const EnsembleResults expected = run_ensemble(cpu_, cpu_, options, files, console_);
    const EnsembleResults found = run_ensemble(gpu, cpu_, options, files, console_);
    const core::Array<double, 2>& e = expected.pairs->found.peaks;
    const core::Array<double, 2>& f = found.pairs->found.peaks;
    ASSERT_EQ(f.extent(), e.extent());
    expect_close(f.data(), e.data(), e.size(), 1e-5);
}

TEST_F(GpuCorr, EnsemblesAreOfTheirImages) {
    core::Gpu gpu;
    tests::expect_ensembles_of_their_images(gpu, cpu_);
}

/// Large images, so that copies and kernels of one image overlap the work on the image before it.
TEST_F(GpuCorr, LargeImagesOfAnEnsembleDoNotMix) {
    std::vector<std::filesystem::path> files;
    for (unsigned i = 0; i < 12; ++i) {
        const std::string name = std::to_string(i) + ".pnm";
        files.push_back(tests::write_noise(folder_ / name, i % 5, {400, 500}, i % 2 == 0));
    }
    core::Gpu gpu;
    CorrOptions options;
    options.ensemble = true;
    options.parameters.each_plane = false;
    options.inputs = {folder_ / ""};
    corr::EnsembleStatistics expected;
    std::optional<corr::ImageCorrelator<core::Gpu>> correlator;
    for (const auto& file : files) {
        const LoadedImage loaded{file, media::read_image(file), {}, 0};
        if (!correlator) {
            correlator.emplace(gpu, options.parameters, loaded.image.planes.extent(), false);
        }
        correlator->run(loaded.image.planes);
        expected.add(correlator->surfaces().surface);
    }
    for (int repetition = 0; repetition < 5; ++repetition) {
        const EnsembleResults found = run_ensemble(gpu, cpu_, options, files, console_);
        EXPECT_TRUE(aperture::tests::same_bytes(found.statistics.mean(), expected.mean()));
        EXPECT_TRUE(
            aperture::tests::same_bytes(found.statistics.deviation(), expected.deviation()));
    }
}

}  // namespace
}  // namespace aperture::apps
