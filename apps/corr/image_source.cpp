// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/image_source.hpp"

#include <algorithm>
#include <utility>

#include "aperture/core/error.hpp"
#include "aperture/core/executor.hpp"
#include "aperture/core/timing.hpp"

namespace aperture::apps {
namespace {

void load(LoadedImage& loaded) {
    const core::Stopwatch watch;
    try {
        media::read_image(loaded.file, loaded.image);
    } catch (const core::InvalidArgument& error) {
        loaded.fault = error.what();
    }
    loaded.read_ms = watch.ms();
}

std::size_t bytes_of(const LoadedImage& loaded) {
    return static_cast<std::size_t>(loaded.image.planes.size()) * sizeof(float);
}

}  // namespace

ImageSource::ImageSource(std::vector<std::filesystem::path> files, const ReadAhead& ahead)
    : files_(std::move(files)), options_(ahead) {
    const auto threads =
        std::min(static_cast<std::size_t>(std::max(ahead.threads, 1)), files_.size());
    threads_.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { read_images(); });
}

ImageSource::~ImageSource() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

std::optional<LoadedImage> ImageSource::next() {
    Place place;
    {
        std::unique_lock lock(mutex_);
        if (ahead_.empty() && started_ == files_.size()) return std::nullopt;
        ready_.wait(lock, [&] { return !ahead_.empty() && ahead_.front().done; });
        place = std::move(ahead_.front());
        ahead_.pop_front();
    }
    room_.notify_one();
    if (place.error) std::rethrow_exception(place.error);
    return std::move(place.loaded);
}

void ImageSource::recycle(media::Image image) {
    const std::lock_guard lock(mutex_);
    // Reused memory bounds the total to the maximum needed at one time.
    free_.push_back(std::move(image));
}

void ImageSource::read_images() {
    core::share_processors();
    std::unique_lock lock(mutex_);
    while (true) {
        room_.wait(lock, [&] {
            return stopping_ || started_ == files_.size() || ahead_.size() < most_ahead();
        });
        if (stopping_ || started_ == files_.size()) return;
        // A deque's elements stay in place while others are added and removed at its ends.
        Place& place = ahead_.emplace_back();
        place.loaded.file = files_[started_++];
        place.loaded.image = spare_memory();
        lock.unlock();
        try {
            load(place.loaded);
        } catch (...) {
            place.error = std::current_exception();
        }
        lock.lock();
        place.done = true;
        if (place.loaded.fault.empty() && !place.error) {
            const bool first = image_bytes_ == 0;
            image_bytes_ = std::max(image_bytes_, bytes_of(place.loaded));
            if (first) room_.notify_all();
        }
        ready_.notify_one();
    }
}

std::size_t ImageSource::most_ahead() const {
    if (image_bytes_ == 0) return 1;
    return std::clamp<std::size_t>(options_.most_bytes / image_bytes_, 1,
                                   std::max<std::size_t>(options_.most_images, 1));
}

media::Image ImageSource::spare_memory() {
    if (free_.empty()) return {core::Array<float, 3>({0, 0, 0}, options_.pages), 8};
    media::Image image = std::move(free_.back());
    free_.pop_back();
    return image;
}

}  // namespace aperture::apps
