# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Implements ./npu check: runs the stages, and prints the sum of what they found. A stage that fails
# does not end the run. Sourced by npu, which sets $top, after lib.sh, root.sh, build.sh, cross.sh,
# debug.sh, driver.sh, guest.sh, doc.sh, check-packages.sh and media.sh.

: "${top:?}"

# Seconds for each fuzz target. check-full overrides this variable, and the next three.
fuzz_seconds=${ONPU_FUZZ_SECONDS:-10}
# When the run has to be over, in seconds since 1970; nothing: whenever it is. .ci/run sets it.
check_end=${ONPU_CHECK_END:-}
# Kernels that the guest's tests run on; the runner's own run on all.
guest_kernels=1
left_out=(--no-suite full)
# With sanitizers, two more kinds of tests are left out: tests that repeat others, and tests that run
# the same code on more data.
left_out_sanitized=(--no-suite again --no-suite plain)
# The stage guest runs the guest tests that have one of these words in the third column of
# budgets.txt.
guest_where=(quick check)

declare -A stage_result

# Prints the rows of budgets.txt: KIND NAME WHERE SECONDS BEFORE.
budget_rows()
{
	sed 's/#.*//; /^[[:space:]]*$/d' "$top/scripts/budgets.txt"
}

read_budgets()
{
	local kind name seconds

	while read -r kind name _ seconds _; do
		# lib.sh reads it
		# shellcheck disable=SC2034
		budgets["${kind/guest/step} $name"]=$seconds
	done < <(budget_rows)
}

# Prints the seconds until the run has to be over.
seconds_left()
{
	echo $((check_end - $(date +%s)))
}

# has_time STAGE: returns whether a stage may begin. The slowest machine that was seen takes five
# times the budget of a stage, and three times that of a stage of guests.
has_time()
{
	local times=5

	case $1 in guest*) times=3 ;; esac
	[ -z "$check_end" ] || [ "$(seconds_left)" -ge $((times * ${budgets["stage $1"]:-0})) ]
}

# stage NAME FUNCTION…: runs a stage; a status of 0 is passed, 77 skipped, any other failed.
stage()
{
	local name=$1 start=$SECONDS status=0

	shift
	if has_time "$name"; then
		"$@" || status=$?
	else
		say "  $name: NOT RUN, as too little time is left for it"
		status=77
	fi
	case $status in
	0) stage_result[$name]=passed ;;
	77) stage_result[$name]=skipped ;;
	*) stage_result[$name]=failed ;;
	esac
	spent stage "$name" $((SECONDS - start))
}

# needs_build TITLE: makes the gcc build if need be; a stage that needs the build is skipped when it
# failed.
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
	step check-words "sentences without a subject" \
		inside python3 "$top/scripts/check-words.py" || status=1
	step check-format "C as clang-format writes it" inside bash "$top/scripts/check-format.sh" || status=1
	step check-includes "include directions" \
		inside python3 "$top/scripts/check-includes.py" || status=1
	step check-numbers "numbers of the contract typed again" \
		inside python3 "$top/scripts/check-numbers.py" || status=1
	step check-messages "messages and their causes" \
		inside python3 -B "$top/tests/documents/test_messages.py" || status=1
	step check-mutations "planted errors fit the sources" check_mutations || status=1
	step check-budgets "budgets of stages and tests" inside python3 "$top/scripts/check-budgets.py" "$top" \
		"${check_stages[*]}" "${more_stages[*]}" || status=1
	return "$status"
}

# Checks the lists of planted errors without running the tests that must find the errors.
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

fetch_linux()
{
	step linux "checkpatch and kselftest from the kernel's source" \
		"$top/scripts/fetch-linux.sh" "$top/npu" "$top/build/linux"
}

fetch_samples()
{
	step samples "networks and a photograph for the examples" \
		"$top/scripts/fetch-samples.sh" "$top/npu" "$top/build/samples"
}

