# SPDX-License-Identifier: MIT
"""Makes the C API of libwebnn-npu and the library's tables from webnn.json."""
