# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Prints messages, and runs steps with their times and logs, one after the other or beside each
# other. Sourced by npu, which sets $top.

: "${top:?}"

log_dir=$top/build/log

# File descriptor for progress lines; 2 when stdout belongs to the command that is run.
step_fd=2

# Makes step_fd a duplicate of stdout, so that lines are seen also where a function's stdout is
# captured.
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

# show_log LOG: prints the lines before the first tests that failed in a log, or else its last
# lines, indented, and the log's name.
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

# note TITLE: gives the running step another title, such as how far it is.
note()
{
	[ -z "${step_note:-}" ] || printf '%s\n' "$*" >"$step_note"
}

title_of()
{
	local title=$1

	[ ! -s "$step_note" ] || read -r title <"$step_note"
	printf '%s\n' "$title"
}

ticker()
{
	local start=$SECONDS

	while sleep 1; do
		printf '\r  %-52s %5d s' "$(title_of "$1")" $((SECONDS - start)) >&"$step_fd"
	done
}

# The file for the times of a check: KIND NAME SECONDS BUDGET PROCESSOR. PROCESSOR is the processor
# time of a step and all that it started, which also means something on a machine that others use.
# Budgets are found by KIND and NAME.
times_file='' spent=''
declare -A budgets=()

# spent KIND NAME SECONDS [PROCESSOR]: writes the time to the file, and sets $spent to the words for
# the line of the step. Budgets have no releases of kernels in their names.
spent()
{
	local budget=${budgets[$1 ${2%%-[0-9]*.[0-9]*}]:-}

	[ -z "$times_file" ] || printf '%s %s %s %s %s\n' "$1" "$2" "$3" "${budget:--}" "${4:--}" >>"$times_file"
	spent=$(printf '%5d s%s' "$3" "${budget:+ of $budget}")
}

# step LOG TITLE COMMAND…: runs COMMAND with its output in build/log/LOG.log and prints one line.
# Returns COMMAND's status: 0 is success, 77 skipped (its last line says why); any other is a
# failure, for which step names the log and shows its end.
step()
{
	local name=$1 log=$log_dir/$1.log title=$2 start=$SECONDS status=0 tick='' cpu=$log_dir/.cpu-$1 TIMEFORMAT='%U %S'
	local step_note=$log_dir/$1.note

	shift 2
	mkdir -p "$log_dir"
	rm -f "$step_note"
	if [ -t "$step_fd" ]; then
		ticker "$title" </dev/null &
		tick=$!
	fi
	{
		time {
			printf '+ %s\n' "$(quoted "$@")"
			"$@"
		} >"$log" 2>&1 </dev/null
	} 2>"$cpu" || status=$?
	if [ -n "$tick" ]; then
		kill "$tick" 2>/dev/null || true
		wait "$tick" 2>/dev/null || true
		printf '\r' >&"$step_fd"
	fi
	spent step "$name" $((SECONDS - start)) "$(awk '{ printf "%.1f", $1 + $2 }' "$cpu")"
	rm -f -- "$cpu"
	printf '  %-52s %s' "$(title_of "$title")" "$spent" >&"$step_fd"
	rm -f -- "$step_note"
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

# Functions that run beside this process, by process id: the file that has their lines until they
# end, and the process that ends them together with ./npu. pool_size of them may run at a time;
# pool_failed: whether one has failed.
declare -A pool_lines=() pool_guards=()
pool_size=2 pool_failed=0

# pool_run COMMAND…: runs a function with its steps beside others; waits while pool_size functions
# are running. Shows the function's output as a whole when it has ended. pool_wait tells whether all
# succeeded.
pool_run()
{
	local lines pid

	while [ "${#pool_lines[@]}" -ge "$pool_size" ]; do
		pool_next
	done
	mkdir -p "$log_dir"
	lines=$(mktemp "$log_dir/.lines-XXXXXX")
	# A process group of its own lets all of the function's processes be ended.
	set -m
	(
		set +m
		exec >"$lines" 2>&1 </dev/null
		progress_to_stdout
		"$@"
	) &
	set +m
	pid=$!
	pool_lines[$pid]=$lines
	# This process, the guard, ends the function when ./npu has ended, in whatever way: the kernel
	# sends SIGHUP to the guard then.
	# shellcheck disable=SC2016
	setpriv --pdeathsig HUP perl -e '$SIG{HUP} = sub { kill "-TERM", $ARGV[0]; exit }; sleep' "$pid" \
		</dev/null >/dev/null 2>&1 &
	pool_guards[$pid]=$!
}

# Waits until one of the functions in the pool has ended, and shows its lines.
pool_next()
{
	local pid start=$SECONDS

	while :; do
		for pid in "${!pool_lines[@]}"; do
			kill -0 "$pid" 2>/dev/null || break 2
		done
		[ ! -t "$step_fd" ] || printf '\r  %-52s %5d s' "${#pool_lines[@]} at a time" $((SECONDS - start)) >&"$step_fd"
		sleep 0.2
	done
	[ ! -t "$step_fd" ] || printf '\r' >&"$step_fd"
	wait "$pid" || pool_failed=1
	kill "${pool_guards[$pid]}" 2>/dev/null || true
	wait "${pool_guards[$pid]}" 2>/dev/null || true
	cat -- "${pool_lines[$pid]}" >&"$step_fd"
	rm -f -- "${pool_lines[$pid]}"
	unset "pool_lines[$pid]" "pool_guards[$pid]"
}

# Waits until all functions in the pool have ended; returns 1 when one of them failed.
pool_wait()
{
	local failed

	while [ "${#pool_lines[@]}" -gt 0 ]; do
		pool_next
	done
	failed=$pool_failed pool_failed=0
	return "$failed"
}

# take_lock FILE WHAT: waits for the lock on FILE and takes it. FILE stays locked until this process
# and all that inherit the descriptor are gone, or until drop_lock. Sets $lock_fd to the descriptor.
take_lock()
{
	mkdir -p "$(dirname -- "$1")"
	exec {lock_fd}>>"$1"
	# Most locks are held for a moment only.
	if ! flock -w 2 "$lock_fd"; then
		printf 'npu: waiting for another ./npu (%s)\n' "$2" >&2
		flock "$lock_fd"
	fi
}

drop_lock()
{
	exec {lock_fd}>&-
}
