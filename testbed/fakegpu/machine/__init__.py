# SPDX-License-Identifier: Apache-2.0
"""The fake machine: profiles, its state in the library file, and what it is installed as in a node."""