# Makes the gcc build. The kernel's test harness is fetched before, because the build uses it, and
# the samples meanwhile.
stage_gcc()
{
	local status=0

	fetch_linux || true
	pool_run fetch_samples
	build_tools || status=$?
	# The tests of what was not fetched are skipped.
	pool_wait || true
	return "$status"
}

stage_clang()
{
	local status=0

	build clang || status=$?
	drop_lock
	return "$status"
}

# Fetches Mesa's tools, with which tests compare; without a network the tests are skipped.
stage_mesa()
{
	step mesa "Mesa's ISA tools for comparison" "$top/scripts/fetch-mesa.sh" "$top/npu" "$top/build/mesa"
}

# meson_test BUILD LOG [ARGUMENTS]: runs tests of a build; a run without any test is a failure. The
# time limits are for tests that hang, so they are long enough for a machine that is slow or busy.
meson_test()
{
	local dir=$top/build/$1 log=$2 left limit=() status=0

	shift 2
	if [ -n "$check_end" ]; then
		left=$(($(seconds_left) - 60))
		limit=(timeout --foreground $((left > 0 ? left : 1)))
	fi
	inside "${limit[@]}" meson test -C "$dir" --no-rebuild --print-errorlogs --logbase "$log" \
		--timeout-multiplier 6 "${left_out[@]}" "$@" || status=$?
	[ "$status" -eq 0 ] || [ "$status" -eq 124 ] || return "$status"
	[ -s "$dir/meson-logs/$log.json" ] || { echo "no test ran"; return 1; }
	[ "$status" -eq 0 ] || { echo "ended before all tests ran, as no time is left"; return 77; }
}

# run_tests BUILD STEP TITLE [ARGUMENTS]: runs tests of one build, with the log testlog-STEP.
run_tests()
{
	local name=$1 step=$2 title=$3 status=0

	shift 3
	build "$name" && step "$step" "$title" meson_test "$name" "testlog-$step" "$@" || status=$?
	drop_lock
	return "$status"
}

stage_test()
{
	needs_build tests || return
	fetch_samples || true
	run_tests gcc gcc-test "tests" --no-suite more --no-suite again
}

# Runs tests that take long, and tests that test in another way what others test, too.
stage_test-more()
{
	needs_build tests || return
	fetch_samples || true
	run_tests gcc gcc-test-more "more tests" --suite more --suite again
}

# Runs tests with sanitizers, but not those of the sources, which run nothing that was built.
stage_sanitizers()
{
	fetch_samples || true
	run_tests asan asan-test "tests with ASan and UBSan" --no-suite source \
		"${left_out_sanitized[@]}"
}

stage_fuzz()
{
	local name names work

	names=$(fuzz_targets) || return
	[ -n "$names" ] || { say "  fuzz: no fuzz targets in tests/fuzz"; return 1; }
	# shellcheck disable=SC2086
	build_fuzzers $names || return
	for name in $names; do
		# Fuzzes from the seeds alone and with one random sequence, so that a check that
		# fails, fails again.
		work=$top/build/check/fuzz/$name
		pool_run step "fuzz-$name" "fuzz $name for $fuzz_seconds s" \
			run_fuzzer "$name" "$fuzz_seconds" "$work" -seed=1
	done
	pool_wait
}

# Runs the demo through firmware, driver and guest, as a user does, and on the model alone.
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

# Builds the driver for every kernel with both compilers, and runs the checks of its source.
stage_driver()
{
	local release compiler status=0 style=0

	if ! driver_exists; then
		say "  driver: skipped, there is no driver/Kbuild"
		return 77
	fi
	fetch_linux || style=$?
	for release in $(kernels); do
		for compiler in gcc clang; do
			pool_run build_driver "$release" "$compiler"
		done
		pool_run step "driver-${release%%[+-]*}-sparse" "sparse for ${release%%[+-]*}" check_sparse "$release"
	done
	case $style in
	0)
		pool_run step driver-style "checkpatch --strict" check_style
		pool_run step driver-series "the series for ${release%%[+-]*}" inside \
			bash "$top/scripts/check-series.sh" "$release" "$(driver_folder "$release" series)" \
			"$top/build/linux" ;;
	77) ;;
	*) status=1 ;;
	esac
	pool_wait || status=1
	return "$status"
}

