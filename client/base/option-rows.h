/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options, once, in the order of the help. This file is included where something is made of its
 * rows, with these defined:
 *
 *   OF_ALL(letter, "name", "ARGUMENT", "words", "completion", read, member, "help")
 *   OF_SOME(ID, letter, "name", ...)
 *   OPTION_MEMBER(type, member)
 *
 * OF_ALL  of every verb. OF_SOME: of those that take OPTION_ID. OptionRow says what the rest is
 * MEMBER  of Options, where it has one of its own type
 */
#ifndef OF_ALL
#define OF_ALL(...)
#endif
#ifndef OF_SOME
#define OF_SOME(...)
#endif
#ifndef OPTION_MEMBER
#define OPTION_MEMBER(...)
#endif

/* Of some verbs, which look whether it was given. */
#define FLAG(ID, name, help) OF_SOME(ID, 0, name, NULL, NULL, NULL, NULL, given, help)
#define TEXT(ID, name, argument, member, completion, help)                                         \
	OF_SOME(ID, 0, name, argument, NULL, completion, read_text, member, help)                  \
	OPTION_MEMBER(const char *, member)
/* One of some words. */
#define WORD(ID, name, argument, member, words, help)                                              \
	OF_SOME(ID, 0, name, argument, words, NULL, read_text, member, help)                       \
	OPTION_MEMBER(const char *, member)
#define TIME(ID, name, member, help)                                                               \
	OF_SOME(ID, 0, name, "TIME", NULL, "", read_time, member, help)                            \
	OPTION_MEMBER(uint64_t, member)
#define SWITCH(name, letter, member, help)                                                         \
	OF_ALL(letter, name, NULL, NULL, NULL, read_flag, member, help)                            \
	OPTION_MEMBER(bool, member)

OF_ALL(0, "json", "MODE", "off, pretty, short", NULL, read_json, json,
       "Print JSON: pretty, short, or off")
OF_ALL('j', NULL, NULL, NULL, NULL, read_json, json,
       "Print JSON: pretty on a terminal, otherwise short")
OF_ALL('H', "host", "HOST", NULL, "hosts", read_text, host,
       "Talk to gpupassd on another host, over ssh")
SWITCH("quiet", 'q', quiet, "No progress and no notes")
OF_ALL(0, "color", "WHEN", "auto, always, never", NULL, read_colour, colour,
       "Colour: auto, always, or never")
SWITCH("no-legend", 0, legend, "No column headings, legend, or hints")
SWITCH("no-ask-password", 0, ask_password, "Fail instead of asking for a password")
SWITCH("version", 0, version, "Print the versions of gpupass, D-Bus and formats")
SWITCH("help", 'h', help, "Print this help")
OF_SOME(COLUMNS, 'o', "columns", "COL[,COL...]", NULL, NULL, read_text, columns,
	"Only these columns; +COL adds one, all is all")
TEXT(SORT, "sort", "[-]COL", sort, NULL, "Sort by this column; with -, the other way round")
FLAG(LIVE, "live", "Change the running domain")
FLAG(CONFIG, "config", "Change the domain's definition")
TEXT(MODEL, "model", "MODEL", model, "MODEL", "Take only a group of this board")
FLAG(ANY, "any", "Take any of several free groups")
FLAG(DRY_RUN, "dry-run", "Print the plan, change nothing")
FLAG(NO_BLOCK, "no-block", "Do not wait for the job")
TIME(TIMEOUT, "timeout", timeout_usec, "How long a device or guest may take: 30, 2min")
TIME(WAIT, "wait", wait_usec, "How long to wait for a busy group: 30, 10min")
FLAG(ALLOW_BOOT_VGA, "allow-boot-vga", "Also take the host's boot display")
OF_SOME(WITH, 0, "with", "KIND:ADDRESS", NULL, "COMPANION", read_with, with,
	"A NIC, VF or NVMe with it: nic:42:00.0, nearest:vf")
