# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Implements ./npu check media, which runs programs of Debian on our execution provider, unmodified:
# GStreamer's and PipeWire's, which compute with ONNX Runtime and know of no execution providers.
# They are those of the first Debian whose ONNX Runtime takes providers from a library. Sourced by
# npu, which sets $top. Needs lib.sh, root.sh, build.sh and check-packages.sh.

: "${top:?}"

media_suite=forky
media_root=$top/build/media/root
media_work=$top/build/media/work
# The last packages are libraries that our libraries are linked with.
media_packages=(gstreamer1.0-plugins-bad gstreamer1.0-tools python3-gi gir1.2-gst-plugins-bad-1.0
	gir1.2-gst-plugins-base-1.0 pipewire-bin libspa-0.2-modules libopenblas0-pthread libprotobuf-c1 libdrm2)

make_media_root()
{
	local line options=()

	while read -r line; do
		options+=("--aptopt=$line")
	done < <(host_apt_options)
	rm -rf --one-file-system -- "$media_root.new"
	mkdir -p "${media_root%/*}" || return
	# A Debian that is not released yet has no updates, and an expired index of it is as good.
	suite=$media_suite root_sources | grep -v -e '^deb-src' -e "$media_suite-" |
		mmdebstrap --mode=root --variant=apt --aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Languages "none"' --aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt=force-unsafe-io "${options[@]}" \
		"--include=$(IFS=,; printf '%s' "${media_packages[*]}")" "$media_suite" "$media_root.new" - || return
	finish_root "$media_root.new"
}

# Makes the system with the packages, again when their list changes.
media_system()
{
	local stamp="$media_suite ${media_packages[*]}"

	[ "$(cat "$media_root/.onpu-system" 2>/dev/null)" != "$stamp" ] || return 0
	step media-root "a Debian with GStreamer and PipeWire" make_media_root || return
	printf '%s\n' "$stamp" >"$media_root.new/.onpu-system"
	rm -rf --one-file-system -- "$media_root"
	mv -T -- "$media_root.new" "$media_root"
}

# Puts the models into one folder, and our libraries to where the system finds them.
media_files()
{
	local gcc=$top/build/gcc/userspace

	rm -rf -- "$media_work"
	mkdir -p "$media_work" &&
		cp -L -- "$gcc"/ort/*.so "$gcc"/libwebnn-npu.so.1 "$gcc"/import/onnx/libwebnn-onnx.so.1 "$media_work" &&
		inside python3 -B "$top/tests/ort/media/make_models.py" "$media_work"
}

# Runs the programs in a guest, on its NPU. The guest boots the system of ./npu exec, which lacks
# GStreamer and PipeWire; in it, enter.sh runs the programs in the Debian of $media_root.
media_guest()
{
	(
		guest_prepare --no-build --root --timeout=3600 "--log=${log_dir:?}/media-npu.kernel.log" -- \
			bash "$top/scripts/enter.sh" "$media_root" "$top" -- \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 -- \
			"$top/tests/ort/media/run.sh" npu "$media_work"
		# guest_prepare sets it
		# shellcheck disable=SC2154
		inside "${guest_line[@]}"
	)
}

stage_media()
{
	local device status=0

	if [ "$(id -u)" -ne 0 ]; then
		say "  media: skipped, only root can make another Debian"
		return 77
	fi
	needs_build media || return
	install_host_tools
	media_system || return
	build_tools || return
	step media-files "models for GStreamer and PipeWire" media_files || return
	for device in sim cpu; do
		step "media-$device" "GStreamer and PipeWire on $device" packages_part "media-$device" \
			in_system "$media_root" "$top/tests/ort/media/run.sh" "$device" "$media_work" || status=1
	done
	build_driver "$(kernels | head -n 1)" gcc || return
	step media-npu "GStreamer and PipeWire on npu" packages_part media-npu media_guest || status=1
	return "$status"
}
