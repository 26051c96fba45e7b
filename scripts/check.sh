# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# ./npu check: the stages, and the sum of what they found. A stage that fails does not end the run.
# Sourced by npu, which sets $top, after lib.sh, root.sh, build.sh,
# cross.sh, debug.sh, driver.sh, guest.sh, doc.sh and check-packages.sh.

: "${top:?}"

# Seconds for each fuzz target, and the suites of meson test that are left out; check-full overrides
# these and the next.
fuzz_seconds=${ONPU_FUZZ_SECONDS:-10}
# Kernels that the guest's tests run on; the runner's own run on all.
guest_kernels=1
left_out=(--no-suite full)
# With sanitizers, tests that do again what others did, too.
left_out_sanitized=(--no-suite again)

declare -A stage_result

# stage NAME FUNCTION…: 0 is passed, 77 skipped, all else failed.
stage()
{
	local name=$1 status=0

	shift
	"$@" || status=$?
	case $status in
	0) stage_result[$name]=passed ;;
	77) stage_result[$name]=skipped ;;
	*) stage_result[$name]=failed ;;
	esac
}

# needs_build TITLE: a stage that stands on the gcc build is skipped when that failed.
needs_build()
{
	[ -n "${stage_result[gcc]:-}" ] || stage gcc stage_gcc
	[ "${stage_result[gcc]}" = passed ] && return
	say "  $1: skipped, the build failed"
	return 77
}

stage_lint()
{
	local status=0

	step check-shell "shell scripts" inside bash "$top/scripts/check-shell.sh" || status=1
	step check-tree "licence lines, file lengths, names" \
		inside python3 "$top/scripts/check-tree.py" || status=1
	step check-functions "lengths of functions" \
		inside python3 "$top/scripts/check-functions.py" || status=1
	step check-format "C as clang-format writes it" inside bash "$top/scripts/check-format.sh" || status=1
	step check-includes "include directions" \
		inside python3 "$top/scripts/check-includes.py" || status=1
	step check-numbers "numbers of the contract typed again" \
		inside python3 "$top/scripts/check-numbers.py" || status=1
	step check-messages "messages and their causes" \
		inside python3 -B "$top/tests/documents/test_messages.py" || status=1
	step check-mutations "planted errors fit the sources" check_mutations || status=1
	return "$status"
}

# Each list of planted errors, without running it.
check_mutations()
{
	local file status=0

	for file in "$top"/tests/mutations/*.py; do
		[ "${file##*/}" = run.py ] || inside python3 "$top/tests/mutations/run.py" --stale "$file" ||
			status=1
	done
	return "$status"
}

stage_frontdoor()
{
	step check-frontdoor "front door" "$top/tests/frontdoor/run.sh" "$top/build/check/frontdoor.tap"
}

stage_gcc()
{
	build_tools
}

stage_clang()
{
	local status=0

	build clang || status=$?
	drop_lock
	return "$status"
}

# The tests compare with Mesa's tools where those can be had; without network the tests say so.
stage_mesa()
{
	step mesa "Mesa's ISA tools for comparison" "$top/scripts/fetch-mesa.sh" "$top/npu" "$top/build/mesa"
}

# meson_test BUILD [ARGUMENTS]: a run without any test is a failure too.
meson_test()
{
	local dir=$top/build/$1

	shift
	inside meson test -C "$dir" --no-rebuild --print-errorlogs "${left_out[@]}" "$@" || return
	[ -s "$dir/meson-logs/testlog.json" ] || { echo "no test ran"; return 1; }
}

# run_tests BUILD TITLE [ARGUMENTS]: the tests of one build.
run_tests()
{
	local name=$1 title=$2 status=0

	shift 2
	build "$name" && step "$name-test" "$title" meson_test "$name" "$@" || status=$?
	drop_lock
	return "$status"
}

# The tests of what was not fetched are skipped.
fetch_samples()
{
	step samples "networks and a photograph for the examples" \
		"$top/scripts/fetch-samples.sh" "$top/npu" "$top/build/samples"
}

stage_test()
{
	needs_build tests || return
	fetch_samples || true
	run_tests gcc "tests"
}

# Not the tests of the source, which run nothing that was built.
stage_sanitizers()
{
	fetch_samples || true
	run_tests asan "tests with ASan and UBSan" --timeout-multiplier 6 --no-suite source \
		"${left_out_sanitized[@]}"
}

stage_fuzz()
{
	local name names work status=0

	names=$(fuzz_targets) || return
	[ -n "$names" ] || { say "  fuzz: no fuzz targets in tests/fuzz"; return 1; }
	# shellcheck disable=SC2086
	build_fuzzers $names || return
	for name in $names; do
		# From the seeds alone and with one random sequence: a check that fails, fails again.
		work=$top/build/check/fuzz/$name
		step "fuzz-$name" "fuzz $name for $fuzz_seconds s" \
			run_fuzzer "$name" "$fuzz_seconds" "$work" -seed=1 || status=1
	done
	return "$status"
}

