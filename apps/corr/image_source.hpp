// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "aperture/corr/lags.hpp"
#include "aperture/media/image_file.hpp"

namespace aperture::apps {

/// An image file that was read, or why it could not be.
struct LoadedImage {
    std::filesystem::path file;
    media::Image image;  ///< of a file of planes, its planes whatever they are
    std::string fault;   ///< "NAME: REASON", empty where there is an image
    double read_ms = 0;

    corr::Shape shape() const { return {image.planes.extent()[1], image.planes.extent()[2]}; }
};

/// Reads image files in their order, several at a time and while the caller is at work.
class ImageSource {
  public:
    /// Up to `threads` images are read ahead, as far as they are of a gigabyte together.
    ImageSource(std::vector<std::filesystem::path> files, int threads);

    /// The next image or fault; nothing at the end.
    std::optional<LoadedImage> next();

  private:
    void read_ahead();

    std::vector<std::filesystem::path> files_;
    std::size_t most_ahead_;
    std::size_t started_ = 0;
    std::size_t image_bytes_ = 0;  ///< of the largest so far
    std::deque<std::future<LoadedImage>> reading_;
};

/// "584x388", width first.
std::string size_text(corr::Shape shape);

}  // namespace aperture::apps
