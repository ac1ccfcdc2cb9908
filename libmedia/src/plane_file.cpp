// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/plane_file.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "aperture/core/error.hpp"
#include "libmedia/src/hdf5.hpp"
#include "libmedia/src/stored_dataset.hpp"

namespace aperture::media {
namespace {

constexpr const char* dataset = "/planes";

void expects_finite(const std::string& label, const core::Array<float, 3>& planes) {
    const auto* const found = std::find_if(planes.begin(), planes.end(),
                                           [](float value) { return !std::isfinite(value); });
    if (found == planes.end()) return;
    const index_t at = found - planes.begin();
    const index_t columns = planes.extent()[2];
    const index_t rows = planes.extent()[1];
    throw core::InvalidArgument(
        core::text(label, ": dataset ", dataset, " has ", std::isnan(*found) ? "NaN" : "infinity",
                   " in plane ", at / columns / rows, ", row ", at / columns % rows, ", column ",
                   at % columns, "; values must be finite as floats"));
}

}  // namespace

core::Array<float, 3> read_planes(const std::filesystem::path& path, int threads) {
    core::expects(threads >= 0, "number of threads is ", threads, ", expected 0 or more");
    const SilentErrors silent;
    const std::string label = path.string();
    const Handle file = open_for_reading(path);
    StoredDataset stored(file, label, dataset, {3, 3}, StoredDataset::Numbers::real);
    core::Array<float, 3> planes(stored.extents());
    stored.read(planes.view(), threads > 0 ? threads : omp_get_max_threads());
    expects_finite(label, planes);
    return planes;
}

}  // namespace aperture::media
