/* SPDX-License-Identifier: MIT */
/* Raw terminal and escape keys.  Like: QEMU's -nographic. */
#include "vkvm/control/terminal.h"

#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

enum { ESCAPE = 1 }; /* Ctrl-A */

/* There is one terminal, and signal handlers must find it. */
static struct termios saved;
static volatile sig_atomic_t is_raw;

void terminal_close(void)
{
	if (!is_raw)
		return;
	is_raw = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

static void fatal(int sig)
{
	terminal_close();
	signal(sig, SIG_DFL);
	raise(sig);
}

void terminal_open(struct terminal *terminal)
{
	static const int fatal_signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	struct termios raw;

	terminal->escaped = false;
	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &saved) < 0)
		return;
	raw = saved;
	cfmakeraw(&raw);
	raw.c_oflag |= OPOST; /* our own messages end lines in the usual way */
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
		return;
	is_raw = 1;
	atexit(terminal_close);
	for (unsigned i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++)
		signal(fatal_signals[i], fatal);
}

static enum terminal_key key_of(uint8_t byte)
{
	switch (byte) {
	case 'x': return KEY_QUIT;
	case 'c': return KEY_MONITOR;
	case 's': return KEY_COMMIT;
	case 'b': return KEY_BREAK;
	case 'h':
	case '?': return KEY_HELP;
	default: return KEY_NONE;
	}
}

bool terminal_filter(struct terminal *terminal, uint8_t *byte, enum terminal_key *key)
{
	*key = KEY_NONE;
	if (!terminal->escaped) {
		terminal->escaped = *byte == ESCAPE;
		return !terminal->escaped;
	}
	terminal->escaped = false;
	if (*byte == ESCAPE)
		return true; /* twice: once for the guest */
	*key = key_of(*byte);
	return false;
}
