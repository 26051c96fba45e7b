# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Makes the build environment, and runs commands in it: a Debian 13 root in build/root, or the host
# when that is a Debian 13 with the packages. Sourced by npu, which sets $top. Needs lib.sh,
# places.sh and sets.sh.

: "${top:?}"

suite=trixie
root=$top/build/root

# Raise the number when make_root() changes: every root is then made anew.
root_recipe=1

os_release()
{
	# shellcheck disable=SC1091
	(. /etc/os-release 2>/dev/null && printf '%s' "${!1:-}")
}

# host_may_be_reference: returns whether the host can be the environment when it has the packages.
host_may_be_reference()
{
	[ "${ONPU_FORCE_ROOT:-0}" = 0 ] && is_debian_13
}

# host_lacks SET…: prints the lines of packages that the host lacks to be the environment: it needs
# all packages or, while there is no root, the packages of these sets.
host_lacks()
{
	if [ -e "$root/.onpu-recipe" ]; then
		lacking ""
	else
		lacking "" "$@"
	fi
}

# host_is_reference SET…: returns whether the host can be the environment.
host_is_reference()
{
	host_may_be_reference && [ -z "$(host_lacks "$@")" ]
}

is_debian_13()
{
	[ "$(os_release ID)" = debian ] && [ "$(os_release VERSION_CODENAME)" = "$suite" ]
}

# Prints a sources.list for the root: the mirror $ONPU_MIRROR or, if it is not set, the host's own
# mirrors, with Debian 13 as the suite. The root gets updates and security fixes if the host does.
root_sources()
{
	local uri release component target keyring

	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -e "$keyring" ] || keyring=${keyring%.gpg}.pgp
	if [ -n "${ONPU_MIRROR:-}" ]; then
		printf '%s %s main\n' "$ONPU_MIRROR" "$suite"
	else
		# apt expands the fields, not the shell
		# shellcheck disable=SC2016
		apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages'
	fi | sort -u | while read -r uri release component; do
		[ "$component" = main ] || continue
		case $uri in cdrom:*) continue ;; esac
		case ${release%%[-/]*} in
		bookworm|trixie|forky|sid|oldstable|stable|testing|unstable) ;;
		*) continue ;;
		esac
		case $release in
		*-security|*/updates) target=$suite-security ;;
		*-updates) target=$suite-updates ;;
		*[-/]*) continue ;;
		*) target=$suite ;;
		esac
		printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$target"
		printf 'deb-src [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$target"
		[ "$target" != "$suite" ] ||
			printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$suite-backports"
	done | sort -u
}

# Prints the host's apt settings that say how to reach a mirror; they hold for the root, too.
host_apt_options()
{
	apt-config dump | grep -E '^Acquire::((http|https|ftp)::([^ ]*::)?Proxy|Check-Valid-Until|Check-Date|Retries|ForceIPv[46]) ' || true
}

# need_root_user SET…: ends ./npu with advice when the user is not root, or may not mount.
need_root_user()
{
	local missing=""

	if [ "$(id -u)" -ne 0 ]; then
		# apt takes NAME/SUITE, but not the third part of a line.
		! host_may_be_reference || missing=$(host_lacks "$@" | sed 's:/depends$::' | paste -sd ' ')
		die "the build environment needs root (mounts, chroot, packages): run 'sudo ./npu …'${missing:+, or install what this system lacks: apt install $missing}"
	fi
	unshare --mount --propagation private true 2>/dev/null ||
		die "the build environment needs mounts, which this container does not allow: start it with the right to mount (such as docker run --privileged), or take a Debian 13 with the packages of scripts/packages.txt"
}

update_host()
{
	step host-update "asking the host's mirror for packages" apt-get update || exit 1
}

install_host_tools()
{
	local missing=()

	command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
	# The first file is Debian 12's and 13's name of the key that signs Debian 13.
	compgen -G '/usr/share/keyrings/debian-archive-trixie-stable.*' >/dev/null ||
		missing+=(debian-archive-keyring)
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "the build environment needs Debian 12 or 13 on the host; on another system, install mmdebstrap and debian-archive-keyring"
	export DEBIAN_FRONTEND=noninteractive
	update_host
	step host-install "installing ${missing[*]} on the host" \
		apt-get install -y --no-install-recommends "${missing[@]}" || exit 1
}

