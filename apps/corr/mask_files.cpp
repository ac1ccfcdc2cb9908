// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/mask_files.hpp"

#include "aperture/media/image_file.hpp"

namespace aperture::apps {
namespace {

core::Array<float, 2> read_mask(const std::filesystem::path& file, const CorrOptions& options,
                                corr::Shape shape) {
    const media::Image image = media::read_image(file);
    const auto [channels, rows, columns] = image.planes.extent();
    const corr::Shape size{rows, columns};
    core::expects(size == shape,
                  size_mismatch(file.string(), size, options.inputs.front().string(), shape));
    core::Array<float, 2> mask({rows, columns});
    for (core::index_t i = 0; i < rows * columns; ++i) {
        bool counts = false;
        for (core::index_t c = 0; c < channels; ++c) {
            counts = counts || image.planes.data()[c * rows * columns + i] > 0;
        }
        mask.data()[i] = counts ? 1.0F : 0.0F;
    }
    return mask;
}

}  // namespace

std::vector<core::Array<float, 2>> read_masks(const CorrOptions& options, corr::Shape shape) {
    std::vector<core::Array<float, 2>> masks;
    for (const auto& file : options.masks) masks.push_back(read_mask(file, options, shape));
    return masks;
}

}  // namespace aperture::apps
