# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Messages, timed steps and their logs. Sourced by npu, which sets $top.

: "${top:?}"

log_dir=$top/build/log

# File descriptor of the progress lines: 2 where stdout belongs to the command that is run.
step_fd=2

# A duplicate, so that the lines are seen also where a function's stdout is captured.
progress_to_stdout()
{
	exec {step_fd}>&1
}

say()
{
	printf '%s\n' "$*" >&"$step_fd"
}

die()
{
	printf 'npu: %s\n' "$*" >&2
	exit 1
}

quoted()
{
	printf '%q ' "$@"
}

# Show what is before the first tests that failed in a log, or else what it ends with, indented, and
# the log's name.
show_log()
{
	if grep -q '^not ok\|^Bail out' -- "$1"; then
		say "    the first that failed in $1:"
		grep -m 5 -B 12 '^not ok\|^Bail out' -- "$1"
	else
		say "    the last lines of $1:"
		tail -n 25 -- "$1"
	fi | sed 's/^/    | /' >&"$step_fd"
	say "    log: $1"
}

ticker()
{
	local start=$SECONDS

	while sleep 1; do
		printf '\r  %-52s %5d s' "$1" $((SECONDS - start)) >&"$step_fd"
	done
}

# step LOG TITLE COMMAND…: run COMMAND with its output in build/log/LOG.log and print one line.
# Returns COMMAND's status: 0 is success, 77 skipped (its last line says why); any other is a
# failure, which names the log and shows its tail.
step()
{
	local log=$log_dir/$1.log title=$2 start=$SECONDS status=0 tick=

	shift 2
	mkdir -p "$log_dir"
	if [ -t "$step_fd" ]; then
		ticker "$title" </dev/null &
		tick=$!
	fi
	{
		printf '+ %s\n' "$(quoted "$@")"
		"$@"
	} >"$log" 2>&1 </dev/null || status=$?
	if [ -n "$tick" ]; then
		kill "$tick" 2>/dev/null || true
		wait "$tick" 2>/dev/null || true
		printf '\r' >&"$step_fd"
	fi
	printf '  %-52s %5d s' "$title" $((SECONDS - start)) >&"$step_fd"
	case $status in
	0) say "" ;;
	77) say "  skipped: $(tail -n 1 -- "$log")" ;;
	*)
		say "  FAILED (status $status)"
		show_log "$log"
		;;
	esac
	return "$status"
}

# take_lock FILE WHAT: wait until FILE is ours; it stays locked until this process and all that
# inherit the descriptor are gone, or until drop_lock. The descriptor is left in $lock_fd.
take_lock()
{
	mkdir -p "$(dirname -- "$1")"
	exec {lock_fd}>>"$1"
	# Most are held for a moment only.
	if ! flock -w 2 "$lock_fd"; then
		printf 'npu: waiting for another ./npu (%s)\n' "$2" >&2
		flock "$lock_fd"
	fi
}

drop_lock()
{
	exec {lock_fd}>&-
}