# finish_root ROOT: writes all files of the root that are not from packages.
finish_root()
{
	# Mount points for the host's files, so that the network works inside.
	rm -f "$1/etc/resolv.conf"
	: >"$1/etc/resolv.conf"
	printf '127.0.0.1 localhost\n' >"$1/etc/hosts"
	# The checkout may belong to another user than the one who builds.
	printf '[safe]\n\tdirectory = *\n' >"$1/etc/gitconfig"
	: >"$1/.onpu-lock"
}

# bootstrap FOLDER OPTIONS…: makes a Debian with apt and with what the options of mmdebstrap add.
bootstrap()
{
	local tmp=$1 line args=()

	shift
	while read -r line; do
		args+=("--aptopt=$line")
	done < <(host_apt_options)
	# In namespaces of its own, mmdebstrap leaves neither mounts nor processes behind, whatever
	# ends it early.
	root_sources | setpriv --pdeathsig KILL \
		unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
		mmdebstrap --mode=root --variant=apt --aptopt='Acquire::Languages "none"' \
		--aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
		--skip=cleanup/apt/lists "${args[@]}" "$@" "$suite" "$tmp" - || return
	finish_root "$tmp"
}

# make_root FOLDER: makes the base system in the folder; update_root installs the rest.
make_root()
{
	(
		umask 022
		bootstrap "$1" --include=ca-certificates --dpkgopt='path-exclude=/usr/share/man/*' \
			--dpkgopt='path-exclude=/usr/share/locale/*/LC_MESSAGES/*'
	)
}

# update_root SET…: installs the packages of these sets.
update_root()
{
	local list

	# The root may be older than the first packages from backports.
	grep -q "$suite-backports" "$root/etc/apt/sources.list" ||
		root_sources >"$root/etc/apt/sources.list" || return
	# A new root has its lists of packages already.
	[ ! -e "$root/.onpu-packages" ] || inside apt-get -q update || return
	mapfile -t list < <(package_list "$@")
	install_lines "${list[@]}"
}

recipe_stamp()
{
	printf 'recipe %s %s\n' "$root_recipe" "$suite"
}

# Removes roots in which nobody works any more. Each use of a root holds a shared lock on its
# .onpu-lock.
remove_old_roots()
{
	local old

	for old in "$root".old-* "$root".new; do
		[ -d "$old" ] || continue
		if [ -e "$old/.onpu-lock" ]; then
			flock -n -x "$old/.onpu-lock" true || continue
		fi
		rm -rf --one-file-system -- "$old"
	done
}

# Makes the folder build, and gives it to the checkout's owner. Files that are built belong to root,
# but the guest, where that owner is the user, writes to build as well.
own_build()
{
	local reason

	reason=$(mkdir -p -- "$top/build" 2>&1 && touch -- "$top/build/.setup-lock" 2>&1) ||
		die "the checkout, below which all is built, cannot be written to: ${reason#*: }"
	[ "$(id -u)" -ne 0 ] || chown --reference="$top" -- "$top/build"
}

create_root()
{
	install_host_tools
	# apt knows no mirror before its first update.
	[ -n "$(root_sources)" ] || update_host
	[ -n "$(root_sources)" ] ||
		die "the host's apt sources have no mirror of Debian 12 or newer; give one, such as that of another machine's apt: ONPU_MIRROR=URI ./npu …"
	step root "making the Debian 13 environment (some minutes)" make_root "$root.new" || exit 1
	recipe_stamp >"$root.new/.onpu-recipe"
	[ ! -e "$root" ] || mv -T -- "$root" "$root.old-$$"
	mv -T -- "$root.new" "$root"
	remove_old_roots
}

# Returns whether this runs inside the environment already: a test or a build rule has called ./npu.
is_inside()
{
	[ "${ONPU_INSIDE:-}" = "$top" ] && [ -e /.onpu-recipe ]
}

