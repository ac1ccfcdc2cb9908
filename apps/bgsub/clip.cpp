// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/clip.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
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

void Clip::append(ClipFrame frame) {
    values.insert(values.end(), frame.values.begin(), frame.values.end());
    pictures.push_back(std::move(frame.picture));
    numbers.push_back(frame.number);
    truth_numbers.push_back(frame.truth_number);
}

void Clip::drop(index_t count) {
    values.erase(values.begin(), values.begin() + count * shape.values());
    pictures.erase(pictures.begin(), pictures.begin() + count);
    numbers.erase(numbers.begin(), numbers.begin() + count);
    truth_numbers.erase(truth_numbers.begin(), truth_numbers.begin() + count);
}

ClipReader::ClipReader(const BgsubOptions& options)
    : colour_(options.colour),
      pictures_(options.saves(Content::overlay)),
      reader_(options.frame_inputs(), options.frames),
      first_(reader_.next()) {
    core::expects(first_.has_value(), reader_.name(), ": no frames found");
    first_name_ = first_->name;
    source_size_ = first_->grey.extent();
    shape_ = shape_of(options, source_size_);
}

std::optional<ClipFrame> ClipReader::next() {
    const std::optional<Frame> frame =
        first_ ? std::exchange(first_, std::nullopt) : reader_.next();
    if (!frame) return std::nullopt;
    const core::Extents<2>& size = frame->grey.extent();
    core::expects(size == source_size_,
                  size_mismatch(frame->name, size, first_name_, source_size_));
    return prepare(*frame);
}

void expects_several_frames(const FrameReader& source, index_t frames) {
    core::expects(frames > 1, source.name(), ": 1 frame, but at least 2 are required: ",
                  "name a video, a folder or more images, or more --frames");
}

ClipFrame ClipReader::prepare(const Frame& frame) {
    const auto [channels, rows, columns] = shape_;
    const core::Array<float, 3>& planes = frame.image.planes;
    const index_t stored = planes.extent()[0];
    const auto named = reader_.is_video() ? std::nullopt : number_in_name(frame.name);
    ClipFrame made{frame.number,
                   named.value_or(frame.number + 1),
                   core::Array<float, 3>({channels, rows, columns}),
                   {}};
    if (pictures_) {
        if (source_size_ == shape_.size()) {
            made.picture = media::to_picture(planes);
        } else {
            core::Array<float, 3> colours({stored, rows, columns});
            for (index_t c = 0; c < stored; ++c) {
                fit(cpu_, planes.view()[c], colours.view()[c]);
            }
            made.picture = media::to_picture(colours);
        }
    }
    for (index_t c = 0; c < channels; ++c) {
        const ConstPlane from =
            colour_ == FrameColour::grey ? ConstPlane(frame.grey) : planes.view()[c % stored];
        fit(cpu_, from, made.values.view()[c]);
    }
    return made;
}

}  // namespace aperture::apps