# Through firmware, driver and guest as a user runs it, and on the model alone.
stage_demo()
{
	local json=$top/build/check/demo.json device status=0

	needs_build demo || return
	for device in npu sim; do
		rm -f "$json"
		step "demo-$device" "demo on $device" env WEBNN_DEVICE="$device" "$top/npu" demo --json "$json" &&
			step "demo-$device-result" "demo on $device: accuracy, agreement, placement, bits" \
				inside python3 "$top/scripts/check-demo.py" "$json" || status=1
	done
	return "$status"
}

fetch_linux()
{
	step linux "checkpatch and kselftest from the kernel's source" \
		"$top/scripts/fetch-linux.sh" "$top/npu" "$top/build/linux"
}

# The driver for every kernel with both compilers, and what reads its source.
stage_driver()
{
	local release compiler status=0 style=0

	if ! driver_exists; then
		say "  driver: skipped, there is no driver/Kbuild"
		return 77
	fi
	while read -r release <&3; do
		for compiler in gcc clang; do
			build_driver "$release" "$compiler" || status=1
		done
		step "driver-${release%%[+-]*}-sparse" "sparse for ${release%%[+-]*}" \
			check_sparse "$release" || status=1
	done 3< <(kernels)
	fetch_linux || style=$?
	case $style in
	0)
		step driver-style "checkpatch --strict" check_style || status=1
		release=$(kernels | tail -n 1)
		step driver-series "the series for ${release%%[+-]*}" inside bash "$top/scripts/check-series.sh" \
			"$release" "$(driver_folder "$release" series)" "$top/build/linux" || status=1 ;;
	77) ;;
	*) status=1 ;;
	esac
	return "$status"
}

# The tests that run inside the guest: programs that speak TAP.
guest_tests()
{
	find "$top/tests/driver" -name 'guest_*' -perm -u+x -type f \( -name '*.sh' -o -name '*.py' \) \
		2>/dev/null | sort
}

# guest_test RELEASE FILE: run a test inside the guest; its TAP goes to build/check/guest.
guest_test()
{
	local name release=$1 file=$2 options=()

	name=$(basename -- "${file%.*}")-$release
	# The options that it asks for, quoted as for the shell.
	mapfile -t options < <(sed -n 's/^# guest: //p' "$file" | xargs -r -n 1 printf '%s\n')
	(
		guest_prepare --no-build "--kernel=$release" "--log=${log_dir:?}/$name.kernel.log" \
			"${options[@]}" -- "$file"
		# guest_prepare sets it
		# shellcheck disable=SC2154
		inside "${guest_line[@]}" | tee "$top/build/check/guest/$name.tap"
	)
}

stage_guest()
{
	local file tests releases release status=0

	tests=$(guest_tests)
	if ! driver_exists || [ -z "$tests" ]; then
		say "  guest: skipped, there is no driver or no test in tests/driver"
		return 77
	fi
	needs_build guest || return
	# With the harness, there is more to build.
	fetch_linux || true
	build_tools || return
	releases=$(kernels)
	for release in $releases; do
		build_driver "$release" gcc && build_sched "$release" || return
	done
	step guest-runner "the guest runner" "$top/tests/frontdoor/guest.sh" \
		"$top/build/check/guest/runner.tap" || status=1
	for release in $(head -n "$guest_kernels" <<<"$releases"); do
		for file in $tests; do
			file=${file##*/}
			step "${file%.*}-${release%%[+-]*}" "guest ${release%%[+-]*}: ${file%.*}" \
				guest_test "$release" "$top/tests/driver/$file" || status=1
		done
	done
	return "$status"
}

# How much slower everything is on such a kernel.
debug_patience=8
# What check-debug --rounds N runs: what can go on for as long as one likes.
campaigns=(fail fuzz gone kill lifecycle power)

# campaign_arguments NAME ROUNDS: what the test is told.
campaign_arguments()
{
	case $1 in
	fail) ;;
	fuzz) printf '%s\n' "${2}00" ;;
	lifecycle) printf '%s\n' "--rounds=$2" --stay ;;
	*) printf '%s\n' "$2" ;;
	esac
}

# debug_test NAME KERNEL [ARGUMENTS]: a test on one of those kernels.
debug_test()
{
	local file=$top/tests/driver/guest_$1.sh name=debug-$1-$2 options=()

	[ -e "$file" ] || file=${file%.sh}.py
	mapfile -t options < <(sed -n 's/^# guest: //p' "$file" | xargs -r -n 1 printf '%s\n')
	(
		export ONPU_PATIENCE=$debug_patience
		guest_prepare --no-build "--kernel=$2" "--log=${log_dir:?}/$name.kernel.log" --memory=1536 \
			"${options[@]}" --root "--timeout=$((7200 + 60 * debug_rounds))" -- \
			"$top/tests/driver/debug.sh" "${file##*/}" "${@:3}"
		inside "${guest_line[@]}" | tee "$top/build/check/guest/$name.tap"
	)
}

