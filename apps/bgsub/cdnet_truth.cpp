// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/cdnet_truth.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "aperture/media/image_file.hpp"

namespace aperture::apps {
namespace {

namespace fs = std::filesystem;
using core::index_t;
using Labels = core::Array<std::uint8_t, 2>;

fs::path truth_file(const fs::path& folder, index_t number) {
    std::ostringstream name;
    name << "gt" << std::setw(6) << std::setfill('0') << number << ".png";
    const fs::path file = folder / name.str();
    return fs::exists(file) ? file : fs::path(file).replace_extension(".pgm");
}

Labels read_labels(const fs::path& file) {
    const media::Image image = media::read_image(file);
    const auto [channels, rows, columns] = image.planes.extent();
    Labels labels({rows, columns});
    std::transform(image.planes.data(), image.planes.data() + rows * columns, labels.begin(),
                   [](float value) { return static_cast<std::uint8_t>(std::lround(value)); });
    return labels;
}

bool holds_masks(const fs::path& folder) {
    std::error_code error;
    return std::any_of(fs::directory_iterator(folder, error), fs::directory_iterator(),
                       [](const fs::directory_entry& entry) {
                           const std::string name = entry.path().filename().string();
                           return name.starts_with("gt") &&
                                  (name.ends_with(".png") || name.ends_with(".pgm"));
                       });
}

/// Resamples `mask` to `extent` by nearest neighbour.
Labels at_size(rpca::MaskView mask, const core::Extents<2>& extent) {
    Labels fitted(extent);
    const auto nearest = [](index_t i, index_t from, index_t to) {
        return (2 * i + 1) * to / (2 * from);
    };
    for (index_t row = 0; row < extent[0]; ++row) {
        for (index_t column = 0; column < extent[1]; ++column) {
            fitted(row, column) = mask(nearest(row, extent[0], mask.extent[0]),
                                       nearest(column, extent[1], mask.extent[1]));
        }
    }
    return fitted;
}

}  // namespace

CdnetTruth::CdnetTruth(const fs::path& folder) : masks_(folder) {
    fs::path root = folder;
    if (fs::is_directory(folder / "groundtruth")) {
        masks_ = folder / "groundtruth";
    } else if (!fs::exists(folder / "ROI.bmp") && folder.lexically_normal().has_filename()) {
        root = folder.lexically_normal().parent_path();
    }
    core::expects(holds_masks(masks_), "--truth ", folder.string(),
                  ": no true mask such as gt000001.png");
    region_file_ = root / "ROI.bmp";
    if (fs::exists(region_file_)) region_ = read_labels(region_file_);
    const fs::path range = root / "temporalROI.txt";
    if (!fs::exists(range)) return;
    std::ifstream in(range);
    index_t last = 0;
    core::expects(in >> first_ >> last && first_ <= last, range.string(),
                  ": expected the numbers of the first and last scored frames");
    last_ = last;
}

rpca::MaskView CdnetTruth::region_for(const Labels& truth, Console& console) {
    if (region_.size() > 0 && region_.extent() != truth.extent()) {
        console.note(core::text(region_file_.string(), ": ", size_text(region_.extent()),
                                " pixels, but the true masks have ", size_text(truth.extent()),
                                "; ignored"));
        region_ = Labels();
    }
    return std::as_const(region_).view();
}

std::optional<rpca::Score> CdnetTruth::score(index_t number, rpca::MaskView mask, bool resized,
                                             Console& console) {
    if (number < first_ || (last_ && number > *last_)) return std::nullopt;
    const fs::path file = truth_file(masks_, number);
    if (!fs::exists(file)) return std::nullopt;
    const Labels truth = read_labels(file);
    const rpca::MaskView region = region_for(truth, console);
    if (truth.extent() == mask.extent)
        return rpca::score(mask, std::as_const(truth).view(), region);
    core::expects(resized, file.string(), ": ", size_text(truth.extent()),
                  " pixels, but the frames have ", size_text(mask.extent));
    const Labels fitted = at_size(mask, truth.extent());
    return rpca::score(std::as_const(fitted).view(), std::as_const(truth).view(), region);
}

}  // namespace aperture::apps
