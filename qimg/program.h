/* SPDX-License-Identifier: MIT */
/* What both programs do at their start and end. */
#ifndef QIMG_PROGRAM_H
#define QIMG_PROGRAM_H

/* Name and version; under a QEMU name with the version whose behaviour is matched. */
void program_version(void);
/* Flush standard output; what could not be written makes @status 1.  Returns the exit status. */
int program_finish(int status);

#endif
