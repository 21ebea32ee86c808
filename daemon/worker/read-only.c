/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/read-only.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "gpupass/cleanup.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCH AUDIT_ARCH_PPC64LE
#else
#error "what is this machine's AUDIT_ARCH?"
#endif

/* libc's own O_TMPFILE also has the bit of O_DIRECTORY, which readers use. */
#define TMPFILE 020000000
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND | TMPFILE)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
/* The low half of an argument, which is where the flags of open(2) are: little endian. */
#define FLAGS_OF(number, argument)                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 4), LOAD(args[argument]),                 \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, WRITES, 0, 1), REFUSE,                        \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NEVER(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), REFUSE

int become_read_only(void)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		REFUSE,
		LOAD(nr),
#ifdef SYS_open
		/* x32 has numbers of its own above these. */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1),
		REFUSE,
		FLAGS_OF(SYS_open, 1),
		NEVER(SYS_creat),
#endif
		FLAGS_OF(SYS_openat, 2),
		/* Its flags are behind a pointer. */
		NEVER(SYS_openat2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = ELEMENTS(filter), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -errno;
	return 0;
}
