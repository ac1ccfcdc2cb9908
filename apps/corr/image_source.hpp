// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
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

/// How images are read while the caller is at work.
struct ReadAhead {
    int threads = 1;
    std::size_t most_images = 1;  ///< read or being read, that were not asked for yet
    std::size_t most_bytes = std::size_t{1} << 30;  ///< of these images; one may be larger
    core::Pages pages = core::Pages::pageable;      ///< that images are read to
};

/// Reads image files in their order, on threads of its own.
class ImageSource {
  public:
    /// Begins to read: the first alone, because how large images are is known from it.
    ImageSource(std::vector<std::filesystem::path> files, const ReadAhead& ahead);
    /// Waits for the images that are being read.
    ~ImageSource();
    ImageSource(const ImageSource&) = delete;
    ImageSource& operator=(const ImageSource&) = delete;

    /// The next image or fault; nothing at the end. Throws what went wrong otherwise.
    std::optional<LoadedImage> next();
    /// Memory for images to come: that of one that is no longer needed.
    void give_back(media::Image image);

  private:
    /// An image that is being read until it is `done`.
    struct Place {
        bool done = false;
        LoadedImage loaded;
        std::exception_ptr error;
    };
    /// What a thread does.
    void read_images();
    std::size_t most_ahead() const;
    media::Image take_memory();

    const std::vector<std::filesystem::path> files_;
    const ReadAhead options_;
    std::mutex mutex_;  ///< of all below
    std::condition_variable room_;
    std::condition_variable ready_;
    bool stopping_ = false;
    std::size_t started_ = 0;
    std::size_t image_bytes_ = 0;  ///< of the largest so far
    std::deque<Place> ahead_;      ///< in the order of the files
    std::vector<media::Image> free_;
    std::vector<std::thread> threads_;
};

/// "584x388", width first.
std::string size_text(corr::Shape shape);

}  // namespace aperture::apps
