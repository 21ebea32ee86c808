# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # case.sh sets work, here and staged
#
# What the real polkitd decides under systemd, by our policy, rules and example of rules as they are
# installed. Sourced by a case that has the daemon as a service, pair0 declared and free, and vm42.
# The same decisions are looked at more closely in tests/bus/test-polkitd; here the units are real.

# as USER COMMAND…: its exit status in $status, its words in $work/err.
as() {
	local user=$1
	shift
	status=0
	runuser -u "$user" -- "$@" >"$work/out" 2>"$work/err" || status=$?
}

# denied NAME USER WORDS COMMAND…: exit code 4, with these words, and the world is as it was.
denied() {
	local name=$1 user=$2 words=$3 before
	shift 3
	before=$(world)
	as "$user" "$@"
	equal "$name" "4 $words" "$status $(grep -om1 -- "$words" "$work/err")"
	equal "and changes nothing" "$before" "$(world)"
}

permitted() {
	local name=$1 user=$2
	shift 2
	as "$user" "$@"
	promise "$name" [ "$status" = 0 ]
	[ "$status" = 0 ] || sed 's/^/     | /' "$work/err"
}

# What an administrator does: users, groups, and the example with this host's domain in it.
administer_polkit() {
	local user
	groupadd gpu-operators
	for user in reader:gpupass gpu-operator:gpupass,gpu-operators gpu-admin:gpupass; do
		useradd -M -G "${user#*:}" "${user%:*}"
	done
	# Of "a password". Hashes that take longer take very long here.
	# shellcheck disable=SC2016
	echo 'gpu-admin:$6$gpupass$a3D4jsrf3XrJuLe9ol5b00a0QG5.h1HK4yRAoN06/4I4A.m7.MgFi7wBtDUUzHZHXZ5UoAeL38jbhZwFkUCgR/' |
		chpasswd -e
	echo 'polkit.addAdminRule(function () { return ["unix-user:gpu-admin"]; });' \
		>/etc/polkit-1/rules.d/10-admins.rules
	sed "s/22222222-2222-4222-8222-222222222222/$(virsh -q domuuid vm42 | tr -d '\n')/" \
		/usr/share/doc/gpupass/examples/50-gpupass.rules >/etc/polkit-1/rules.d/50-gpupass.rules
}

polkit_decides() {
	local wanted="a password is wanted" caller line
	administer_polkit
	denied "a plain user may not act" nobody "$wanted" gpupass assign vm42 pair0
	equal "and it was polkit's own unit that said so" active "$(systemctl is-active polkit)"
	permitted "a member of the group gpupass reads" reader gpupass plan vm42 pair0
	denied "and may not act" reader "$wanted" gpupass assign vm42 pair0
	permitted "who the example names gives that group to that domain" gpu-operator \
		gpupass assign vm42 pair0
	permitted "and takes it back" gpu-operator gpupass release vm42
	denied "and does nothing else" gpu-operator "$wanted" gpupass bind pair0
	denied "nor chooses another group" gpu-operator "$wanted" gpupass assign vm42

	# The manual's own line, but that pkttyagent says when it is ready.
	mkfifo -m 666 "$work/agent"
	chmod a+x "$work"
	line="pkttyagent --process \$\$ --notify-fd 3 3>$work/agent & cat $work/agent; exec gpupass bind pair0 3>&-"
	status=0
	"$here/lib/type_password.py" nobody "a password" "$line" >"$work/out" 2>&1 || status=$?
	equal "a password of an administrator is a yes" "0 gpu-admin" \
		"$status $(grep -om1 gpu-admin "$work/out")"
	[ "$status" = 0 ] || sed 's/^/     | /' "$work/out"
	promise "for what was asked" sh -c 'gpupass list | grep -Eq "pair0 .*bound"'
	denied "and for that call alone" nobody "$wanted" gpupass unbind pair0 --no-ask-password
	gpupass unbind pair0 >/dev/null

	systemctl kill -s STOP polkit
	runuser -u gpu-operator -- gpupass assign vm42 pair0 --no-ask-password 2>"$work/silent" &
	caller=$!
	promise "while polkitd stands still others are served" gpupass list
	status=0
	wait "$caller" || status=$?
	equal "who waits for it is denied at the deadline" "4 polkit did not answer" \
		"$status $(grep -om1 'polkit did not answer' "$work/silent")"
	systemctl kill -s CONT polkit
	denied "and a late answer permits nothing" nobody "$wanted" gpupass assign vm42 pair0

	systemctl mask --quiet --runtime --now polkit
	denied "without polkitd nobody else acts" gpu-operator "nothing was changed" \
		gpupass assign vm42 pair0
	promise "and root does" gpupass bind pair0
	gpupass unbind pair0 >/dev/null
	systemctl unmask --quiet --runtime polkit
}
