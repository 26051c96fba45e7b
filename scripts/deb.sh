# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Implements ./npu deb, which builds the Debian packages of debian/ into build/deb. Sourced by npu,
# which sets $top. Needs lib.sh and root.sh.

: "${top:?}"

# dpkg-buildpackage writes the packages here; it works on a copy of the sources in a folder below.
deb_work=$top/build/packages

# Prints the names of the checkout's files, without those that git ignores, each with a NUL.
deb_sources()
{
	local file

	inside git -C "$top" ls-files -co --exclude-standard -z | sort -zu | while IFS= read -r -d '' file; do
		[ ! -e "$top/$file" ] || printf '%s\0' "$file"
	done
}

# deb_stamp FILES: prints a line that changes with all on which the packages depend. The packages
# have no tests but cases of WebNN.
deb_stamp()
{
	{
		tools
		inside dpkg-query -W
		{
			grep -zvE '^(tests|scripts)/|\.md$' "$1"
			grep -z '^tests/library/conformance/data/passing/' "$1"
		} | (cd -- "$top" && xargs -0 sha256sum --)
	} | sha256sum
}

# make_debs FILES: builds the packages; the file FILES has the names of the sources.
make_debs()
{
	local source=$deb_work/source

	rm -rf -- "$source"
	mkdir -p "$source"
	tar -C "$top" --null -T "$1" -cf - | tar -C "$source" -xf - || return
	inside env -C "$source" DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage --no-sign "-j$(nproc)" || return
	rm -rf -- "$source" "$top/build/deb"
	mkdir -p "$top/build/deb"
	ln -- "$deb_work"/*.deb "$top/build/deb/"
}

# build_debs: builds the packages, unless the sources are those of the last packages. The lock stays
# taken until drop_lock, so that the following steps use these packages.
build_debs()
{
	local files=$deb_work/files stamp

	mkdir -p "$deb_work"
	take_lock "$top/build/.deb-lock" "it makes packages"
	deb_sources >"$files"
	stamp=$(deb_stamp "$files")
	[ "$(cat "$deb_work/stamp" 2>/dev/null)" != "$stamp" ] || [ ! -d "$top/build/deb" ] || return 0
	rm -f -- "$deb_work"/{stamp,*.deb,*.dsc,*.tar.*,*.changes,*.buildinfo}
	step deb "Debian packages" make_debs "$files" || return
	printf '%s\n' "$stamp" >"$deb_work/stamp"
}

cmd_deb()
{
	[ $# -eq 0 ] || wrong "deb has no options"
	progress_to_stdout
	ensure_environment build doc deb
	build_debs || exit
	drop_lock
	say "packages are in build/deb:"
	(cd -- "$top/build/deb" && printf '  %s\n' *.deb) >&"${step_fd:?}"
}
