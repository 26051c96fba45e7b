# SPDX-License-Identifier: MIT
"""Generator of the Open NPU's C headers and reference pages; generate.py is the program."""
