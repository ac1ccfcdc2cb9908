// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/clip.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <utility>

#include "aperture/signal/resample.hpp"
#include "apps/common/argument_fields.hpp"

namespace aperture::apps {
namespace {

using core::Host;
using Plane = core::View<float, 2, Host>;
using ConstPlane = core::View<const float, 2, Host>;

index_t scaled(index_t extent, double factor) {
    return std::max<index_t>(1, std::llround(static_cast<double>(extent) * factor));
}

FrameShape shape_of(const BgsubOptions& options, const core::Extents<2>& size) {
    const FrameScale& scale = options.scale;
    const index_t channels = options.colour == FrameColour::rgb ? 3 : 1;
    if (scale.width > 0) return {channels, scale.height, scale.width};
    return {channels, scaled(size[0], scale.factor), scaled(size[1], scale.factor)};
}

core::Extents<2> size_of(const Frame& frame) { return {frame.image.height, frame.image.width}; }

void fit(core::Cpu& cpu, ConstPlane from, Plane to) {
    if (from.extent == to.extent) {
        std::copy(from.data, from.data + from.size(), to.data);
    } else {
        signal::downsample(cpu, from, to);
    }
}

/// 951 for "in000951.jpg"; nothing if the name does not end in a number.
std::optional<index_t> number_in_name(const std::filesystem::path& file) {
    const std::string stem = file.stem().string();
    auto first = stem.size();
    while (first > 0 && std::isdigit(static_cast<unsigned char>(stem[first - 1])) != 0) --first;
    return number_in<index_t>(std::string_view(stem).substr(first));
}

}  // namespace

void ClipValues::clear(index_t in_front, index_t others) {
    memory_.reshape({in_front + others});
    begin_ = end_ = in_front;
}

void ClipValues::grow(index_t in_front, index_t behind) {
    ClipValues larger;
    larger.clear(in_front, size() + behind);
    std::copy_n(data(), size(), larger.append(size()));
    *this = std::move(larger);
}

float* ClipValues::append(index_t count) {
    if (end_ + count > memory_.size()) grow(begin_, std::max(size(), count));
    end_ += count;
    return memory_.data() + end_ - count;
}

void ClipValues::prepend(const float* from, index_t count) {
    if (count > begin_) grow(count, 0);
    begin_ -= count;
    std::copy_n(from, count, data());
}

void Clip::prepend(Clip& before, index_t count) {
    const index_t dropped = before.frames() - count;
    values.prepend(before.values.data() + dropped * shape.values(), count * shape.values());
    const auto add = [&](auto& to, auto& from) {
        to.insert(to.begin(), std::make_move_iterator(from.begin() + dropped),
                  std::make_move_iterator(from.end()));
    };
    add(pictures, before.pictures);
    add(numbers, before.numbers);
    add(truth_numbers, before.truth_numbers);
}

ClipReader::ClipReader(const BgsubOptions& options)
    : colour_(options.colour),
      pictures_(options.saves(Content::overlay)),
      reader_(options.frame_inputs(), options.frames),
      is_read_(reader_.next(frame_)) {
    core::expects(is_read_, reader_.name(), ": no frames found");
    first_name_ = frame_.name;
    source_size_ = size_of(frame_);
    shape_ = shape_of(options, source_size_);
}

bool ClipReader::at_end() {
    if (!is_read_) is_read_ = reader_.next(frame_);
    if (!is_read_) return true;
    const core::Extents<2> size = size_of(frame_);
    core::expects(size == source_size_,
                  size_mismatch(frame_.name, size, first_name_, source_size_));
    return false;
}

bool ClipReader::read(Clip& clip) {
    if (at_end()) return false;
    const auto named = reader_.is_video() ? std::nullopt : number_in_name(frame_.name);
    if (colour_ == FrameColour::rgb || (pictures_ && source_size_ != shape_.size())) {
        media::to_image(frame_.image, image_);
    }
    media::Picture picture;
    if (!clip.unused.empty()) {
        picture = std::move(clip.unused.back());
        clip.unused.pop_back();
    }
    if (pictures_) draw(picture);
    clip.pictures.push_back(std::move(picture));
    const auto [channels, rows, columns] = shape_;
    store_values({clip.values.append(shape_.values()), {channels, rows, columns}});
    clip.numbers.push_back(frame_.number);
    clip.truth_numbers.push_back(named.value_or(frame_.number + 1));
    is_read_ = false;
    return true;
}

void ClipReader::draw(media::Picture& picture) {
    if (source_size_ == shape_.size()) return media::to_picture(frame_.image, picture);
    const index_t stored = frame_.image.channels;
    core::Array<float, 3> colours({stored, shape_.rows, shape_.columns});
    for (index_t c = 0; c < stored; ++c) {
        fit(cpu_, std::as_const(image_.planes).view()[c], colours.view()[c]);
    }
    picture = media::to_picture(colours);
}

void ClipReader::store_values(core::View<float, 3, Host> values) {
    if (colour_ == FrameColour::rgb) {
        for (index_t c = 0; c < shape_.channels; ++c) {
            fit(cpu_, std::as_const(image_.planes).view()[c % frame_.image.channels], values[c]);
        }
    } else if (source_size_ == shape_.size()) {
        media::to_grey(frame_.image, values[0]);
    } else {
        grey_.reshape(source_size_);
        media::to_grey(frame_.image, grey_);
        fit(cpu_, std::as_const(grey_), values[0]);
    }
}

void expects_several_frames(const FrameReader& source, index_t frames) {
    core::expects(frames > 1, source.name(), ": 1 frame, but at least 2 are required: ",
                  "name a video, a folder or more images, or more --frames");
}

}  // namespace aperture::apps
