// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/clip.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

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

void Clip::drop(index_t count) {
    values.erase(values.begin(), values.begin() + count * shape.values());
    pictures.erase(pictures.begin(), pictures.begin() + count);
    numbers.erase(numbers.begin(), numbers.begin() + count);
    truth_numbers.erase(truth_numbers.begin(), truth_numbers.begin() + count);
}

ClipReader::ClipReader(core::Cpu& cpu, const BgsubOptions& options)
    : cpu_(cpu), colour_(options.colour), reader_(options.frame_inputs(), options.frames) {
    next_ = reader_.next();
    core::expects(next_.has_value(), reader_.name(), ": no frames found");
    first_name_ = next_->name;
    source_size_ = next_->grey.extent();
    shape_ = shape_of(options, source_size_);
}

index_t ClipReader::read(index_t most, Clip& clip) {
    clip.shape = shape_;
    index_t count = 0;
    for (; count < most && next_; ++count) {
        const core::Extents<2>& size = next_->grey.extent();
        core::expects(size == source_size_,
                      size_mismatch(next_->name, size, first_name_, source_size_));
        prepare(*next_, clip);
        next_ = reader_.next();
    }
    return count;
}

void ClipReader::prepare(const Frame& frame, Clip& clip) const {
    const auto [channels, rows, columns] = shape_;
    const auto [stored, stored_rows, stored_columns] = frame.image.planes.extent();
    if (stored_rows == rows && stored_columns == columns) {
        clip.pictures.push_back(media::to_picture(frame.image.planes));
    } else {
        core::Array<float, 3> colours({stored, rows, columns});
        for (index_t c = 0; c < stored; ++c) {
            fit(cpu_, frame.image.planes.view()[c], colours.view()[c]);
        }
        clip.pictures.push_back(media::to_picture(colours));
    }
    const auto first = static_cast<index_t>(clip.values.size());
    clip.values.resize(clip.values.size() + static_cast<std::size_t>(shape_.values()));
    for (index_t c = 0; c < channels; ++c) {
        const Plane to(clip.values.data() + first + c * shape_.pixels(), {rows, columns});
        if (colour_ == FrameColour::grey) {
            fit(cpu_, frame.grey, to);
        } else {
            fit(cpu_, frame.image.planes.view()[c % stored], to);
        }
    }
    clip.numbers.push_back(frame.number);
    const auto named = reader_.is_video() ? std::nullopt : number_in_name(frame.name);
    clip.truth_numbers.push_back(named.value_or(frame.number + 1));
}

}  // namespace aperture::apps
