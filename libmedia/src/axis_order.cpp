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

// `origin` is the source of the names: "dimension labels", "axes".
AxisOrder order_of(const Names& names, AxisRule rule, const std::string& subject,
                   const std::string& origin) {
    const std::string given = core::text(subject, ": ", origin, " '", join(names), "' ");
    AxisOrder order;
    order.rule = rule;
    std::array<int, 3> seen{};
    core::expects(names.size() == 3, given,
                  "must name three axes: channel, pulse or doppler, range");
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::string& word = names[axis];
        const int canonical = word == "channel"                      ? 0
                              : word == "pulse" || word == "doppler" ? 1
                              : word == "range"                      ? 2
                                                                     : -1;
        core::expects(canonical >= 0, given, "name an axis '", word,
                      "', expected channel, pulse, doppler or range");
        core::expects(seen[canonical]++ == 0, given, "must name each axis once");
        order.canonical[axis] = canonical;
        // "pulse" may label Doppler bins in files with a domain attribute.
        if (word == "doppler") order.domain = Domain::doppler;
    }
    return order;
}

std::optional<Names> attribute_of_either(hid_t dataset, hid_t file, const char* attribute) {
    auto names = string_attribute(dataset, attribute);
    if (!names) names = string_attribute(file, attribute);
    return names;
}

AxisOrder order_in_file(hid_t file, hid_t dataset, const std::string& subject) {
    if (auto labels = string_attribute(dataset, "DIMENSION_LABELS")) {
        const auto blank = [](const std::string& label) { return label.empty(); };
        // The fourth dimension of a real array is not an axis.
        if (labels->size() == 4) labels->pop_back();
        if (!std::all_of(labels->begin(), labels->end(), blank)) {
            return order_of(*labels, AxisRule::dimension_labels, subject, "dimension labels");
        }
    }
    if (auto names = attribute_of_either(dataset, file, "axes")) {
        if (names->size() == 1) names = split(names->front());
        return order_of(*names, AxisRule::axes_attribute, subject, "axes attribute");
    }
    if (attribute_of_either(dataset, file, "MATLAB_class")) {
        return {{1, 0, 2}, AxisRule::matlab, std::nullopt};
    }
    return {};
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
    const char* second = domain == Domain::doppler ? "doppler" : "pulse";
    Names names;
    for (const int axis : canonical)
        names.emplace_back(axis == 0 ? "channel" : axis == 1 ? second : "range");
    return join(names);
}

AxisOrder find_axis_order(const CubeRequest& request, hid_t file, hid_t dataset,
                          const std::string& subject) {
    AxisOrder order =
        request.axes ? order_of(split(*request.axes), AxisRule::caller, subject, "requested axes")
                     : order_in_file(file, dataset, subject);
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
