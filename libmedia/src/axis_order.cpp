// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/axis_order.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "aperture/core/error.hpp"

namespace aperture::media {
namespace {

using Names = std::vector<std::string>;

Names split(const std::string& list) {
    Names names;
    std::istringstream stream(list);
    for (std::string item; std::getline(stream, item, ',');) {
        const std::size_t first = item.find_first_not_of(" \t");
        names.push_back(first == std::string::npos
                            ? ""
                            : item.substr(first, item.find_last_not_of(" \t") - first + 1));
    }
    return names;
}

std::string join(const Names& names) {
    std::string list;
    for (const std::string& item : names) list += (&item == names.data() ? "" : ",") + item;
    return list;
}

std::optional<CubeAxis> axis_named(const std::string& word) {
    if (word == "channel") return channel;
    if (word == "pulse" || word == "doppler") return pulse;
    if (word == "range") return range;
    if (word == "cpi") return cpi;
    return std::nullopt;
}

// `origin` is the source of the names: "dimension labels", "axes".
AxisOrder order_of(const Names& names, std::size_t axes, AxisRule rule, const std::string& subject,
                   const std::string& origin) {
    const std::string given = core::text(subject, ": ", origin, " '", join(names), "' ");
    const bool has_cpi = axes == 4;
    AxisOrder order{{}, rule, {}};
    core::expects(
        names.size() == axes, given, "must name ",
        has_cpi ? "four axes: cpi, " : "three axes: ", "channel, pulse or doppler, range");
    for (const std::string& word : names) {
        const std::optional<CubeAxis> axis = axis_named(word);
        core::expects(axis && (has_cpi || axis != cpi), given, "name an axis '", word,
                      "', expected ", has_cpi ? "cpi, " : "", "channel, pulse, doppler or range");
        auto& known = order.canonical;
        core::expects(std::find(known.begin(), known.end(), *axis) == known.end(), given,
                      "must name each axis once");
        known.push_back(*axis);
        // "pulse" may label Doppler bins in files with a domain attribute.
        if (word == "doppler") order.domain = Domain::doppler;
    }
    return order;
}

/// Without names. The CPI, if there is one, is the slowest axis.
AxisOrder unnamed_order(std::size_t axes, AxisRule rule) {
    AxisOrder order{{channel, pulse, range}, rule, {}};
    if (rule == AxisRule::matlab) std::swap(order.canonical[0], order.canonical[1]);
    if (axes == 4) order.canonical.insert(order.canonical.begin(), cpi);
    return order;
}

std::optional<Names> attribute_of_either(hid_t dataset, hid_t file, const char* attribute) {
    auto names = string_attribute(dataset, attribute);
    if (!names) names = string_attribute(file, attribute);
    return names;
}

AxisOrder order_in_file(hid_t file, hid_t dataset, std::size_t axes, bool halves,
                        const std::string& subject) {
    if (auto labels = string_attribute(dataset, "DIMENSION_LABELS")) {
        const auto blank = [](const std::string& label) { return label.empty(); };
        // The dimension of real and imaginary parts is not an axis.
        if (labels->size() == axes + 1) labels->erase(halves ? labels->begin() : labels->end() - 1);
        if (!std::all_of(labels->begin(), labels->end(), blank)) {
            return order_of(*labels, axes, AxisRule::dimension_labels, subject, "dimension labels");
        }
    }
    if (auto names = attribute_of_either(dataset, file, "axes")) {
        if (names->size() == 1) names = split(names->front());
        return order_of(*names, axes, AxisRule::axes_attribute, subject, "axes attribute");
    }
    const bool matlab = attribute_of_either(dataset, file, "MATLAB_class").has_value();
    return unnamed_order(axes, matlab ? AxisRule::matlab : AxisRule::canonical);
}

std::optional<Domain> domain_in_file(hid_t file, hid_t dataset, const std::string& subject) {
    const auto words = attribute_of_either(dataset, file, "domain");
    if (!words) return std::nullopt;
    if (words->front() == name(Domain::pulse)) return Domain::pulse;
    if (words->front() == name(Domain::doppler)) return Domain::doppler;
    throw core::InvalidArgument(core::text(subject, ": domain attribute is '", words->front(),
                                           "', expected pulse or doppler"));
}

}  // namespace

std::string AxisOrder::text() const {
    const std::array names{"channel", domain == Domain::doppler ? "doppler" : "pulse", "range",
                           "cpi"};
    Names words;
    for (const CubeAxis axis : canonical) words.emplace_back(names[axis]);
    return join(words);
}

AxisOrder find_axis_order(const CubeRequest& request, hid_t file, hid_t dataset, std::size_t axes,
                          bool halves, const std::string& subject) {
    AxisOrder order = request.axes ? order_of(split(*request.axes), axes, AxisRule::caller, subject,
                                              "requested axes")
                                   : order_in_file(file, dataset, axes, halves, subject);
    const std::optional<Domain> by_name = order.domain;
    const std::optional<Domain> stated =
        request.domain ? request.domain : domain_in_file(file, dataset, subject);
    // The caller's choice of either overrides the file's on the other.
    const bool same_origin = request.domain.has_value() == request.axes.has_value();
    core::expects(!same_origin || !by_name || !stated || by_name == stated, subject,
                  ": an axis is named doppler, but the domain is pulse");
    order.domain = request.domain            ? request.domain
                   : request.axes && by_name ? by_name
                   : stated                  ? stated
                                             : by_name;
    return order;
}

}  // namespace aperture::media
