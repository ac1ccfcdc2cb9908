// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/clip.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "aperture/signal/resample.hpp"

namespace aperture::apps {
namespace {

using core::Host;
using Plane = core::View<float, 2, Host>;
using ConstPlane = core::View<const float, 2, Host>;

ConstPlane plane(const core::Array<float, 3>& planes, index_t i) {
    const auto [count, rows, columns] = planes.extent();
    return {planes.data() + i * rows * columns, {rows, columns}};
}

index_t scaled(index_t extent, double factor) {
    return std::max<index_t>(1, std::llround(static_cast<double>(extent) * factor));
}

FrameShape shape_of(const BgsubOptions& options, index_t rows, index_t columns) {
    const FrameScale& scale = options.scale;
    const index_t channels = options.colour == FrameColour::rgb ? 3 : 1;
    if (scale.width > 0) return {channels, scale.height, scale.width};
    return {channels, scaled(rows, scale.factor), scaled(columns, scale.factor)};
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
    index_t number = 0;
    const auto [end, error] =
        std::from_chars(stem.data() + first, stem.data() + stem.size(), number);
    if (error != std::errc() || first == stem.size()) return std::nullopt;
    return number;
}

}  // namespace

std::string size_text(index_t columns, index_t rows) { return core::text(columns, 'x', rows); }

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
    source_rows_ = next_->grey.extent()[0];
    source_columns_ = next_->grey.extent()[1];
    shape_ = shape_of(options, source_rows_, source_columns_);
}

index_t ClipReader::read(index_t most, Clip& clip) {
    clip.shape = shape_;
    index_t count = 0;
    for (; count < most && next_; ++count) {
        const auto [rows, columns] = next_->grey.extent();
        core::expects(rows == source_rows_ && columns == source_columns_, next_->name, ": ",
                      size_text(columns, rows), " pixels, but ", first_name_, " has ",
                      size_text(source_columns_, source_rows_));
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
            fit(cpu_, plane(frame.image.planes, c), {&colours(c, 0, 0), {rows, columns}});
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
            fit(cpu_, plane(frame.image.planes, c % stored), to);
        }
    }
    clip.numbers.push_back(frame.number);
    const auto named = reader_.is_video() ? std::nullopt : number_in_name(frame.name);
    clip.truth_numbers.push_back(named.value_or(frame.number + 1));
}

}  // namespace aperture::apps
