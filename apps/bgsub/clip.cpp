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
      next_(reader_.next()) {
    core::expects(next_.has_value(), reader_.name(), ": no frames found");
    first_name_ = next_->name;
    source_size_ = next_->grey.extent();
    shape_ = shape_of(options, source_size_);
}

bool ClipReader::at_end() {
    if (!next_) next_ = reader_.next();
    if (!next_) return true;
    const core::Extents<2>& size = next_->grey.extent();
    core::expects(size == source_size_,
                  size_mismatch(next_->name, size, first_name_, source_size_));
    return false;
}

bool ClipReader::read(Clip& clip) {
    if (at_end()) return false;
    append(*next_, clip);
    next_.reset();
    return true;
}

void expects_several_frames(const FrameReader& source, index_t frames) {
    core::expects(frames > 1, source.name(), ": 1 frame, but at least 2 are required: ",
                  "name a video, a folder or more images, or more --frames");
}

void ClipReader::append(const Frame& frame, Clip& clip) {
    const auto [channels, rows, columns] = shape_;
    const core::Array<float, 3>& planes = frame.image.planes;
    const index_t stored = planes.extent()[0];
    const auto named = reader_.is_video() ? std::nullopt : number_in_name(frame.name);
    media::Picture picture;
    if (pictures_) {
        if (source_size_ == shape_.size()) {
            picture = media::to_picture(planes);
        } else {
            core::Array<float, 3> colours({stored, rows, columns});
            for (index_t c = 0; c < stored; ++c) {
                fit(cpu_, planes.view()[c], colours.view()[c]);
            }
            picture = media::to_picture(colours);
        }
    }
    const core::View<float, 3, Host> values(clip.values.append(shape_.values()),
                                            {channels, rows, columns});
    for (index_t c = 0; c < channels; ++c) {
        const ConstPlane from =
            colour_ == FrameColour::grey ? ConstPlane(frame.grey) : planes.view()[c % stored];
        fit(cpu_, from, values[c]);
    }
    clip.pictures.push_back(std::move(picture));
    clip.numbers.push_back(frame.number);
    clip.truth_numbers.push_back(named.value_or(frame.number + 1));
}

}  // namespace aperture::apps
