/* SPDX-License-Identifier: MIT */
/* What both programs do at their start and end. */
#include "qimg/program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/include/secret.h"
#include "config.h"

/* The release of QEMU whose behaviour is matched. */
#define QEMU_VERSION "7.2.22"

void program_version(void)
{
	const char *name = program_invocation_short_name;

	if (!strncmp(name, "qemu-", 5))
		printf("%s version %s (qimg %s)\n", name, QEMU_VERSION, QIMG_VERSION);
	else
		printf("%s version %s (works as %s %s)\n", name, QIMG_VERSION,
		       strstr(name, "io") ? "qemu-io" : "qemu-img", QEMU_VERSION);
	printf("Disk images, compatible with QEMU's; MIT licence\n");
}

int program_finish(int status)
{
	bool bad = ferror(stdout);

	bd_secrets_clear();
	errno = 0;
	if (fclose(stdout) != 0)
		bad = true;
	if (bad && status == 0) {
		fprintf(stderr, "%s: Could not write to standard output: %s\n",
			program_invocation_short_name, strerror(errno ? errno : EIO));
		return 1;
	}
	return status;
}
