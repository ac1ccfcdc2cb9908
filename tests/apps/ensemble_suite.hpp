// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "apps/corr/ensemble.hpp"
#include "apps/corr/mask_files.hpp"
#include "tests/same_bytes.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture::apps::tests {

/// Writes a text PNM of random values, grey (P2) or colour (P3).
inline std::filesystem::path write_noise(const std::filesystem::path& file, unsigned seed,
                                         corr::Shape shape, bool colour) {
    std::ofstream stream(file);
    stream << (colour ? "P3" : "P2") << '\n' << shape.columns << ' ' << shape.rows << "\n255\n";
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> value(0, 255);
    for (core::index_t i = 0; i < (colour ? 3 : 1) * shape.rows * shape.columns; ++i) {
        stream << value(generator) << '\n';
    }
    return file;
}

/// More images than are processed at a time, grey and colour. Some are unusable.
struct NoiseImages {
    static constexpr corr::Shape shape{33, 47};
    aperture::tests::TemporaryFolder folder;
    std::vector<std::filesystem::path> all;
    std::vector<std::filesystem::path> good;

    NoiseImages() {
        for (unsigned i = 0; i < 12; ++i) {
            const auto file = folder / (std::to_string(i) + ".pnm");
            if (i % 7 == 1) {
                write_noise(file, i, {shape.rows + i, shape.columns}, true);
            } else if (i % 7 == 3) {
                std::ofstream(file) << "P2 no image";
            } else {
                good.push_back(write_noise(file, i, shape, i % 3 != 0));
            }
            all.push_back(file);
        }
    }
};

/// Expects the bits of its images' own results from an ensemble.
template <class Executor>
void expect_ensemble_of_its_images(Executor& executor, core::Cpu& cpu, CorrOptions options,
                                   const NoiseImages& images) {
    Console console("corr", true);
    options.ensemble = true;
    options.parameters.each_plane = false;
    options.inputs = {images.folder / ""};
    testing::internal::CaptureStderr();
    const EnsembleResults found = run_ensemble(executor, cpu, options, images.all, console);
    const std::string warnings = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), found.skipped);

    corr::EnsembleStatistics expected;
    std::vector<std::string> names;
    std::optional<corr::ImageCorrelator<Executor>> correlator;
    std::optional<corr::RadialSpectrum> spectrum;
    for (const auto& file : images.good) {
        LoadedImage loaded{file, media::read_image(file), {}, 0};
        if (!correlator) {
            correlator.emplace(executor, options.parameters, loaded.image.planes.extent(), false,
                               read_masks(executor, options, loaded.shape()));
        }
        if (!spectrum) spectrum.emplace(cpu, loaded.shape());
        correlator->run(loaded.image.planes);
        expected.add(correlator->surfaces().surface);
        spectrum->add(correlator->planes(corr::Side::a));
        names.push_back(file);
    }
    EXPECT_EQ(found.images, names);
    EXPECT_EQ(found.skipped, static_cast<core::index_t>(images.all.size() - names.size()));
    EXPECT_TRUE(aperture::tests::same_bytes(found.statistics.mean(), expected.mean()));
    EXPECT_TRUE(aperture::tests::same_bytes(found.statistics.deviation(), expected.deviation()));
    EXPECT_TRUE(aperture::tests::same_bytes(found.counts, correlator->surfaces().counts));
    ASSERT_EQ(found.spectrum.has_value(), options.radial.has_value());
    if (found.spectrum) {
        EXPECT_EQ(found.spectrum->power, spectrum->average().power);
    }
    std::vector<std::string> stages;
    for (const core::Stage& stage : found.times.stages) stages.push_back(stage.name);
    EXPECT_EQ(stages, (std::vector<std::string>{"read", "planes", "correlate"}));
}

/// Every value of `--estimator`, with and without options that need an image's planes on the host.
template <class Executor>
void expect_ensembles_of_their_images(Executor& executor, core::Cpu& cpu) {
    const NoiseImages images;
    for (const auto estimator :
         {corr::Estimator::raw, corr::Estimator::unbiased, corr::Estimator::pearson}) {
        for (const auto method : {corr::Method::fft, corr::Method::direct}) {
            for (const bool with_spectrum : {false, true}) {
                for (const bool masked : {false, true}) {
                    SCOPED_TRACE(testing::Message()
                                 << "estimator " << static_cast<int>(estimator) << ", method "
                                 << static_cast<int>(method) << ", spectrum " << with_spectrum
                                 << ", masked " << masked);
                    CorrOptions options;
                    options.parameters.estimator = estimator;
                    options.parameters.method = method;
                    options.parameters.both_signs = true;
                    if (with_spectrum) options.radial = images.folder / "r.csv";
                    if (masked) {
                        options.masks = {
                            write_noise(images.folder / "mask.pnm", 99, NoiseImages::shape, false)};
                    }
                    expect_ensemble_of_its_images(executor, cpu, options, images);
                }
            }
        }
    }
}

}  // namespace aperture::apps::tests
