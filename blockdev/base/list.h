/* SPDX-License-Identifier: MIT */
/* Embedded links: a doubly linked ring and a first-in-first-out list on top of it. */
#ifndef BD_LIST_H
#define BD_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* A ring; an empty list is a head linked to itself.  An unlinked element is too. */
struct link {
	struct link *prev, *next;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

static inline void list_init(struct link *head)
{
	head->prev = head->next = head;
}

static inline bool list_empty(const struct link *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct link *head, struct link *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

static inline void list_add_head(struct link *head, struct link *item)
{
	list_add_tail(head->next, item);
}

/* Unlink; the element becomes an empty ring, so a second call does nothing. */
static inline void list_del(struct link *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

/* The first element, unlinked; NULL: the list is empty. */
static inline struct link *list_pop(struct link *head)
{
	struct link *item = head->next;

	if (item == head)
		return NULL;
	list_del(item);
	return item;
}

/* Move all of @from to the end of @to. */
static inline void list_splice_tail(struct link *to, struct link *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#endif
