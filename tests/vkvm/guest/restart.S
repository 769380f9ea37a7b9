/* SPDX-License-Identifier: MIT */
/*
 * A boot sector that restarts the machine in three ways, one after the other, and then ends it with 8
 * through the debug exit at 0xf4: the reset register, a jump to the firmware, the keyboard controller.
 * The first byte of sector 1 says how often it was here.
 */
	.code16
	.globl _start
_start:
	ljmp	$0, $1f
1:	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movw	$0x7c00, %sp
	movb	%dl, drive
	movb	$0x42, %ah
	call	transfer
	movb	buffer, %al
	addb	$'0', %al
	movw	$0x3f8, %dx
	outb	%al, %dx
	cmpb	$3, buffer
	je	end
	incb	buffer
	movb	$0x43, %ah
	call	transfer
	/* Leave something behind: the timer's interrupts, and one that is not acknowledged. */
	sti
	movw	$4, %cx
2:	hlt
	loop	2b
	movw	$3f, 8 * 4
	movw	$0, 8 * 4 + 2
	hlt
3:	movb	buffer, %al
	cmpb	$2, %al
	jb	by_register
	je	by_jump
	movb	$0xfe, %al
	outb	%al, $0x64
	jmp	.
by_register:
	movb	$6, %al
	movw	$0xcf9, %dx
	outb	%al, %dx
	jmp	.
by_jump:
	ljmp	$0xffff, $0
end:	movb	$8, %al
	outb	%al, $0xf4
	jmp	.

/* One INT 13h, function %ah, of sector 1. */
transfer:
	movb	drive, %dl
	movb	$0, %al
	movw	$packet, %si
	int	$0x13
	ret

	.equ	buffer, 0x8000
drive:	.byte	0
	.balign	4
packet:	.byte	16, 0
	.word	1, buffer, 0
	.long	1, 0
	.org	510
	.word	0xaa55
