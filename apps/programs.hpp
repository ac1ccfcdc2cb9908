// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aperture::apps {

/// The main functions of the programs, in their libraries, so that tests can call them. Each is
/// called once in a process.
int bgsub_main(int argc, char** argv);
int corr_main(int argc, char** argv);
int oflow_main(int argc, char** argv);
int stap_main(int argc, char** argv);
int stap_sim_main(int argc, char** argv);

}  // namespace aperture::apps