# Lists the tests that run inside the guest: programs that speak TAP.
guest_tests()
{
	find "$top/tests/driver" -name 'guest_*' -perm -u+x -type f \( -name '*.sh' -o -name '*.py' \) \
		2>/dev/null | sort
}

# tests_of WHERE…: prints the names of the guest tests that have one of these words in the third
# column of budgets.txt, the longest first. A test without a row counts as "more".
tests_of()
{
	guest_tests | sed 's|.*/||; s|\..*||' | awk -v where=" $* " '
		FNR == NR { if ($1 == "guest") { place[$2] = $3; seconds[$2] = $4 }; next }
		{ if (!($1 in place)) place[$1] = "more" }
		index(where, " " place[$1] " ") { print seconds[$1] + 0, $1 }' <(budget_rows) - | sort -k 1nr | cut -d ' ' -f 2
}

# guest_test RELEASE FILE: runs a test inside the guest; its TAP goes to build/check/guest. The
# guest has one processor, as two guests run at a time, unless the test asks for two.
guest_test()
{
	local name release=$1 file=$2 options=()

	name=$(basename -- "${file%.*}")-$release
	# The options that the test asks for, quoted as for the shell.
	mapfile -t options < <(sed -n 's/^# guest: //p' "$file" | xargs -r -n 1 printf '%s\n')
	(
		guest_prepare --no-build "--kernel=$release" "--log=${log_dir:?}/$name.kernel.log" --cpus=1 \
			"${options[@]}" -- "$file"
		# guest_prepare sets it
		# shellcheck disable=SC2154
		inside "${guest_line[@]}" | tee "$top/build/check/guest/$name.tap"
	)
}

# build_guests TITLE RELEASE…: builds what the guest's tests need, for these kernels.
build_guests()
{
	local title=$1 release

	shift
	if ! driver_exists || [ -z "$(guest_tests)" ]; then
		say "  $title: skipped, there is no driver or no test in tests/driver"
		return 77
	fi
	needs_build "$title" || return
	# If the kernel's test harness is there, build_tools also builds tests of the driver.
	fetch_linux || true
	build_tools || return
	for release in "$@"; do
		build_driver "$release" gcc || return
	done
}

# run_guests RELEASE NAME…: runs these tests in the pool.
run_guests()
{
	local release=$1 name file

	shift
	for name in "$@"; do
		file=$top/tests/driver/$name.sh
		[ -e "$file" ] || file=${file%.sh}.py
		pool_run step "$name-${release%%[+-]*}" "guest ${release%%[+-]*}: $name" guest_test "$release" "$file"
	done
}

stage_guest()
{
	local names releases release

	mapfile -t releases < <(kernels | head -n "$guest_kernels")
	build_guests guest "${releases[@]}" || return
	mapfile -t names < <(tests_of "${guest_where[@]}")
	for release in "${releases[@]}"; do
		run_guests "$release" "${names[@]}"
	done
	pool_wait
}

# The words in the third column of budgets.txt whose guest tests the stage guest-more runs; a test
# without a row counts as "more". check-full overrides the list.
guest_more_where=(more)

# Runs the guest tests that check leaves out, the longest first.
stage_guest-more()
{
	local names releases release

	mapfile -t releases < <(kernels)
	build_guests guest-more "${releases[@]}" || return
	for release in "${releases[@]:0:guest_kernels}"; do
		build_sched "$release" || return
	done
	mapfile -t names < <(tests_of "${guest_more_where[@]}")
	pool_run step guest-runner "the guest runner" "$top/tests/frontdoor/guest.sh" "$top/build/check/guest/runner.tap"
	for release in "${releases[@]:0:guest_kernels}"; do
		run_guests "$release" "${names[@]}"
	done
	pool_wait
}

# The arm64 guests that are tested: KiB of a page, and an option of ./npu guest, if any. check-full
# overrides the list.
arm64_forms=("4 --not-coherent")