# Of ./npu check-debug; see there.
debug_kernel='' debug_rounds=0

# All kernels that look for errors, or that of $debug_kernel; with $debug_rounds, the campaigns alone.
stage_debug()
{
	local kernel name status=0 arguments=() tests=("${campaigns[@]}")

	needs_build debug || return
	[ "$debug_rounds" -ne 0 ] || mapfile -t tests < <(guest_tests | sed 's|.*/guest_||; s|\..*||')
	fetch_linux || true
	build_tools || return
	for kernel in ${debug_kernel:-$(debug_names)}; do
		if ! build_debug_kernel "$kernel" || ! build_driver "$(debug_release "$kernel")" gcc; then
			status=1
			continue
		fi
		for name in "${tests[@]}"; do
			[ "$debug_rounds" -eq 0 ] ||
				mapfile -t arguments < <(campaign_arguments "$name" "$debug_rounds")
			step "debug-$name-$kernel" "$kernel: guest_$name" debug_test "$name" "$kernel" \
				"${arguments[@]}" || status=1
		done
	done
	return "$status"
}

# The library on other processors; each instruction is translated, so that it takes an hour.
stage_cross()
{
	cross_all
}

stage_documentation()
{
	local status=0

	if [ ! -e "$top/Documentation/conf.py" ]; then
		say "  documentation: skipped, there is no Documentation/conf.py"
		return 77
	fi
	needs_build documentation || return
	step check-abi "files in sysfs are described" inside python3 "$top/scripts/check-abi.py" || status=1
	take_lock "$top/build/.doc-lock" "it makes the documentation"
	step documentation "documentation" make_doc &&
		step check-doc "functions in the index" inside python3 "$top/scripts/check-doc.py" \
			"$top/build/doc/html" || status=1
	drop_lock
	return "$status"
}

# The stages of check.
stages=(lint frontdoor gcc clang driver mesa test guest packages sanitizers fuzz demo documentation)

cmd_check()
{
	local name

	progress_to_stdout
	ensure_environment
	# Until this process ends: report() reads what the stages wrote.
	take_lock "$top/build/.check-lock" "it checks"
	rm -rf "$top/build/check"
	mkdir -p "$top/build/check/guest"
	# Results of an earlier run must not count.
	rm -f "$top"/build/{gcc,asan}/meson-logs/testlog*
	[ $# -eq 0 ] || stages=("$@")
	for name in "${stages[@]}"; do
		declare -F "stage_$name" >/dev/null || die "check has no stage '$name'"
	done
	for name in "${stages[@]}"; do
		stage "$name" "stage_$name"
	done
	report "${stages[@]}"
}

# The sum over stages and test cases; the last line is for programs.
report()
{
	local name

	for name in "$@"; do
		printf '%s %s\n' "${stage_result[$name]}" "$name"
	done >"$top/build/check/stages"
	say "logs: ${log_dir:?}; tests: build/{gcc,asan}/meson-logs; $SECONDS s in all"
	inside python3 "$top/scripts/count-tests.py" "$top/build/check/stages" \
		"$top"/build/check/*.tap "$top"/build/check/guest/*.tap \
		"$top/build/gcc/meson-logs" "$top/build/asan/meson-logs"
}

cmd_check-full()
{
	fuzz_seconds=1800
	guest_kernels=9
	left_out=() left_out_sanitized=()
	[ $# -gt 0 ] || set -- "${stages[@]}" debug cross
	cmd_check "$@"
}

# A kernel takes a quarter of an hour to build, once, and its tests an hour: check has no time for it.
cmd_check-debug()
{
	while [ $# -gt 0 ]; do
		case $1 in
		--rounds=*) debug_rounds=${1#--rounds=} ;;
		--rounds)
			[ $# -ge 2 ] || wrong "check-debug: --rounds needs a number"
			debug_rounds=$2
			shift ;;
		*)
			[ -z "$debug_kernel" ] || wrong "check-debug takes the name of one kernel, or none"
			debug_kernel=$1 ;;
		esac
		shift
	done
	[[ $debug_rounds =~ ^(0|[1-9][0-9]{0,4})$ ]] ||
		wrong "check-debug: --rounds needs a number up to 99999, not '$debug_rounds'"
	[ -z "$debug_kernel" ] || debug_names | grep -Fqx -- "$debug_kernel" ||
		die "no debug kernel '$debug_kernel'; there are: $(debug_names | paste -sd ' ')"
	cmd_check debug
}
