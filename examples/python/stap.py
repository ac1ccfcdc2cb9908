# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A radar cube, from the file to detections
#
# The cube of `data/` is simulated. With the Mountain Top recording (`MOUNTAIN_TOP` names its HDF5
# file) the same lines find the target of the radar's test generator.

# %%
import os
from pathlib import Path

import h5py
import matplotlib.pyplot as plt
import numpy as np

import aperture

data = Path(__file__).parents[2] / "data" if "__file__" in globals() else Path("../../data")
recording = os.environ.get("MOUNTAIN_TOP")

# %%
with h5py.File(recording or data / "scene.h5") as file:
    cube = file["cube"][:]
    spacing = file["cube"].attrs["element_spacing_wavelengths"]
    prf = file["cube"].attrs["prf_hz"]
print("channels, pulses, range cells:", *cube.shape)

# %% [markdown]
# ## Detect
#
# Training on all range cells but the cell under test and its neighbours suits short cubes. The
# detector's statistic is compared with the threshold of its false-alarm probability.

# %%
adapt = aperture.Stap(
    cube.shape,
    azimuth=np.arange(-60, 61, 2),
    spacing=spacing,
    prf=prf,
    training="all",
    guard=6,
    loading="rel:1e-3",
    detector="amf",
    device="cpu",
)
result = adapt(cube)
print(result)
for target in result.targets[:5]:
    print(
        f"range cell {target['range_cell']:.1f}, Doppler {target['doppler'] * prf:.0f} Hz, "
        f"azimuth {target['azimuth_degrees']:.1f} degrees, "
        f"{target['statistic_db'] - target['threshold_db']:.1f} dB above the threshold"
    )

# %%
strongest = result.detections[0]
fig, ax = plt.subplots(figsize=(8, 4))
result.plot(vector=strongest["steering_vector"], ax=ax)
ax.set_title(f"AMF statistic at {strongest['azimuth_degrees']:.0f} degrees")
plt.show()

# %% [markdown]
# ## What interference costs
#
# The minimum-variance spectrum of a cell's covariance is the power that remains after adaptation;
# the noise floor over it is the loss of SINR along Doppler.

# %%
cell = int(strongest["range_cell"])
azimuths = np.arange(-90, 91, 2.0)
beams, remaining = adapt.interference_spectra(cube, cell, azimuths)
order = np.argsort(result.doppler)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
image = left.pcolormesh(azimuths, result.doppler[order], 10 * np.log10(remaining[order]))
left.set(xlabel="azimuth, degrees", ylabel="Doppler, Hz", title="minimum-variance spectrum, dB")
fig.colorbar(image, ax=left)
look = np.argmin(abs(azimuths - strongest["azimuth_degrees"]))
loss = remaining.min() / remaining[order, look]
right.plot(result.doppler[order], 10 * np.log10(loss))
right.set(xlabel="Doppler, Hz", ylabel="SINR, dB below the noise's", title="loss after adaptation")
right.grid()
plt.show()
