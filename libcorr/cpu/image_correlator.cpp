// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/image_correlator.hpp"

namespace aperture::corr {

Normalization Parameters::normalized() const {
    return normalization.value_or(planes ? Normalization::plane : Normalization::none);
}

Lags Parameters::lags(Shape image, bool pair) const {
    const Shape size = offsets.value_or(Shape{(image.rows + 1) / 2, (image.columns + 1) / 2});
    // The direction in which content has moved is unknown.
    return {size.rows, size.columns, both_signs.value_or(pair)};
}

Problem problem_of(const Parameters& parameters, const core::Extents<3>& image, bool pair,
                   const std::vector<core::Extents<2>>& masks) {
    Problem problem;
    problem.planes = parameters.planes ? plane_count(*parameters.planes) : image[0];
    problem.image = {image[1], image[2]};
    problem.lags = parameters.lags(problem.image, pair);
    // Pearson's r with masks needs sums of each plane.
    problem.each_plane =
        parameters.each_plane || (parameters.estimator == Estimator::pearson && !masks.empty());
    problem.precision = parameters.precision;
    problem.method =
        parameters.method.value_or(parameters.needs_direct() ? Method::direct : Method::fft);
    validate(problem);
    const std::size_t most = pair ? 2 : 1;
    core::expects(masks.size() <= most, masks.size(), " masks, expected at most ", most);
    const core::Extents<2> of_image{image[1], image[2]};
    for (const core::Extents<2>& mask : masks) {
        core::expects(mask == of_image, "mask is ", core::extents_text(mask), ", must be ",
                      core::extents_text(of_image));
    }
    return problem;
}

template class ImageCorrelator<core::Cpu>;

}  // namespace aperture::corr
