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

fs::path truth_file(const fs::path& folder, index_t number) {
    std::ostringstream name;
    name << "gt" << std::setw(6) << std::setfill('0') << number << ".png";
    const fs::path file = folder / name.str();
    return fs::exists(file) ? file : fs::path(file).replace_extension(".pgm");
}

TrueMask read_labels(const fs::path& file) {
    const media::Image image = media::read_image(file);
    const auto [channels, rows, columns] = image.planes.extent();
    TrueMask labels({rows, columns});
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

}  // namespace

rpca::Score score(rpca::MaskView mask, const TrueMask& truth) {
    if (mask.extent == truth.extent()) return rpca::score(mask, truth.view(), {});
    const core::Array<std::uint8_t, 2> fitted = nearest_at(mask, truth.extent());
    return rpca::score(fitted.view(), truth.view(), {});
}

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

void CdnetTruth::leave_out_region(TrueMask& truth, Console& console) {
    constexpr std::uint8_t outside = 85;
    if (region_.size() == 0) return;
    if (region_.extent() != truth.extent()) {
        console.note(core::text(region_file_.string(), ": ", size_text(region_.extent()),
                                " pixels, but the true masks have ", size_text(truth.extent()),
                                "; ignored"));
        region_ = TrueMask();
        return;
    }
    std::transform(truth.begin(), truth.end(), region_.begin(), truth.begin(),
                   [](std::uint8_t label, std::uint8_t in) { return in == 0 ? outside : label; });
}

std::optional<TrueMask> CdnetTruth::mask(index_t number, const core::Extents<2>& frames,
                                         bool resized, Console& console) {
    if (number < first_ || (last_ && number > *last_)) return std::nullopt;
    const fs::path file = truth_file(masks_, number);
    if (!fs::exists(file)) return std::nullopt;
    TrueMask truth = read_labels(file);
    core::expects(resized || truth.extent() == frames, file.string(), ": ",
                  size_text(truth.extent()), " pixels, but the frames have ", size_text(frames));
    leave_out_region(truth, console);
    return truth;
}

}  // namespace aperture::apps
