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

/// An image file that was read, or the reason why it could not be read.
struct LoadedImage {
    std::filesystem::path file;
    media::Image image;  ///< for a file of planes, the stored planes
    std::string fault;   ///< "NAME: REASON"; empty if the image was read
    double read_ms = 0;

    corr::Shape shape() const { return {image.planes.extent()[1], image.planes.extent()[2]}; }
};

/// How images are read while the caller works.
struct ReadAhead {
    int threads = 1;
    std::size_t most_images = 1;  ///< images read or being read, not yet requested
    std::size_t most_bytes = std::size_t{1} << 30;  ///< of these images; one may be larger
    core::Pages pages = core::Pages::pageable;      ///< memory type of the images
};

/// Reads image files in order on its own threads.
class ImageSource {
  public:
    /// Starts to read: only the first image at first, since it determines the image size.
    ImageSource(std::vector<std::filesystem::path> files, const ReadAhead& ahead);
    /// Waits for the images being read.
    ~ImageSource();
    ImageSource(const ImageSource&) = delete;
    ImageSource& operator=(const ImageSource&) = delete;

    /// Returns the next image or fault, or nothing at the end. Throws any other error.
    std::optional<LoadedImage> next();
    /// Reclaims the memory of an image that is no longer needed.
    void recycle(media::Image image);

  private:
    /// An image; it is being read until `done`.
    struct Place {
        bool done = false;
        LoadedImage loaded;
        std::exception_ptr error;
    };
    /// The body of each thread.
    void read_images();
    std::size_t most_ahead() const;
    media::Image spare_memory();

    const std::vector<std::filesystem::path> files_;
    const ReadAhead options_;
    std::mutex mutex_;  ///< protects all members below
    std::condition_variable room_;
    std::condition_variable ready_;
    bool stopping_ = false;
    std::size_t started_ = 0;
    std::size_t image_bytes_ = 0;  ///< of the largest image so far
    std::deque<Place> ahead_;      ///< in file order
    std::vector<media::Image> free_;
    std::vector<std::thread> threads_;
};

}  // namespace aperture::apps