# arm64_test NAME PAGES [OPTION]: runs the driver's kselftests in an arm64 guest with pages of PAGES
# KiB.
arm64_test()
{
	local name=$1

	(
		guest_prepare --no-build --arch=arm64 "--pages=$2" "${@:3}" "--log=${log_dir:?}/$name.kernel.log" --cpus=1 \
			--modprobe=vgem --timeout=7200 -- "$top/tests/driver/arm64.sh" "${@:2}"
		inside "${guest_line[@]}" | tee "$top/build/check/guest/$name.tap"
	)
}

# Tests the driver on another processor, whose caches the device may not see, and whose pages may be
# larger than the device's.
stage_arm64()
{
	local form pages option name release

	needs_build arm64 || return
	fetch_linux || true
	for form in "${arm64_forms[@]}"; do
		read -r pages option <<<"$form"
		ensure_arm64 "$pages" || return
		release=$(arm64_release "$pages")
		build_driver "$release" arm64 || return
	done
	build_arm64_programs || return
	for form in "${arm64_forms[@]}"; do
		read -r pages option <<<"$form"
		name=arm64-${pages}k${option:+-${option#--}}
		# Without an option, $option must not become an empty word.
		# shellcheck disable=SC2086
		pool_run step "$name" "guest ${name//-/ }: kselftests" arm64_test "$name" "$pages" $option
	done
	pool_wait
}

# Tests wait this many times as long on a kernel with debug checks.
debug_patience=8
# The tests that check-debug --rounds N runs; each can run any number of rounds.
campaigns=(fail fuzz gone kill lifecycle power)

# campaign_arguments NAME ROUNDS: prints the arguments with which the test runs so many rounds.
campaign_arguments()
{
	case $1 in
	fail) ;;
	fuzz) printf '%s\n' "${2}00" ;;
	lifecycle) printf '%s\n' "--rounds=$2" --stay ;;
	*) printf '%s\n' "$2" ;;
	esac
}

# debug_test NAME KERNEL [ARGUMENTS]: runs a test on a kernel with debug checks.
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

# Options of ./npu check-debug: the only kernel to test on, and the number of rounds; '' and 0 if
# not given.
debug_kernel='' debug_rounds=0

# Runs the tests on all kernels with debug checks, or on $debug_kernel. With $debug_rounds, runs
# only $campaigns.
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

# Tests the library on other processors; each instruction is translated, which takes an hour.
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
		step check-doc "index, and questions of the pages" inside python3 "$top/scripts/check-doc.py" \
			"$top/build/doc/html" || status=1
	drop_lock
	return "$status"
}

# The stages of check, of check --more, and of check --quick.
check_stages=(lint frontdoor gcc test guest demo)
more_stages=(clang driver mesa test-more guest-more packages sanitizers fuzz documentation)
quick_stages=(lint gcc test guest)

# The stages that need the gcc build, which stage_gcc() makes while it fetches the samples.
on_gcc="gcc test test-more guest guest-more demo packages documentation arm64 debug media"

# The room that folders of build/ need: FOLDER MIB STAGE…, where each of the stages makes the folder. Folders below 90 MiB
# are left out, as are kernels of arm64 and debug, the root of media, and riscv64 of cross, which have not been measured.
# The environment is not here: see check_disk().
folder_rooms="
gcc 1100 $on_gcc
samples 1100 $on_gcc sanitizers
guest 150 guest guest-more demo packages
clang 200 clang
driver 450 driver
packages/base 1600 packages
packages/root 1500 packages
asan 1700 sanitizers
fuzzers 250 fuzz
cross/arm64 240 arm64 cross
"

