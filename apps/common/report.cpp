// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <type_traits>

#include "aperture/core/compilation_counts.hpp"
#include "aperture/core/version.hpp"

namespace aperture::apps {
namespace {

using Json = nlohmann::ordered_json;

template <class Values>
Json json_of(const Values& values) {
    Json object = Json::object();
    for (const auto& [name, value] : values) {
        object[name] = std::visit([](const auto& v) { return Json(v); }, value);
    }
    return object;
}

Json json_of(const NamedFiles& files) {
    Json list = Json::array();
    for (const auto& [content, file] : files) {
        list.push_back({{"content", content}, {"path", file.string()}});
    }
    return list;
}

Json json_of(const ReportDevice& device, bool gpu) {
    Json object{{"kind", gpu ? "gpu" : "cpu"}, {"name", device.name}};
    if (!gpu) object["threads"] = device.threads;
    if (!device.reason.empty()) object["reason"] = device.reason;
    return object;
}

std::string host_name() {
    char name[256] = {};
    // Leaves the last byte zero.
    return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

Json counted(double amount) { return amount > 0 ? Json(amount) : Json(); }

/// The median of `time(run)` over the runs.
template <class Time>
double median(const std::vector<RunTimes>& runs, const Time& time) {
    std::vector<double> values;
    std::transform(runs.begin(), runs.end(), std::back_inserter(values), time);
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

RunTimes median_times(const std::vector<RunTimes>& runs) {
    RunTimes medians = runs.front();
    for (std::size_t s = 0; s < medians.stages.size(); ++s) {
        core::Stage& stage = medians.stages[s];
        stage.ms = median(runs, [&](const RunTimes& run) {
            core::expects(
                run.stages.size() == medians.stages.size() && run.stages[s].name == stage.name,
                "the median requires runs of equal stages");
            return run.stages[s].ms;
        });
    }
    medians.compute_ms = median(runs, [](const RunTimes& run) { return run.compute_ms; });
    medians.transfer_ms = median(runs, [](const RunTimes& run) { return run.transfer_ms; });
    return medians;
}

RunTimes repeat_runs(int repeat, Console& console, const std::function<RunTimes()>& once) {
    if (repeat > 0) {
        console.phase("warming up");
        once();
    }
    std::vector<RunTimes> times;
    const int runs = std::max(repeat, 1);
    for (int run = 0; run < runs; ++run) {
        console.phase(runs == 1 ? "computing" : core::text("run ", run + 1, " of ", runs));
        times.push_back(once());
    }
    console.done();
    return median_times(times);
}

void RunTimes::add_stage(const std::string& name, double ms) {
    for (core::Stage& stage : stages) {
        if (stage.name != name) continue;
        stage.ms += ms;
        return;
    }
    stages.push_back({name, ms, 0, 0});
}

void Report::add_stage(const std::string& name, double ms) {
    total_ms += ms;
    times.add_stage(name, ms);
}

void Report::add_first_stage(const std::string& name, double ms) {
    total_ms += ms;
    times.stages.insert(times.stages.begin(), {name, ms, 0, 0});
}

std::string Report::json(const std::vector<std::string>& warnings) const {
    constexpr int schema = 2;
    Json object;
    object["schema"] = schema;
    object["program"] = invocation.program;
    object["version"] = core::version();
    object["git"] = core::git_commit();
    object["command_line"] = invocation.command_line;
    object["started"] = invocation.started;
    object["host"] = host_name();
    object["device"] = json_of(device, device.threads == 0);
    object["inputs"] = json_of(inputs);
    object["outputs"] = json_of(outputs);
    object["parameters"] = json_of(parameters);
    object["stages"] = Json::array();
    for (const core::Stage& stage : times.stages) {
        object["stages"].push_back({{"name", stage.name},
                                    {"ms", stage.ms},
                                    {"gflop", counted(stage.gflop)},
                                    {"mb", counted(stage.mb)}});
    }
    object["compute_ms"] = times.compute_ms;
    object["transfer_ms"] = times.transfer_ms;
    object["total_ms"] = total_ms;
    const core::CompilationCounts kernels = core::compilation_counts();
    if (kernels.compiled > 0 || kernels.from_cache > 0) {
        object["run_time_compilation"] = {
            {"compiled", kernels.compiled}, {"from_cache", kernels.from_cache}, {"ms", kernels.ms}};
    }
    object["results"] = json_of(results);
    for (const auto& shift : shifts) {
        object["results"]["shifts"].push_back(shift ? Json(*shift) : Json());
    }
    object["accuracy"] = json_of(accuracy);
    for (const ReportValues& target : targets) {
        object["accuracy"]["targets"].push_back(json_of(target));
    }
    for (const ReportValues& run : sweep) object["sweep"].push_back(json_of(run));
    object["warnings"] = warnings;
    constexpr int indent = 2;
    return object.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string Report::stage_line() const {
    std::ostringstream line;
    line << "stages      " << std::fixed;
    const auto write_ms = [&](double ms) {
        line << std::setprecision(ms < 10 ? 2 : 0) << ms << " ms";
    };
    for (const auto& stage : times.stages) {
        line << stage.name << ' ';
        write_ms(stage.ms);
        if (stage.gflop > 0 && stage.ms > 0) {
            const double rate = stage.gflop / stage.ms * 1e3;
            line << ' ' << std::setprecision(rate < 10 ? 1 : 0) << rate << " GFLOP/s";
        }
        line << " | ";
    }
    line << "total ";
    write_ms(total_ms);
    line << '\n';
    return line.str();
}

void commit_outputs(const CommonOptions& options, const Report& report, const Console& console,
                    media::OutputSet& outputs, const std::string& summary) {
    const std::string json =
        options.report ? report.json(console.warnings()) + "\n" : std::string();
    if (options.report && !options.report_on_stdout()) {
        outputs.add(media::new_file(*options.report, json));
    }
    outputs.commit();
    if (options.report_on_stdout()) std::cout << json;
    if (!options.quiet) (options.report_on_stdout() ? std::cerr : std::cout) << summary;
}

void write_parameters(media::ResultFile& file, const CommonOptions& options,
                      const NamedFiles& inputs, const ResultParameters& parameters) {
    std::vector<std::string> names;
    for (const NamedFile& input : inputs) names.push_back(input.path.string());
    file.attribute("/", "program", options.invocation.program);
    file.attribute("/", "version", std::string(core::version()));
    file.attribute("/", "git", std::string(core::git_commit()));
    file.attribute("/", "command_line", options.invocation.command_line);
    file.attribute("/", "started", options.invocation.started);
    file.attribute("/", "inputs", names);
    for (const auto& [name, value] : parameters) {
        std::visit(
            [&, &attribute = name](const auto& v) {
                using Value = std::decay_t<decltype(v)>;
                if constexpr (std::is_integral_v<Value>) {
                    file.attribute("/", attribute, static_cast<std::int64_t>(v));
                } else {
                    file.attribute("/", attribute, v);
                }
            },
            value);
    }
}

}  // namespace aperture::apps
