/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name of a host, as -H takes it. */
#include "rig/test.h"

#include <string.h>

#include "base/host-name.h"
#include "gpupass/cleanup.h"

/* promise R1 */
TEST(names_that_reach_ssh_have_few_characters)
{
	static const char *const good[] = { "a",
					    "gpu01",
					    "gpu01.site.test",
					    "_gateway",
					    "192.0.2.1",
					    "root@gpu01",
					    "first.last+x@corp.example@gpu01",
					    "gpu01:22",
					    "gpu01:65535",
					    "root@gpu01:2222",
					    "[::1]",
					    "[fe80::1%eth0]",
					    "root@[2001:db8::1]:2222",
					    "gpu01/container",
					    "gpu01:22/container-1" };
	static const char *const bad[] = {
		"",	   "-x",	 "-oProxyCommand=sh",
		"root@-x", "-l@a",	 "@a",
		"a@",	   "a b",	 "a\nb",
		"a\tb",	   "a;b",	 "$(id)",
		"`id`",	   "a|b",	 "a&b",
		"a'b",	   "a\"b",	 "a\\b",
		"a,b",	   "a:",	 "a:0",
		"a:65536", "a:99999999", "a:+22",
		"a:2 2",   "a:ssh",	 "a:22:22",
		"[::1",	   "[]",	 "[::1]x",
		"[-::1]",  "[::1]:",	 "a/",
		"a/-m",	   "a/b/c",	 "a/b c",
		"a=b",	   "a*",	 "~",
		"a#b",	   "\x1b[31m",	 "g\xc3\xbc",
		"a\xff",   "[a;b]",	 "root@[::1;x]",
		"%h",	   "a%b",	 "::1",
	};
	char longest[400];

	for (size_t i = 0; i < ELEMENTS(good); i++)
		if (!host_name_is_valid(good[i]))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < ELEMENTS(bad); i++)
		if (host_name_is_valid(bad[i]))
			fail_msg("'%s' is taken", bad[i]);
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_false(host_name_is_valid(longest));
}
