// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/image_source.hpp"

#include <algorithm>

#include "aperture/core/error.hpp"
#include "aperture/core/timing.hpp"

namespace aperture::apps {
namespace {

constexpr std::size_t bytes_ahead = std::size_t{1} << 30;

LoadedImage load(const std::filesystem::path& file) {
    LoadedImage loaded;
    loaded.file = file;
    const core::Stopwatch watch;
    try {
        loaded.image = media::read_image(file);
    } catch (const core::InvalidArgument& error) {
        loaded.fault = error.what();
    }
    loaded.read_ms = watch.ms();
    return loaded;
}

}  // namespace

ImageSource::ImageSource(std::vector<std::filesystem::path> files, int threads)
    : files_(std::move(files)), most_ahead_(static_cast<std::size_t>(std::max(threads, 1))) {}

std::optional<LoadedImage> ImageSource::next() {
    read_ahead();
    if (reading_.empty()) return std::nullopt;
    LoadedImage loaded = reading_.front().get();
    reading_.pop_front();
    image_bytes_ = std::max(image_bytes_,
                            static_cast<std::size_t>(loaded.image.planes.size()) * sizeof(float));
    read_ahead();
    return loaded;
}

void ImageSource::read_ahead() {
    // How large images are is known from the first.
    const std::size_t fitting =
        image_bytes_ == 0 ? 1 : std::max<std::size_t>(bytes_ahead / image_bytes_, 1);
    while (started_ < files_.size() && reading_.size() < std::min(most_ahead_, fitting)) {
        reading_.push_back(std::async(std::launch::async, load, files_[started_++]));
    }
}

std::string size_text(corr::Shape shape) { return core::text(shape.columns, 'x', shape.rows); }

}  // namespace aperture::apps
