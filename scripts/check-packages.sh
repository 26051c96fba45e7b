# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Implements ./npu check packages: installs the Debian packages in a Debian that has nothing else of
# the project, uses them there and in a guest, and removes them. Sourced by npu, which sets $top.
# Needs lib.sh, root.sh, driver.sh, guest.sh and deb.sh.

: "${top:?}" "${suite:?}" "${deb_work:?}"

# The base is a Debian without our packages but with what users have: a compiler, kernels with their
# headers, and tzdata, which apt does not remove again. Its cache has the packages on which ours
# depend, so that only making the base needs the network.
packages_base=$top/build/packages/base
packages_root=$top/build/packages/root
packages_lines=(gcc libc6-dev pkgconf kmod udev busybox-static tzdata)
# The package with which the tutorial makes its model. It brings libraries that would hide a
# dependency that our packages forget. So it is not in the base: the test installs and removes it.
packages_models=(python3-onnx)
# The package of npm compiles its addon with these, and that of pip its module, in an environment of
# its own; node-ws is for the server of the Node examples.
packages_headers=(libnode-dev libuv1-dev libpython3-dev python3-venv node-ws)

# in_system FOLDER COMMAND…: runs the command in another root than that of ./npu exec, with nothing
# of the checkout on the path. The shell inside sets HOME, since inside() shows each folder of the
# host that a word names.
in_system()
{
	# inside() reads both
	# shellcheck disable=SC2034
	local root=$1 environment=root

	shift
	# shellcheck disable=SC2016
	inside env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive INITRD=No \
		bash -c 'HOME=~root exec "$@"' in_system "$@"
}

# Prints a checksum that changes with the packages of the system. Raise the number when
# make_packages_system changes.
packages_system_stamp()
{
	{
		printf 'recipe 3 %s\n' "$suite" "${packages_lines[@]}"
		package_list | grep ^linux-
	} | sha256sum
}

# Prints a checksum that changes when the list of packages on which ours depend changes.
packages_depends_stamp()
{
	local file

	{
		printf '%s\n' "${packages_models[@]}" "${packages_headers[@]}"
		for file in "$top"/build/deb/*.deb; do
			inside dpkg-deb -f "$file" Package Depends
		done
	} | sha256sum
}

make_packages_system()
{
	# inside() reads root and environment
	# shellcheck disable=SC2034
	local root=$packages_base.new environment=root kernels

	mapfile -t kernels < <(package_list | grep ^linux-)
	bootstrap "$root" --include=ca-certificates || return
	install_lines "${packages_lines[@]}" "${kernels[@]}"
}

# Makes $packages_base; the packages are installed in a copy of it. This mostly waits for the
# network, so it runs while the packages are made.
packages_system()
{
	local stamp

	stamp=$(packages_system_stamp)
	[ "$(cat "$packages_base/.onpu-system" 2>/dev/null)" != "$stamp" ] || return 0
	rm -rf --one-file-system -- "$packages_base" "$packages_base.new"
	step packages-base "packages: a Debian for them" make_packages_system || return
	printf '%s\n' "$stamp" >"$packages_base.new/.onpu-system"
	mv -T -- "$packages_base.new" "$packages_base"
}

fetch_depends()
{
	in_system "$packages_base" sh -c 'apt-get clean && apt-get -q update &&
		apt-get -qy --no-install-recommends --download-only install "$@"' \
		apt "$top"/build/deb/*.deb "${packages_models[@]}" "${packages_headers[@]}"
}

packages_depends()
{
	local stamp

	stamp=$(packages_depends_stamp)
	[ "$(cat "$packages_base/.onpu-packages" 2>/dev/null)" != "$stamp" ] || return 0
	step packages-depends "packages: what they depend on" fetch_depends || return
	printf '%s\n' "$stamp" >"$packages_base/.onpu-packages"
}

# packages_part NAME COMMAND…: runs a part of the test, and keeps its TAP for report(), which counts
# the cases.
packages_part()
{
	local tap=$top/build/check/$1.tap

	shift
	mkdir -p "${tap%/*}"
	"$@" | tee "$tap"
}

packages_guest()
{
	local release=$1

	(
		guest_prepare --no-build --root "--system=$packages_root" "--kernel=$release" \
			"--log=${log_dir:?}/packages-$release.kernel.log" -- \
			"$top/tests/packages/guest.sh" "$packages_work"
		# guest_prepare sets it
		# shellcheck disable=SC2154
		inside "${guest_line[@]}"
	)
}

# test_packages: runs the parts in order, as each part needs what the part before has left.
test_packages()
{
	local script=$top/tests/packages/root.sh release status=0

	step packages-install "packages: installed, and used" packages_part packages-install \
		in_system "$packages_root" "$script" install "$packages_work" "$top/build/deb" || status=1
	for release in $(guest_system=$packages_root kernels | head -n "${guest_kernels:?}"); do
		step "packages-guest-${release%%[+-]*}" "packages: guest ${release%%[+-]*}" \
			packages_part "packages-guest-$release" packages_guest "$release" || status=1
	done
	step packages-purge "packages: purged" packages_part packages-purge \
		in_system "$packages_root" "$script" purge "$packages_work" || status=1
	return "$status"
}

stage_packages()
{
	local packages_work=$top/build/packages/work status=0

	if [ "$(id -u)" -ne 0 ]; then
		say "  packages: skipped, only root can install them"
		return 77
	fi
	needs_build packages || return
	install_host_tools
	pool_run packages_system
	build_debs || status=$?
	pool_wait && [ "$status" -eq 0 ] || return 1
	pool_run step packages-lintian "lintian" inside lintian --allow-root --display-info \
		--fail-on error,warning,info "$deb_work"/*.changes
	prepare_packages && test_packages || status=1
	pool_wait || status=1
	# The system is a copy of 1.5 GB, which is only looked at after a failure.
	[ "$status" -ne 0 ] || rm -rf --one-file-system -- "$packages_root" "$packages_work"
	return "$status"
}

# Makes a fresh copy of the Debian in which the packages are installed.
prepare_packages()
{
	packages_depends || return
	rm -rf --one-file-system -- "$packages_root" "$packages_work"
	mkdir -p "$packages_work"
	step packages-model "packages: a model" inside python3 "$top/tests/packages/make_model.py" "$packages_work" &&
		cp -a --reflink=auto -- "$packages_base" "$packages_root"
}