# check_room STAGE…: checks the free space before anything is built: a full disk would make one
# stage after the other fail, and other programs of the machine, too.
check_room()
{
	local stage stages folder size free need=0

	while read -r folder size stages; do
		[ ! -e "$top/build/$folder" ] || continue
		for stage; do
			[[ " $stages " == *" $stage "* ]] || continue
			need=$((need + size))
			break
		done
	done < <(grep . <<<"$folder_rooms")
	free=$(($(df --output=avail -k "$top/build" | tail -n 1) / 1024))
	[ "$free" -ge "$need" ] ||
		die "no room below $top/build: what these stages build ($*) needs $need MiB, there are $free; make room for the $((need - free)) MiB that are missing"
}

cmd_check()
{
	local name stages=("${check_stages[@]}") all="${check_stages[*]} ${more_stages[*]} arm64 debug cross media"

	case ${1:-} in
	--more) stages=("${more_stages[@]}"); shift ;;
	--quick)
		stages=("${quick_stages[@]}") guest_where=(quick)
		left_out+=(--no-suite source --no-suite node --no-suite python --no-suite examples)
		shift ;;
	-*) wrong "check has no option '$1'" ;;
	esac
	[ $# -eq 0 ] || stages=("$@")
	for name in "${stages[@]}"; do
		declare -F "stage_$name" >/dev/null ||
			die "check has no stage '$name'; there are: $all"
	done
	progress_to_stdout
	check_environment
	check_room "${stages[@]}"
	for name in "${stages[@]}"; do
		# A stage that another one needed has run already.
		[ -n "${stage_result[$name]:-}" ] || stage "$name" "stage_$name"
	done
	report "${stages[@]}"
}

# Prepares the environment and the folder that the stages write to. The folder stays locked until
# this process ends, as report() reads it.
check_environment()
{
	local before=$SECONDS

	read_budgets
	ensure_environment
	take_lock "$top/build/.check-lock" "it checks"
	# take_lock sets it
	# shellcheck disable=SC2154
	check_lock_fd=$lock_fd
	rm -rf "$top/build/check"
	mkdir -p "$top/build/check/guest"
	times_file=$top/build/check/times
	spent stage environment $((SECONDS - before))
	# Results of an earlier run must not count.
	rm -f "$top"/build/{gcc,asan}/meson-logs/testlog*
}

# Prints the sum over stages and test cases; the last line is in a form for programs.
report()
{
	local name

	for name in "$@"; do
		printf '%s %s\n' "${stage_result[$name]}" "$name"
	done >"$top/build/check/stages"
	inside python3 "$top/scripts/show-times.py" "$times_file" "$top/build/gcc/meson-logs" "$top/build/asan/meson-logs" ||
		true
	say "logs: ${log_dir:?}; tests: build/{gcc,asan}/meson-logs; $SECONDS s in all"
	inside python3 "$top/scripts/count-tests.py" "$top/build/check/stages" \
		"$top"/build/check/*.tap "$top"/build/check/guest/*.tap \
		"$top/build/gcc/meson-logs" "$top/build/asan/meson-logs" | tee "$top/build/check/summary"
}

# Runs all stages with the long tests, and tests that take hours: four for the fuzzers, two on
# kernels with debug checks, one for other processors and one for the driver on one of them, and
# five for all of check and check --more ten times.
cmd_check-full()
{
	local status=0

	fuzz_seconds=1800
	guest_kernels=9
	guest_more_where=(more full)
	arm64_forms=(4 "4 --not-coherent" 16 "16 --not-coherent")
	left_out=() left_out_sanitized=()
	if [ $# -gt 0 ]; then
		cmd_check "$@"
		return
	fi
	say "this takes half a day"
	cmd_check "${check_stages[@]}" "${more_stages[@]}" arm64 debug cross media || status=1
	exec {check_lock_fd}>&-
	cp -- "$top/build/check/summary" "$top/build/check-full-summary"
	"$top/tests/frontdoor/rounds.sh" || status=1
	cat -- "$top/build/check-full-summary"
	return "$status"
}

# Runs the stage debug alone. To build each of its kernels takes a quarter of an hour, once, and its
# tests an hour: check has no time for that.
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
		die "check-debug: there is no debug kernel '$debug_kernel'; there are: $(debug_names | paste -sd ' ')"
	cmd_check debug
}
