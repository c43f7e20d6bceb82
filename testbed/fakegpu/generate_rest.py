#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C file with a weak definition of every function that nvml.h declares: it answers NOT_SUPPORTED, or what
library/rest.cc has against the call.

usage: generate_rest.py nvml.h OUTPUT.c
What the library really answers is defined strongly in its own files and wins over these at link time.
"""
import pathlib
import re
import sys

# What drivers have whose header is newer than ours (CUDA 13); each takes a device first.
NEWER = ("nvmlDeviceGetAddressingMode nvmlDeviceGetGpuInstanceProfileInfoByIdV nvmlDeviceGetHostname_v1 "
         "nvmlDeviceGetNvLinkInfo nvmlDeviceGetPdi nvmlDeviceGetPowerMizerMode_v1 nvmlDeviceGetRepairStatus "
         "nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts nvmlDeviceGetUnrepairableMemoryFlag_v1 "
         "nvmlDeviceReadPRMCounters_v1 nvmlDeviceReadWritePRM_v1 nvmlDeviceSetHostname_v1 "
         "nvmlDeviceSetPowerMizerMode_v1 nvmlDeviceSetRusdSettings_v1").split()

HEAD = """/* Made by generate_rest.py from nvml.h. */
int fakegpuRestOfSystem(void);
int fakegpuRestOfGpu(const char* call, void* device);
#define REST(name) __attribute__((weak, visibility("default"))) int name"""


def declared(header: str) -> dict[str, bool]:
    """All functions of the header, old and new, without comments' mentions; whether the first argument is a device."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    found = re.findall(r"DECLDIR\s+(?:char\s*\*\s*)?(nvml\w+)\s*\(\s*(\w*)", code)
    return {name: kind == "nvmlDevice_t" for name, kind in found}


def main() -> None:
    header, output = map(pathlib.Path, sys.argv[1:])
    functions = declared(header.read_text(encoding="utf-8")) | dict.fromkeys(NEWER, True)
    del functions["nvmlErrorString"]
    lines = [HEAD]
    lines += [f"REST({name})(void* device) {{ return fakegpuRestOfGpu(__func__, device); }}" if of_gpu else
              f"REST({name})(void) {{ return fakegpuRestOfSystem(); }}" for name, of_gpu in sorted(functions.items())]
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
