/* SPDX-License-Identifier: MIT */
/* Notifiers: an eventfd and one poll operation that is always in flight. */
#include "blockdev/include/notifier.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "blockdev/core/queue.h"

struct bd_notifier {
	struct bd_queue *queue;
	struct io_op op;
	void (*ready)(void *user);
	void *user;
	int fd;
	bool armed, closing;
};

static void fired(struct io_op *op);

static void arm(struct bd_notifier *notifier)
{
	notifier->op = (struct io_op){
		.kind = IO_POLL, .fd = notifier->fd, .done = fired, .user = notifier,
	};
	notifier->armed = true;
	io_poll_submit(bd_queue_ctx(notifier->queue), &notifier->op);
}

static void fired(struct io_op *op)
{
	struct bd_notifier *notifier = op->user;
	uint64_t count;

	notifier->armed = false;
	if (notifier->closing)
		return;
	/* Taken before ready() looks: a later signal is a new event. */
	if (read(notifier->fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
		notifier->ready(notifier->user);
	arm(notifier);
}

int bd_notifier_new(struct bd_queue *queue, void (*ready)(void *user), void *user,
		    struct bd_notifier **out)
{
	struct bd_notifier *notifier = calloc(1, sizeof(*notifier));

	*out = NULL;
	if (!notifier)
		return -ENOMEM;
	notifier->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (notifier->fd < 0) {
		free(notifier);
		return -EMFILE;
	}
	notifier->queue = queue;
	notifier->ready = ready;
	notifier->user = user;
	arm(notifier);
	*out = notifier;
	return 0;
}

void bd_notifier_free(struct bd_notifier *notifier)
{
	if (!notifier)
		return;
	notifier->closing = true;
	/* The operation cannot be taken back; it can be made to finish. */
	bd_notifier_signal(notifier);
	while (notifier->armed && bd_queue_poll(notifier->queue, true) >= 0)
		;
	close(notifier->fd);
	free(notifier);
}

int bd_notifier_fd(const struct bd_notifier *notifier)
{
	return notifier->fd;
}

void bd_notifier_signal(const struct bd_notifier *notifier)
{
	const uint64_t one = 1;

	/* -EAGAIN: the counter is full, so the signal is there already. */
	if (write(notifier->fd, &one, sizeof(one)) < 0)
		return;
}
