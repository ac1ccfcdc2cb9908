// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/stored_image.hpp"

#include <limits>
#include <new>

#include "aperture/core/error.hpp"
#include "libmedia/src/image_structure.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace aperture::media {

#if APERTURE_OPENCV

namespace {

cv::Mat decode(const std::string& name, const std::string& bytes) {
    core::expects(bytes.size() <= std::numeric_limits<int>::max(), name, ": image of ",
                  bytes.size(), " bytes is too large");
    cv::Mat decoded;
    try {
        const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8U,
                              const_cast<char*>(bytes.data()));
        decoded = cv::imdecode(encoded, cv::IMREAD_UNCHANGED);
    } catch (const cv::Exception&) {
        // The exception's text has several lines and names OpenCV's sources.
        decoded.release();
    }
    core::expects(!decoded.empty(), name, ": not an image, or a damaged one");
    return decoded;
}

template <class Sample>
void store_samples(const cv::Mat& decoded, StoredImage& image) {
    const int channels = image.channels;
    auto& samples = samples_of<Sample>(image);
    samples.resize(decoded.total() * static_cast<std::size_t>(channels));
    Sample* out = samples.data();
    for (int row = 0; row < decoded.rows; ++row) {
        const auto* in = decoded.ptr<Sample>(row);
        for (int column = 0; column < decoded.cols; ++column, in += decoded.channels()) {
            // OpenCV's order is blue, green, red, alpha.
            for (int c = channels - 1; c >= 0; --c) *out++ = in[c];
        }
    }
}

}  // namespace

void decode_image(const std::string& name, const std::string& bytes, StoredImage& image) {
    core::expects(!bytes.empty(), name, ": file is empty");
    if (is_pnm(bytes)) return decode_pnm(name, bytes, image);
    if (is_png(bytes)) return decode_png(name, check_png(name, bytes), image);
    if (bytes.starts_with("\xff\xd8\xff")) check_jpeg(name, bytes);
    if (bytes.starts_with("BM")) check_bmp(name, bytes);
    const cv::Mat decoded = decode(name, bytes);
    core::expects(decoded.depth() == CV_8U || decoded.depth() == CV_16U, name,
                  ": floating-point or signed samples, expected unsigned 8 or 16 bits");
    image.width = decoded.cols;
    image.height = decoded.rows;
    image.channels = decoded.channels() < 3 ? 1 : 3;
    if (decoded.depth() == CV_8U) {
        image.largest = 255;
        store_samples<std::uint8_t>(decoded, image);
    } else {
        image.largest = 65535;
        store_samples<std::uint16_t>(decoded, image);
    }
}

#else

void decode_image(const std::string& name, const std::string& bytes, StoredImage& image) {
    core::expects(!bytes.empty(), name, ": file is empty");
    core::expects(is_pnm(bytes), name,
                  ": not PNM (P2, P3, P5, P6); other images require a build with OpenCV");
    decode_pnm(name, bytes, image);
}

#endif

}  // namespace aperture::media
