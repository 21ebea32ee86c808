# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# An image of the machine's files, for the root of a host that is saved: QEMU saves none that has
# the machine's over 9p. It has /etc, and what those packages have that every machine, the lab or
# its cases need, without documentation. Sourced by boot.

# The packages with what they depend on, as far as they are installed. What gpupass links comes
# with what it is built with.
files_packages() {
	local everywhere
	mapfile -t everywhere < <(dpkg-query -W -f='${Priority} ${db:Status-Status} ${Package}\n' |
		sed -nE 's/^(required|important) installed //p')
	# shellcheck disable=SC2154,SC2086,SC2046 # from tests/lib/deps.sh; words, split on purpose
	apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts \
		--no-breaks --no-replaces --no-enhances "${everywhere[@]}" $deps_lab $deps_cases \
		$(grep -o '[^ ]*-dev' <<<"$deps_build") | grep '^[a-z0-9]' | sort -u
}

# Relative to /, and where /lib is a link into /usr by the way that is none.
files_list() {
	local packages link
	mapfile -t packages < <(files_packages)
	{
		for link in /bin /sbin /lib*; do [ ! -L "$link" ] || echo "$link"; done
		find /etc 2>/dev/null || true
		# It complains of what is named, but not installed.
		{ dpkg-query -L "${packages[@]}" 2>/dev/null || true; } |
			sed -E 's,^/(bin|sbin|lib[0-9a-z]*)/,/usr/\1/,' |
			grep -Ev '^/usr/(include|src|share/(doc|info|locale|man))/|^/usr/lib/modules/|\.a$'
		# What installing makes, and no package lists. awk is one of dpkg's alternatives.
		find /usr/lib/python3* -name '*.pyc' 2>/dev/null || true
		find /usr/bin /usr/sbin -lname '/etc/alternatives/*'
	} | sort -u | while IFS= read -r file; do
		case $file in
		/ | /. | /boot/* | /proc/* | /sys/* | /dev/* | /run/*) ;;
		*) if [ -e "$file" ] || [ -L "$file" ]; then echo "${file#/}"; fi ;;
		esac
	done
}

# As root: some of the files are for root only, and all are to be owned as they are on the machine.
make_files() {
	local dir=$1 tree=$1/tree size count
	files_list >"$dir/list"
	as_root mkdir -m 755 "$tree"
	as_root tar -C / -c --no-recursion -T "$dir/list" | as_root tar -C "$tree" -xp
	size=$(as_root du -sm "$tree" | cut -f 1)
	count=$(as_root find "$tree" | wc -l)
	(umask 077 && : >"$dir/image")
	as_root mke2fs -q -F -t ext4 -b 4096 -m 0 -O ^has_journal,^resize_inode -N $((count + 1000)) \
		-d "$tree" "$dir/image" $((size + size / 8 + 16))M
	as_root rm -rf "$tree"
}
