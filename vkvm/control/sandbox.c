/* SPDX-License-Identifier: MIT */
/* seccomp and Landlock. */
#include "vkvm/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- system calls ------------------------------------------------------------------------ */

static const uint16_t forbidden[] = {
	__NR_execve, __NR_execveat, __NR_fork, __NR_vfork, __NR_ptrace, __NR_process_vm_readv,
	__NR_process_vm_writev, __NR_kcmp, __NR_pidfd_getfd, __NR_mount, __NR_umount2,
	__NR_pivot_root, __NR_chroot, __NR_setns, __NR_unshare, __NR_open_tree, __NR_move_mount,
	__NR_init_module, __NR_finit_module, __NR_delete_module, __NR_kexec_load,
	__NR_kexec_file_load, __NR_reboot, __NR_bpf, __NR_perf_event_open, __NR_userfaultfd,
	__NR_keyctl, __NR_add_key, __NR_request_key, __NR_setuid, __NR_setgid, __NR_setreuid,
	__NR_setregid, __NR_setresuid, __NR_setresgid, __NR_open_by_handle_at, __NR_swapon,
	__NR_swapoff, __NR_iopl, __NR_ioperm, __NR_acct, __NR_settimeofday, __NR_clock_settime,
	__NR_sethostname, __NR_connect, __NR_bind, __NR_listen,
};
enum { NR_FORBIDDEN = sizeof(forbidden) / sizeof(forbidden[0]) };

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)

/* Forbidden calls fail with EPERM, for all threads there are. */
static int limit_calls(void)
{
	struct sock_filter code[NR_FORBIDDEN + 8] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		/* Another way to call the same. */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, NR_FORBIDDEN + 1, 0),
	};
	struct sock_fprog program = { NR_FORBIDDEN + 7, code };

	for (unsigned i = 0; i < NR_FORBIDDEN; i++)
		code[5 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i],
							   (uint8_t)(NR_FORBIDDEN - i), 0);
	code[5 + NR_FORBIDDEN] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	code[6 + NR_FORBIDDEN] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM);
	if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		return -errno;
	return 0;
}

/* --- files ------------------------------------------------------------------------------- */

enum {
	/* of the first version of Landlock: reading, writing, making and removing files */
	FILE_RIGHTS = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
		      LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
		      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK,
	ALL_RIGHTS = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1,
};

static void allow_folder(int rules, const char *path)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access = FILE_RIGHTS, .parent_fd = open(path, O_PATH | O_CLOEXEC),
	};

	if (beneath.parent_fd < 0)
		return;
	syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
	close(beneath.parent_fd);
}

/* The folder of a file of a disk, if it is one with a name. */
static void allow_file(int rules, const char *name)
{
	char *full = name ? realpath(name, NULL) : NULL, *slash = full ? strrchr(full, '/') : NULL;

	if (slash) {
		slash[slash == full] = 0;
		allow_folder(rules, full);
	}
	free(full);
}

struct limit_call {
	struct disks *disks;
	int rules, ret;
};

/* Of the thread that runs it, and of those it starts later. */
static void limit_files(void *arg)
{
	struct limit_call *call = arg;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(__NR_landlock_restrict_self, call->rules, 0) < 0)
		call->ret = -errno;
}

static void allow_images(void *arg)
{
	struct limit_call *call = arg;
	const char *tmp = getenv("TMPDIR");

	for (unsigned i = 0; i < call->disks->nr; i++) {
		struct bd_node *node = call->disks->units[i].disk.node;

		for (; node; node = bd_backing(node)) {
			allow_file(call->rules, bd_filename(node));
			allow_file(call->rules, bd_data_filename(node));
		}
	}
	allow_folder(call->rules, tmp ? tmp : "/var/tmp");
	limit_files(call);
}

int sandbox_enter(struct disks *disks, const char *const *files, struct bd_error *err)
{
	struct landlock_ruleset_attr attr = { .handled_access_fs = ALL_RIGHTS };
	struct limit_call call = { .disks = disks };
	int ret;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return bd_fail_errno(err, -errno, "-sandbox: could not give up privileges");
	call.rules = (int)syscall(__NR_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (call.rules >= 0) {
		for (; *files; files++)
			allow_file(call.rules, *files);
		/* The I/O thread's own privileges were there before. */
		bd_thread_call(disks->thread, allow_images, &call);
		limit_files(&call);
		close(call.rules);
		if (call.ret < 0)
			return bd_fail_errno(err, call.ret, "-sandbox: could not give up files");
	}
	ret = limit_calls();
	if (ret < 0 && ret != -ENOSYS && ret != -EINVAL)
		return bd_fail_errno(err, ret, "-sandbox: could not give up system calls");
	return 0;
}
