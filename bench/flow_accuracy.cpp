// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Measures accuracy and time of every method, preset and solver, and of OpenCV's flows, on
// sequences with ground truth. Prints a CSV table.
//   flow_accuracy [--threads N] [--repeat N] [--no-solvers] NAME IMAGE0 IMAGE1 TRUTH ...
#include <algorithm>
#include <functional>
#include <iostream>
#include <vector>

#include "aperture/core/timing.hpp"
#include "aperture/flow/accuracy.hpp"
#include "aperture/flow/estimator.hpp"
#include "aperture/flow/words.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/signal/grey.hpp"
#include "apps/common/command_line.hpp"
#include "apps/oflow/parameter_flags.hpp"
#include "bench/flow_peers.hpp"

namespace aperture::bench {
namespace {

struct Sequence {
    std::string name;
    core::Array<float, 2> image0;
    core::Array<float, 2> image1;
    core::Array<float, 3> truth;
};

/// How a row of the table is computed.
struct Contestant {
    std::string method, preset, solver;
    std::function<core::Array<float, 3>(const Sequence&, double& ms)> estimate;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

Contestant ours(core::Cpu& cpu, const apps::PresetChoice& choice,
                const flow::Parameters& parameters, int repeat) {
    const bool hs = choice.method == flow::Method::horn_schunck;
    const std::string solver =
        hs ? core::choice_name(flow::solver_choices, parameters.solver.solver) : "-";
    return {core::choice_name(flow::method_choices, choice.method),
            core::choice_name(flow::preset_choices, choice.preset), solver,
            [&cpu, parameters, repeat](const Sequence& sequence, double& ms) {
                const auto [rows, columns] = sequence.image0.extent();
                flow::Estimator<core::Cpu> estimator(cpu, {rows, columns}, parameters);
                core::Array<float, 3> flow({2, rows, columns});
                std::vector<double> times;
                for (int run = 0; run <= repeat; ++run) {
                    const core::Stopwatch watch;
                    estimator.run(sequence.image0, sequence.image1, flow, false, nullptr);
                    if (run > 0) times.push_back(watch.ms());
                }
                ms = median(times);
                return flow;
            }};
}

Contestant theirs(const FlowPeer& peer, int repeat) {
    return {"OpenCV " + peer.name, "-", "-", [peer, repeat](const Sequence& sequence, double& ms) {
                core::Array<float, 3> flow = peer.estimate(sequence.image0, sequence.image1);
                std::vector<double> times;
                for (int run = 0; run < repeat; ++run) {
                    const core::Stopwatch watch;
                    flow = peer.estimate(sequence.image0, sequence.image1);
                    times.push_back(watch.ms());
                }
                ms = median(times);
                return flow;
            }};
}

/// Every preset of both methods, the variational ones also with every other solver; both methods at
/// their best without robust penalties.
std::vector<Contestant> contestants(core::Cpu& cpu, int repeat, bool solvers) {
    std::vector<Contestant> list;
    for (const auto& method : flow::method_choices) {
        for (const auto& preset : flow::preset_choices) {
            apps::PresetChoice choice{method.value, preset.value, {}};
            const flow::Parameters own = flow::preset(choice.preset, choice.method);
            list.push_back(ours(cpu, choice, own, repeat));
            if (!solvers || method.value != flow::Method::horn_schunck) continue;
            for (const auto& solver : flow::solver_choices) {
                if (solver.value == own.solver.solver) continue;
                choice.solver = solver.value;
                list.push_back(ours(cpu, choice,
                                    flow::preset(choice.preset, choice.method, choice.solver),
                                    repeat));
            }
        }
    }
    for (const auto& method : flow::method_choices) {
        for (const double texture : {0.0, 0.95}) {
            const apps::PresetChoice choice{.method = method.value, .solver = {}};
            flow::Parameters parameters = flow::preset(choice.preset, choice.method);
            parameters.warps = 10;
            parameters.scale = 0.8;
            parameters.texture = texture;
            list.push_back(ours(cpu, choice, parameters, repeat));
            list.back().preset +=
                texture > 0 ? " --warps 10 --scale 0.8 --texture 0.95" : " --warps 10 --scale 0.8";
        }
    }
    for (const FlowPeer& peer : flow_peers(cpu.threads())) list.push_back(theirs(peer, repeat));
    return list;
}

std::vector<Sequence> read_sequences(const std::vector<std::string>& words) {
    core::expects(!words.empty() && words.size() % 4 == 0,
                  "expected NAME IMAGE0 IMAGE1 TRUTH, once or more");
    std::vector<Sequence> sequences;
    for (std::size_t i = 0; i < words.size(); i += 4) {
        sequences.push_back({words[i], signal::to_grey(media::read_image(words[i + 1]).planes),
                             signal::to_grey(media::read_image(words[i + 2]).planes),
                             media::read_flow(words[i + 3])});
    }
    return sequences;
}

int run(int argc, char** argv) {
    constexpr int most = 1'000'000;
    int threads = 0;
    int repeat = 3;
    bool no_solvers = false;
    std::vector<std::string> words;
    apps::CommandLine line(
        "flow_accuracy",
        "Accuracy and time of optical flows on sequences with ground truth, as CSV");
    line.whole_number("--threads", "N", threads, 1, most, "CPU threads (default: all)");
    line.whole_number("--repeat", "N", repeat, 1, most,
                      "Times are medians over N runs after a warm-up (default 3)");
    line.flag("--no-solvers", no_solvers, "Presets with their own solvers only");
    line.texts(
            "sequences", "FILE", 1, -1,
            [&words](const std::vector<std::string>& list) { words = list; },
            "NAME IMAGE0 IMAGE1 TRUTH, once or more")
        .required();
    if (!line.parse(argc, argv)) return 0;

    core::Cpu cpu(threads);
    const std::vector<Sequence> sequences = read_sequences(words);
    std::cerr << "device: " << cpu.name() << '\n';
    if (const std::string missing = missing_flow_peers(); !missing.empty()) {
        std::cerr << "left out: " << missing << '\n';
    }
    std::cout << "sequence,method,preset,solver,aae_deg,epe_px,r1_percent,ms\n";
    for (const Contestant& contestant : contestants(cpu, repeat, !no_solvers)) {
        for (const Sequence& sequence : sequences) {
            double ms = 0;
            const core::Array<float, 3> flow = contestant.estimate(sequence, ms);
            const flow::Accuracy accuracy = flow::compare(cpu, flow, sequence.truth);
            std::cout << sequence.name << ',' << contestant.method << ',' << contestant.preset
                      << ',' << contestant.solver << ',' << accuracy.aae << ',' << accuracy.epe
                      << ',' << 100 * accuracy.r1 << ',' << ms << std::endl;
        }
    }
    return 0;
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::apps::run_program("flow_accuracy",
                                       [&] { return aperture::bench::run(argc, argv); });
}