FLAG(WHOLE_NIC, "whole-nic", "A tenant may have a whole NIC, and re-flash it")
TEXT(VLAN, "vlan", "NUMBER", vlan, "", "The VLAN of its VFs: 1 to 4094")
FLAG(ERASE, "erase", "Unknown data on an NVMe may be erased")
FLAG(NO_BRIDGE_SEEN, "no-bridge-seen", "You looked: no bridge is on the board")
WORD(NUMA, "numa", "MODE", numa, "advise, apply, strict",
     "NUMA placement: advise, apply, or strict")
WORD(FIT, "fit", "MODE", fit, "advise, apply, strict",
     "Address space and memory: advise, apply, or strict")
WORD(TOPOLOGY, "topology", "MODE", topology, "mirror, flat",
     "PCIe distances in the guest: mirror, or flat")
OF_SOME(PEER_ACCESS, 0, "peer-access", "[=unsafe]", "on, unsafe", NULL, read_peer_access,
	peer_access, "Peer access over PCIe; unsafe: GeForce, too")
OPTION_MEMBER(const char *, peer_access)
FLAG(ACCEPT_DIRTY, "accept-dirty", "Root: accept a board that cannot be reset")
FLAG(KEEP_VFIO, "keep-vfio", "Leave the functions on vfio-pci")
FLAG(PERSIST, "persist", "Keep it on vfio-pci, also after a release or a boot")
FLAG(RELEASE, "release", "Plan a release instead")
FLAG(DETAILED_EXITCODE, "detailed-exitcode", "Exit with 10 when there is something to do")
FLAG(WORKLOAD, "workload", "Measure the links, too: it keeps the GPUs busy")
TEXT(FORMAT, "format", "FORMAT", format, NULL, "Format of the output: see the verb in gpupass(1)")
WORD(DISTRIBUTION, "distribution", "NAME", distribution, "auto, debian, ubuntu, rhel",
     "Of the guest: auto, debian, ubuntu, or rhel")
TEXT(FIRST, "first", "N", first, "", "Number of the first port or device of the machine")
WORD(SYMPTOM, "symptom", "SYMPTOM", symptom, "no-nvlink, one-gpu, no-p2p, slow",
     "no-nvlink, one-gpu, no-p2p, or slow")
FLAG(VERBOSE, "verbose", "Also print checks that passed, or are not known")
TEXT(BUNDLE, "bundle", "FILE", bundle, "files", "Write a capture of the host, to send; - is stdout")
TEXT(TEXTFILE, "textfile", "FILE", textfile, "files",
     "Write a file for node_exporter's textfile collector")
FLAG(MMIO, "mmio", "Also read registers of Hopper GPUs not on nvidia")
TEXT(SINCE, "since", "TIME", since, "", "From then: 2026-01-31 14:02, or 2h: so long ago")
TEXT(UNTIL, "until", "TIME", until, "", "Up to then")
TEXT(GROUP, "group", "GROUP", group, "GROUP", "Only what is about this group")
TEXT(DOMAIN, "domain", "DOMAIN", domain, "DOMAIN", "Only what is about this domain")
TEXT(USER, "user", "USER", user, "users", "Only what this user did, by uid or login uid")
TEXT(JOB, "job", "ID", job, "JOB", "Only what is about this job")
FLAG(HOLDERS, "holders", "Who has the GPUs' files open, and who had")
FLAG(FOLLOW, "follow", "Print records as they come")
FLAG(VERIFY, "verify", "Root: check that the trail is whole")
TEXT(EXPECT, "expect", "HASH", expect, "", "A hash noted earlier, which must be there")
TEXT(TRAIL, "trail", "DIR", trail, "directories", "Check files in another directory")
/* For development, not shown. */
SWITCH("session", 0, session, NULL)
OF_ALL(0, "domain-definitions", "DIR", NULL, NULL, read_text, definitions, NULL)

#undef FLAG
#undef TEXT
#undef WORD
#undef TIME
#undef SWITCH
#undef OF_ALL
#undef OF_SOME
#undef OPTION_MEMBER