# ensure_environment [SET…]: makes the environment have the packages of these sets, or of all. Most
# often there is nothing to do, which takes no time. This process and all that it starts hold the
# root's lock, so that nobody deletes the root meanwhile.
ensure_environment()
{
	local sets missing

	mapfile -t sets < <(wanted_sets "$@")
	environment=host
	if is_inside || host_is_reference "${sets[@]}"; then
		return
	fi
	environment=root
	need_root_user "${sets[@]}"
	own_build
	take_lock "$top/build/.setup-lock" "it prepares the environment"
	if [ "$(cat "$root/.onpu-recipe" 2>/dev/null)" != "$(recipe_stamp)" ]; then
		remove_old_roots
		check_disk "${sets[@]}"
		create_root
	fi
	mapfile -t missing < <(missing_sets "${sets[@]}")
	if [ ${#missing[@]} -gt 0 ]; then
		has_packages "$root" "${missing[@]}" || install_sets "${missing[@]}"
		stamp_sets "${missing[@]}"
	fi
	exec {root_lock_fd}<"$root/.onpu-lock"
	flock -s "$root_lock_fd"
	drop_lock
}

install_sets()
{
	check_disk "$@"
	step root-update "installing packages" update_root "$@" || exit 1
}

# Prints whose compiler and libraries are used, root or host, both inside and outside of the root.
tools()
{
	is_inside && echo root || echo "${environment:?}"
}

# Sets $clean to the few variables that mean something inside. Open MPI runs as root only when two
# variables allow it. Tests also need more ranks than processors, and ranks on a machine without
# network. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are left out: some machines set them, and they
# halve OpenBLAS's speed.
clean_environment()
{
	local name

	clean=(PATH="$top/build/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
		HOME="$home" USER=root LOGNAME=root LANG=C.UTF-8 TERM="${TERM:-dumb}"
		PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 ONPU_INSIDE="$top"
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "OMPI_MCA_btl=self,sm"
		PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)
	for name in $(compgen -e); do
		case $name in
		ONPU_INSIDE) ;;
		CI|NO_COLOR|COLORTERM|SOURCE_DATE_EPOCH|NINJA_STATUS|DEBIAN_FRONTEND| \
		http_proxy|https_proxy|no_proxy|HTTP_PROXY|HTTPS_PROXY|NO_PROXY| \
		ASAN_OPTIONS|UBSAN_OPTIONS|LSAN_OPTIONS|TSAN_OPTIONS| \
		OMP_NUM_THREADS|OPENBLAS_NUM_THREADS|ONEDNN_MAX_CPU_ISA|OMPI_MCA_*|PRTE_MCA_*|WEBNN_*|ONPU_*|MESON*)
			clean+=("$name=${!name}") ;;
		esac
	done
}

# Prints the values of variables that are passed on to the environment and may name files.
variables_with_files()
{
	local name

	for name in $(compgen -e); do
		case $name in
		ONPU_INSIDE) ;;
		WEBNN_*|ONPU_*) printf '%s\0' "${!name}" ;;
		esac
	done
}

# find_all_places WORD…: calls find_places with the words and the values of the variables.
find_all_places()
{
	local values

	readarray -t -d '' values < <(variables_with_files)
	find_places "$@" "${values[@]}"
}

# make_entry COMMAND…: sets $entry to the command line that runs COMMAND in the environment.
make_entry()
{
	local home=/root places

	[ "$environment" = root ] || home=${HOME:-/root}
	clean_environment
	if [ "$environment" = root ]; then
		find_all_places "$@"
		entry=(unshare --mount --propagation private --
			/bin/bash "$top/scripts/enter.sh" "$root" "$top" "${places[@]}" -- "${clean[@]}" -- "$@")
	else
		entry=(env -i "${clean[@]}" "$@")
	fi
}

# inside COMMAND…: runs the command in the environment; it is told to end when ./npu is gone.
inside()
{
	make_entry "$@"
	setpriv --pdeathsig TERM "${entry[@]}"
}

# become COMMAND…: replaces this process by the command, which gets its signals and its terminal.
become()
{
	make_entry "$@"
	exec "${entry[@]}"
}
