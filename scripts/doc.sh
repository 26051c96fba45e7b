# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Implements ./npu doc, which builds the documentation into build/doc/html. Sourced by npu, which
# sets $top. Needs lib.sh and root.sh.

: "${top:?}"

# make_doc [OPTIONS of sphinx-build]: builds the documentation from a copy, in which pages are
# generated beside the others. Warnings are errors.
make_doc()
{
	local work=$top/build/doc

	mkdir -p "$work/source" || return
	# Removes the old copies of pages, which must not be built; times stay, so that Sphinx sees
	# what has changed.
	find "$work/source" -mindepth 1 -maxdepth 1 ! -name generated -exec rm -rf -- {} + || return
	tar -C "$top/Documentation" --exclude=./generated --exclude=__pycache__ -cf - . |
		tar -C "$work/source" -xf - || return
	inside env ONPU_SOURCE="$top" PYTHONDONTWRITEBYTECODE=1 python3 -m sphinx -q -W --keep-going -b html \
		-d "$work/.doctrees" "$@" "$work/source" "$work/html"
}

cmd_doc()
{
	[ $# -eq 0 ] || wrong "doc has no options"
	progress_to_stdout
	ensure_environment build doc
	take_lock "$top/build/.doc-lock" "it makes the documentation"
	step doc "documentation" make_doc || exit
	drop_lock
	say "it begins in build/doc/html/index.html"
}
