/* SPDX-License-Identifier: MIT */
/* --object: helper objects named on the command line. */
#ifndef QIMG_OBJECT_H
#define QIMG_OBJECT_H

/* Take "secret,id=ID,...".  0, or 1: wrong, and reported. */
int object_add(const char *text);

#endif
