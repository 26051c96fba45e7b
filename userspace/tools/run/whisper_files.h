/* SPDX-License-Identifier: MIT */
/* webnn-run transcribe: the files of a Whisper model's folder. */
#ifndef ONPU_TOOLS_RUN_WHISPER_FILES_H
#define ONPU_TOOLS_RUN_WHISPER_FILES_H

#include "whisper.h"

/*
 * Finds the models, and reads config.json, generation_config.json, preprocessor_config.json,
 * tokenizer.json and tokenizer_config.json. Returns DONE, or an exit code after a message.
 */
int whisper_files_read(struct whisper *whisper, const char *folder);

#endif
