#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests of ./npu itself, from outside the environment, as TAP: run.sh [FILE]. They work in a copy of
# the front door that shares this checkout's root, so that a checkout in use is not disturbed.

# Single quotes keep text for the inner shell unexpanded; ok() takes the status of the condition
# before it.
# shellcheck disable=SC2016,SC2319
set -uo pipefail

top=$(cd -- "$(dirname -- "$0")/../.." && pwd -P)
[ $# -eq 0 ] || exec >"$1"
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"
work=$(mktemp -d)
# This folder is not in /tmp, which ./npu always shows.
outside=$(mktemp -d /var/tmp/onpu-outside-XXXXXX)
trap 'rm -rf -- "$work" "$outside"' EXIT

# A path with characters that break careless quoting: an apostrophe, a space, a dollar, two kinds of
# brackets.
copy="$work/a b'c \$d [e] (f)/checkout"
mkdir -p "$copy/build" "$copy/../shared" "$copy/tests/bench"
touch "$copy/tests/bench/bench_speed.py"
cp -a "$top/npu" "$top/scripts" "$top/meson_options.txt" "$copy/"
echo beside >"$copy/../shared/note"
npu=$copy/npu

test_usage()
{
	out=$("$npu" help)
	contains "help names the commands" "fuzz TARGET --minutes N"
	out=$("$npu" nonsense 2>&1; echo "status $?")
	contains "an unknown command is named" "unknown command 'nonsense'"
	contains "an unknown command shows the usage" "usage: ./npu"
	contains "an unknown command fails" "status 1"
	out=$("$npu" deb all 2>&1; echo "status $?")
	contains "deb takes no options" "deb has no options"
	contains "deb with an option fails" "status 1"
	out=$("$npu" doc html 2>&1; echo "status $?")
	contains "doc takes no options" "doc has no options"
	out=$("$npu" exec 2>&1; echo "status $?")
	contains "exec without a command fails" "status 1"
	out=$("$npu" fuzz x --minutes y 2>&1; echo "status $?")
	contains "a wrong number of minutes is named" "--minutes needs a number from 1 to 99999, not 'y'"
	out=$("$npu" check-debug --rounds y 2>&1; echo "status $?")
	contains "a wrong number of rounds is named" "--rounds needs a number up to 99999, not 'y'"
	contains "check-debug with it fails" "status 1"
	out=$("$npu" check-debug nonsense 2>&1)
	contains "check-debug names the kernels there are" "there is no debug kernel 'nonsense'; there are: races realtime sanitizers"
	out=$("$npu" bench --help 2>&1; echo "status $?")
	contains "bench --help names the benchmarks" "There are: speed"
	contains "bench --help succeeds" "status 0"
	out=$("$npu" bench nonsense 2>&1; echo "status $?")
	contains "bench names what it does not know" "no benchmark 'nonsense'; there are: speed"
	contains "bench with it fails" "status 1"
}

# guest_refuses TEXT ARGUMENTS…: tests that ./npu guest refuses the arguments with a message that
# has TEXT.
guest_refuses()
{
	local text=$1

	shift
	out=$("$npu" guest "$@" 2>&1; echo "status $?")
	contains "guest $*: says what is wrong" "$text"
	contains "guest $*: fails" "status 1"
}

# Tests that wrong options are reported before anything is built or started.
test_guest_usage()
{
	out=$("$npu" guest --help; echo "status $?")
	contains "guest --help shows the options" "--emu-arg=ARG"
	contains "guest --help succeeds" "status 0"
	guest_refuses "needs a command" --root
	guest_refuses "there is no option '--nonsense'" --nonsense true
	guest_refuses "--timeout needs a value" --timeout
	guest_refuses "--timeout needs a number from 1 to 9999999, not '0'" --timeout 0 true
	guest_refuses "--memory needs a number from 1 to 9999999, not 'x'" --memory=x true
	guest_refuses "--devices is a number of NPUs from 1 to 8, not '9'" --devices 9 true
	guest_refuses "--system: there is no system in '$copy'" --system "$copy" true
	guest_refuses "'[' is no regular expression" '--allow-log=[' true
	guest_refuses "--arch is amd64 or arm64, not 'sparc'" --arch sparc true
	guest_refuses "--pages is 4 or 16, not '64'" --arch arm64 --pages 64 true
	guest_refuses "--pages and --not-coherent need --arch arm64" --not-coherent true
	guest_refuses "--iommu is not there with --arch arm64" --arch=arm64 --iommu true
	guest_refuses "--arch arm64 has one kernel for each --pages" --arch=arm64 --kernel 6.12 true
	out=$("$npu" guest true 2>&1; echo "status $?")
	contains "guest without a driver says so" "this checkout lacks the driver's sources"
	out=$("$npu" guest --no-device --kernel 1.2 true 2>&1; echo "status $?")
	contains "guest names the kernels there are" "; give one of: 6.12"
	contains "guest with a wrong kernel fails" "status 1"
	mkdir "$work/no-kernels"
	out=$(in_scripts '. "$top/scripts/debug.sh"; . "$top/scripts/driver.sh"
		guest_system=$work/no-kernels kernel_of ""' 2>&1; echo "status $?")
	contains "a system without a kernel is named" "no kernel that can be booted is in $work/no-kernels: "
	contains "without a kernel guest fails" "status 1"
}

# in_scripts TEXT: runs TEXT in a shell with the functions behind ./npu, and a root of its own
# without packages.
in_scripts()
{
	mkdir -p "$work/no-root"
	env top="$copy" work="$work" bash -c 'for file in lib places sets root; do . "$top/scripts/$file.sh"; done
		root=$work/no-root; eval "$0"' "$1"
}

test_sets()
{
	local list=$copy/scripts/packages.txt

	out=$(in_scripts 'package_list | sort | uniq -d')
	equal "each package is in one set" ""
	out=$(in_scripts 'diff <(package_list | sort) <(package_list $(set_names) | sort)')
	equal "each package is in a set" ""
	out=$(in_scripts 'set_sizes $(set_names) | grep -c "^[1-9]"; wanted_sets doc; [ "$(wanted_sets)" = "$(set_names)" ] && echo all')
	equal "a command has the demo's set, too, or all" $'1\ndemo\ndoc\nall'
	out=$(in_scripts 'stamp_sets demo deb; stamp_sets doc; missing_sets demo deb doc build; tools() { echo root; }; build_features')
	equal "sets that are installed are remembered" $'build\n--auto-features=auto -Dtests=false'
	cp "$list" "$work/packages.txt"
	sed -i 's/^lintian$/lintian\na-package/' "$list"
	out=$(in_scripts 'missing_sets demo deb doc; stamp_sets deb build; missing_sets demo deb doc; tools() { echo root; }; build_features')
	equal "a set that has changed is missing, others are not" $'deb\n--auto-features=enabled'
	out=$(in_scripts 'lacking / deb | grep ^a-')
	equal "what a system lacks is named" a-package
	cp "$work/packages.txt" "$list"
	out=$(in_scripts 'id() { echo 1; }; is_debian_13() { true; }; unset ONPU_FORCE_ROOT
		lacking() { printf "%s\n" "for:$*" a/suite/depends b/suite; }
		(need_root_user deb); touch "$root/.onpu-recipe"; (need_root_user deb)
		(ONPU_FORCE_ROOT=1 need_root_user deb); (lacking() { :; }; need_root_user deb); rm "$root/.onpu-recipe"' 2>&1)
	for text in ", or install what this system lacks: apt install for: deb a/suite b/suite" \
		", or install what this system lacks: apt install for: a/suite b/suite" "" ""; do
		printf "npu: the build environment needs root (mounts, chroot, packages): run 'sudo ./npu …'%s\n" "$text"
	done >"$work/hints"
	equal "a user who is not root gets the names of packages that would do" "$(cat "$work/hints")"
	out=$(in_scripts '. "$top/scripts/build.sh"; tools() { echo root; }; build_options() { echo gcc; }
		step() { echo set up; mkdir -p "$top/build/x"; }
		rm "$root/.onpu-packages"; stamp_sets demo; configure x; configure x; stamp_sets bench; configure x')
	equal "a build is set up again when a set was installed" $'set up\nset up'
	rm -r "$copy/build/x"
}

# Tests that the title of a step shows the progress of apt, with the sizes of all its runs added up.
test_progress()
{
	cat >"$work/apt" <<-'END'
	Need to get 1,200 MB/1,300 MB of archives.
	dlstatus:1:25.5:Retrieving file 1 of 2
	Get:1 a package
	pmstatus:a:50.0:Installing a
	Need to get 0 B/99.5 kB of archives.
	Need to get 30.5 MB of archives.
	END
	out=$(in_scripts 'note_progress <"$work/apt"')
	equal "the lines of apt are kept" "$(grep -v status: "$work/apt")"
	out=$(in_scripts 'note() { printf "%s\n" "$*"; }; note_progress <"$work/apt" | grep installing')
	equal "progress is told" $'installing packages: 325 of 1300 MB\ninstalling packages: 1300 MB, 50 % unpacked\ninstalling packages: 1330 MB'
	out=$(in_scripts 'step_fd=1; step told "a title" note another; step plain "a title" true' | sed 's/  */ /g')
	equal "a step's line has its last title" $' another 0 s\n a title 0 s'
}

# on_small TEXT: runs TEXT in a shell with the functions of check.sh, of the checkout on the disk
# $small; prints the output and the status.
on_small()
{
	env top="$small" bash -c '. "$top/scripts/lib.sh"; . "$top/scripts/check.sh"; eval "$0"' "$1" 2>&1
	echo "status $?"
}

# Tests that a stage begins only when the time that is left is enough for it.
test_no_time()
{
	out=$(env top="$copy" bash -c '. "$top/scripts/lib.sh"; . "$top/scripts/check.sh"
		budgets["stage lint"]=15
		stage_lint() { echo ran; }
		for left in 70 90; do
			check_end=$(($(date +%s) + left))
			stage lint stage_lint
			echo "${stage_result[lint]}"
		done
		budgets["stage guest"]=15
		check_end=$(($(date +%s) + 60))
		stage guest stage_lint' 2>&1)
	equal "a stage needs five times its budget, one of guests three times" \
		$'  lint: NOT RUN, as too little time is left for it\nskipped\nran\npassed\nran'
}

# Tests that ./npu reports a disk with too little space before anything is fetched: no step has
# written a log.
test_no_room()
{
	local small=$work/small

	mkdir "$small"
	mount -t tmpfs -o size=64m small "$small"
	mkdir "$small/driver"
	touch "$small/Kbuild" "$small/driver/Kbuild"
	cp -a "$copy/npu" "$copy/scripts" "$small/"
	out=$(ONPU_FORCE_ROOT=1 "$small/npu" demo 2>&1; echo "status $?"; ls "$small/build/log" 2>&1)
	contains "no room: where, and for what" "no room below $small/build: the packages for this (demo)"
	contains "no room: how much is missing" "need 3100 MiB, there are 6"
	contains "no room: a failure, and no step was begun" "status 1"$'\n'"ls: cannot access"
	mkdir -p "$small/build/driver" "$small/build/packages/base"
	out=$(on_small 'check_environment() { :; }; cmd_check driver sanitizers')
	contains "no room for a stage's folders, where another's is there" "these stages build (driver sanitizers) needs 2800 MiB, there are 6"
	contains "no room for a stage: a failure" "status 1"
	out=$(on_small 'check_room test documentation')
	contains "no room for the build that stages need, which counts once" "(test documentation) needs 2200 MiB"
	mkdir "$small/build/gcc" "$small/build/samples" "$small/build/guest"
	out=$(on_small 'check_room packages')
	contains "no room for the copy that is made of a folder that is there" "(packages) needs 1500 MiB"
	rm -rf "$small/build"
	mount -o remount,ro "$small"
	out=$(ONPU_FORCE_ROOT=1 "$small/npu" demo 2>&1; echo "status $?")
	contains "a file system that is read-only" "the checkout, below which all is built, cannot be written to: cannot create directory ‘$small/build’: Read-only file system"
	contains "a file system that is read-only is a failure" "status 1"
	umount "$small"
	chmod a+x "$work"
	out=$(setpriv --reuid=65534 --regid=65534 --clear-groups env ONPU_FORCE_ROOT=1 "$npu" build 2>&1; echo "status $?")
	contains "without root's rights" "the build environment needs root (mounts, chroot, packages): run 'sudo ./npu …'"
	contains "without root's rights it is a failure" "status 1"
}

test_exec()
{
	"$npu" exec sh -c 'exit 42'
	[ $? -eq 42 ]
	ok $? "exec keeps the exit status"
	out=$("$npu" exec no-such-command 2>&1; echo "status $?")
	contains "a missing command is status 127" "status 127"
	"$npu" exec sh -c 'kill -TERM $$' 2>/dev/null
	[ $? -eq 143 ]
	ok $? "exec keeps death by a signal"
	out=$("$npu" exec printf '<%s>' 'a b' "c'd" 'e"f' '$g' '' '*' $'h\ni')
	equal "exec keeps arguments" $'<a b><c\'d><e"f><$g><><*><h\ni>'
	out=$(printf 'one\ntwo\n' | "$npu" exec sed -n 2p)
	equal "exec passes standard input" two
	out=$("$npu" exec sh -c 'echo to stderr >&2' 2>&1 >/dev/null)
	equal "exec passes standard error and says nothing of its own" "to stderr"
}

test_places()
{
	out=$(cd "$copy/scripts" && "$npu" exec pwd)
	equal "exec keeps a directory of the checkout" "$copy/scripts"
	mkdir "$work/else where"
	out=$(cd "$work/else where" && "$npu" exec sh -c 'pwd; echo made >file')
	equal "exec keeps any other directory" "$work/else where"
	out=$(cat "$work/else where/file")
	equal "what is written in the current directory stays" made
	out=$(cd "$copy" && "$npu" exec cat ../shared/note)
	equal "shared is visible beside the checkout" beside
	ln -s "$copy/npu" "$work/link"
	out=$("$work/link" exec sh -c 'echo "$ONPU_INSIDE"')
	equal "a link to npu finds its checkout" "$copy"
	out=$("$npu" exec sh -c '. /etc/os-release; echo "$VERSION_CODENAME"')
	equal "the environment is Debian 13" trixie
}

# reaches NAME COMMAND…: tests a command that writes to a file in $outside. The words of the
# command, in whatever form, must make the folder visible inside, as nothing else names it.
reaches()
{
	local name=$1

	shift
	mkdir -p "$outside/a b"
	("$@") 2>/dev/null
	out=$(cat "$outside/a b/file" 2>&1)
	equal "$name" written
	rm -rf -- "$outside/a b"
}

test_files()
{
	local file="$outside/a b/file" name=${outside##*/}
	local writer="cd /var/tmp; echo written >'$name/a b/file'"

	reaches "a file that is an argument is the caller's" "$npu" exec sh -c "$writer" sh "$file"
	reaches "a file after --option=" "$npu" exec sh -c "$writer" sh --json="$file"
	reaches "a file after --option=NAME=" "$npu" exec sh -c "$writer" sh --input=x="$file"
	reaches "a file after -o" "$npu" exec sh -c "$writer" sh -o"$file"
	reaches "a file before a comma" "$npu" exec sh -c "$writer" sh "$file,option=1"
	reaches "a file of a variable" env ONPU_TEST="$file" "$npu" exec sh -c "$writer"
	reaches "a file by a relative path" sh -c 'cd "$2" && "$0" exec sh -c "$1" sh "../../../../../../../../$3"' \
		"$npu" "$writer" "$copy/scripts" "$file"
	ln -s "$outside/a b" "$work/linked"
	reaches "a file behind a link" "$npu" exec sh -c "$writer" sh "$work/linked/file"
	mkdir "$outside/a b"
	"$npu" exec sh -c "$writer" 2>/dev/null
	out=$(ls "$outside/a b")
	equal "what is not named is not shown" ""
	out=$(cd / && "$npu" exec sh -c '. /etc/os-release; echo "$VERSION_CODENAME"' sh /etc/os-release \
		--x=/usr/bin /bin 2>/dev/null)
	equal "folders of the system are the environment's own" trixie
	rm -rf -- "$outside/a b"
}

test_environment()
{
	out=$(OPENBLAS_CORETYPE=Haswell OPENBLAS_L2_SIZE=1 CFLAGS=-O0 LD_PRELOAD='' "$npu" exec env)
	! grep -qE '^(OPENBLAS_|CFLAGS|LD_PRELOAD)' <<<"$out"
	ok $? "the environment is clean"
	out=$(WEBNN_DEVICE='a b' "$npu" exec sh -c 'echo "$WEBNN_DEVICE"')
	equal "WEBNN_ variables are passed" "a b"
	out=$(ONPU_TRACE=1 ASAN_OPTIONS=x=1 "$npu" exec sh -c 'echo "$ONPU_TRACE $ASAN_OPTIONS $LANG"')
	equal "ONPU_ variables, sanitizer options and the locale are passed" "1 x=1 C.UTF-8"
	out=$("$npu" exec sh -c 'echo "$PATH"')
	contains "the build's programs are on PATH" "$copy/build/bin:"
	out=$("$npu" exec "$npu" exec sh -c 'echo nested')
	equal "npu works inside the environment" nested
}

test_mounts()
{
	local before pid

	before=$(cat /proc/self/mountinfo)
	"$npu" exec true
	"$npu" exec sleep 300 &
	pid=$!
	sleep 0.5
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	out=$(diff <(printf '%s\n' "$before") /proc/self/mountinfo)
	equal "no mount is left after an end and a kill" ""
	ls -d "$copy/npu" >/dev/null
	ok $? "the checkout is still there"
}

# Tests a build that cannot work: the copy has no meson.build.
test_failure()
{
	out=$("$npu" build 2>&1; echo "status $?")
	contains "a step that fails says so" "FAILED"
	contains "a step that fails names its log" "log: $copy/build/log/gcc-setup.log"
	contains "a step that fails shows the log's end" "    | "
	contains "a failing build is a failure" "status 1"
	grep -q 'meson setup' "$copy/build/log/gcc-setup.log"
	ok $? "the log holds the command"
}

test_twice()
{
	cat >"$copy/meson.build" <<-'END'
	project('twice', 'c')
	executable('a-tool', 'a.c')
	END
	echo 'int main(void) { return 5; }' >"$copy/a.c"
	out=$("$npu" build 2>&1; echo "status $?")
	contains "a build that failed is configured again" "configuring build/gcc"
	contains "the build succeeds" "status 0"
	grep -q "libdir=lib/$(gcc -print-multiarch) " "$copy/build/log/gcc-setup.log"
	ok $? "libraries go where CMake and the linker look for them"
	out=$("$npu" build 2>&1)
	[[ $out != *configuring* ]]
	ok $? "a second build does not configure"
	out=$("$npu" exec "$npu" build 2>&1)
	[[ $out != *configuring* ]]
	ok $? "a build from inside the environment does not configure"
	"$npu" exec a-tool
	[ $? -eq 5 ]
	ok $? "a built program is found by name"
	("$npu" build >/dev/null 2>&1 || touch "$work/failed") &
	("$npu" build >/dev/null 2>&1 || touch "$work/failed") &
	wait
	[ ! -e "$work/failed" ]
	ok $? "two builds at a time"
}

# To make a second root would take minutes: the copy uses this checkout's root, by a bind mount in a
# mount namespace of its own.
if [ -z "${ONPU_FRONTDOOR_TEST:-}" ] && [ -d "$top/build/root" ]; then
	rm -rf -- "$work" "$outside"
	ONPU_FRONTDOOR_TEST=1 exec unshare --mount --propagation private "$0" "$@"
fi
if [ -d "$top/build/root" ]; then
	mkdir "$copy/build/root"
	mount --bind "$top/build/root" "$copy/build/root"
	trap 'umount -l "$copy/build/root" && rm -rf --one-file-system -- "$work" "$outside" "$top/build/root$outside"' EXIT
fi

# Tests that a run without any test does not count as a success.
test_nothing_ran()
{
	out=$("$npu" check test 2>&1; echo "status $?")
	contains "a check without a test fails" "no test ran"
	contains "check ends with the sums" "passed, 1 failed, 0 skipped"
	contains "a failed check is a failure" "status 1"
}

# alive FILE: returns whether the process whose id is in FILE is alive.
alive()
{
	[ -s "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null
}

dead()
{
	! alive "$1"
}

# Tests that a process that a step has started ends with ./npu.
test_killed_step()
{
	local pid file=$copy/build/sleeper

	cat >"$copy/meson.build" <<-'END'
	project('slow', 'c')
	custom_target('slow', output: 'slow.txt', build_by_default: true,
	  command: ['sh', '-c', 'echo $$ >"$1"; exec sleep 300', '-', meson.project_build_root() / '../sleeper'])
	END
	"$npu" build >"$work/out" 2>&1 &
	pid=$!
	wait_for alive "$file"
	out=$(cat "$work/out")
	alive "$file"
	ok $? "the step runs"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	wait_for dead "$file"
	ok $? "a killed ./npu leaves no process"
}

# with_steps: runs the commands of standard input with the functions of scripts/lib.sh and logs in
# the copy.
with_steps()
{
	exec bash -euc 'top=$1; . "$top/scripts/lib.sh"; progress_to_stdout; . /dev/stdin' - "$copy"
}

test_pool()
{
	local pid file=$copy/build/pooled

	# Either step may end first; each prints one line.
	out=$(with_steps <<-'END' | sed -e 's/  *[0-9][0-9]* s/ N s/; s/log: .*/log/; s/in .*:/in it:/; s/ *| + .*/    +/' |
	times_file=$top/times budgets["step slow"]=7
	pool_run step slow-1.2.3 slow sh -c 'until [ -e "$1" ]; do sleep 0.1; done' - "$top/second"
	pool_run step bad bad sh -c 'echo not ok 1 - it; touch "$1"; exit 3' - "$top/second"
	pool_run step last last sh -c 'echo no; exit 77'
	pool_wait || say "status $?"
	pool_run step good good true
	pool_wait && say fine
	END
		sed -e ':all' -e 'N;$!b all' -e 's/\n    /; /g' | LC_ALL=C sort)
	equal "steps run beside each other; lines do not mix, and a failure is told" "$(cat <<-'END'
	  bad N s  FAILED (status 3); the first that failed in it:; +; | not ok 1 - it; log
	  good N s
	  last N s  skipped: no
	  slow N s of 7
	fine
	status 1
	END
	)"
	out=$(sed 's/ [0-9][0-9]* / N /; s/ [0-9]*\.[0-9]$/ C/' "$copy/times" | sort)
	equal "the times of steps are kept beside their budgets" \
		$'step bad N - C\nstep good N - C\nstep last N - C\nstep slow-1.2.3 N 7 C'
	with_steps >/dev/null 2>&1 <<-'END' &
	pool_run step long long sh -c 'echo $$ >"$0"; exec sleep 300' "$top/build/pooled"
	pool_wait
	END
	pid=$!
	wait_for alive "$file"
	alive "$file"
	ok $? "a step runs beside the script"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	wait_for dead "$file"
	ok $? "a killed script leaves nothing that ran beside it"
}

test_check_usage()
{
	out=$("$npu" check --nonsense 2>&1; echo "status $?")
	contains "check names the option that it does not know" "check has no option '--nonsense'"
	contains "check with it fails" "status 1"
	out=$("$npu" check nonsense 2>&1; echo "status $?")
	contains "check names the stages there are" "check has no stage 'nonsense'; there are: lint "
	contains "check with a wrong stage fails" "status 1"
}

# Tests .ci/run with an npu that prints $check for its command check, and $more for check --more.
test_ci()
{
	local ci="$work/ci dir" check more

	mkdir -p "$ci/.ci" "$ci/build/check"
	cp "$top/.ci/run" "$ci/.ci/"
	cat >"$ci/npu" <<-'END'
	#!/bin/bash
	[ "${2:-}" = --more ] && part=$more || part=$check
	mkdir -p "${0%/*}/build/check"
	echo "stage x 1 2" >"${0%/*}/build/check/times"
	[ "$part" = dies ] || printf '%s\n' "$part" | tee "${0%/*}/build/check/summary"
	[[ $part == *" 0 failed"* ]]
	END
	chmod +x "$ci/npu"
	export check="3 passed, 0 failed, 1 skipped" more="4 passed, 0 failed, 2 skipped"
	out=$("$ci/.ci/run"; echo "status $?")
	contains "CI's run is the sum of both parts" $'\n7 passed, 0 failed, 3 skipped\nstatus 0'
	check=$'failed: it\n3 passed, 1 failed, 1 skipped'
	out=$("$ci/.ci/run"; echo "status $?")
	contains "what failed in the first part is told again, and the second runs" \
		$' s:\nfailed: it\n7 passed, 1 failed, 3 skipped\nstatus 1'
	check="3 passed, 0 failed, 1 skipped" more=dies
	out=$("$ci/.ci/run" 2>/dev/null; echo "status $?")
	contains "a part that came to no end is a failure" \
		$'failed: ./npu check --more came to no end\n3 passed, 1 failed, 1 skipped\nstatus 1'
	export -n check more
}

test_rounds()
{
	mkdir -p "$copy/tests/frontdoor"
	cp "$top/tests/frontdoor/rounds.sh" "$copy/tests/frontdoor/"
	# This command fails in its second run and dies in its fourth; it counts the busy processes
	# beside it.
	cat >"$work/fails" <<-'END'
	#!/bin/bash
	n=$(cat "$0.n" 2>/dev/null || echo 0)
	echo $((n + 1)) >"$0.n"
	pgrep -cP "$PPID" -f 'while :' >>"$0.busy"
	case $n in
	1) printf 'failed: a test\n5 passed, 1 failed, 0 skipped\n'; exit 1 ;;
	3) echo "no disk"; exit 1 ;;
	*) echo "6 passed, 0 failed, 0 skipped" ;;
	esac
	END
	chmod +x "$work/fails"
	out=$(ONPU_ROUNDS_COMMAND="$work/fails" "$copy/tests/frontdoor/rounds.sh" 4; echo "status $?")
	contains "rounds tell what failed" $'2 of 4 rounds failed; what failed, and in how many:\n      1 a test\n      1 no disk\nstatus 1'
	contains "rounds tell how each ended" "s, 5 passed, 1 failed, 0 skipped"
	out=$(tr '\n' ' ' <"$work/fails.busy")
	equal "the second half runs beside two busy processes" "0 0 2 2 "
	out=$(ONPU_ROUNDS_COMMAND=true "$copy/tests/frontdoor/rounds.sh" 2; echo "status $?")
	contains "rounds that pass say so" $'all 2 rounds passed\nstatus 0'
	out=$("$copy/tests/frontdoor/rounds.sh" x 2>&1; echo "status $?")
	equal "a wrong number of rounds is named" $'rounds.sh needs a number of rounds, not \'x\'\nstatus 2'
}

test_usage
test_check_usage
test_ci
test_rounds
test_guest_usage
test_sets
test_progress
test_no_time
test_no_room
test_exec
test_places
test_files
test_environment
test_mounts
test_failure
test_twice
test_nothing_ran
test_killed_step
test_pool
tap_end
