# SPDX-License-Identifier: MIT
"""Calls llama.cpp's library, from npm's package @node-llama-cpp/linux-x64, as the reference for
tokens and logits. Structures are passed as blocks of memory that are larger than them, because this
file does not know their members.
"""
import ctypes
import pathlib

Block = type("Block", (ctypes.Structure,), {"_fields_": [("bytes", ctypes.c_uint8 * 512)]})
# The callback that discards log messages. It must live as long as the library may call it.
QUIET = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)


class Llama:
    def __init__(self, folder, model):
        folder = pathlib.Path(folder)
        for name in ("libggml-base.so", "libggml.v0.5.0.so", "libllama.v0.5.0.so"):
            library = ctypes.CDLL(str(folder / name), ctypes.RTLD_GLOBAL)
            if name.startswith("libggml."):
                library.ggml_backend_load_all_from_path(str(folder).encode())
        self.library = library
        library.llama_log_set(QUIET, None)
        self.function("llama_model_default_params", Block)
        self.function("llama_model_load_from_file", ctypes.c_void_p, ctypes.c_char_p, Block)
        self.function("llama_model_get_vocab", ctypes.c_void_p, ctypes.c_void_p)
        self.function("llama_context_default_params", Block)
        self.function("llama_init_from_model", ctypes.c_void_p, ctypes.c_void_p, Block)
        self.function("llama_set_n_threads", None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)
        self.function("llama_batch_get_one", Block, ctypes.c_void_p, ctypes.c_int32)
        self.function("llama_decode", ctypes.c_int32, ctypes.c_void_p, Block)
        self.function("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), ctypes.c_void_p, ctypes.c_int32)
        self.function("llama_vocab_n_tokens", ctypes.c_int32, ctypes.c_void_p)
        self.function("llama_tokenize", ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32,
                      ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_bool)
        library.llama_backend_init()
        self.model = library.llama_model_load_from_file(str(model).encode(), library.llama_model_default_params())
        self.vocabulary = library.llama_model_get_vocab(self.model)

    def function(self, name, result, *arguments):
        getattr(self.library, name).restype = result
        getattr(self.library, name).argtypes = arguments

    def tokens(self, text, ends, special):
        data = text.encode()
        found = (ctypes.c_int32 * (len(data) + 8))()
        count = self.library.llama_tokenize(self.vocabulary, data, len(data), found, len(found), ends, special)
        return found[:count]

    def logits(self, tokens):
        """Returns the logits after the last token."""
        context = self.library.llama_init_from_model(self.model, self.library.llama_context_default_params())
        # One thread is used: several would wait for each other by spinning, which is slow on a busy
        # machine.
        self.library.llama_set_n_threads(context, 1, 1)
        given = (ctypes.c_int32 * len(tokens))(*tokens)
        assert self.library.llama_decode(context, self.library.llama_batch_get_one(given, len(tokens))) == 0
        return self.library.llama_get_logits_ith(context, -1)[:self.library.llama_vocab_n_tokens(self.vocabulary)]
