/* SPDX-License-Identifier: MIT */
/*
 * A boot sector that tests a disk through the firmware: it reads sectors 1..256 with INT 13h, adds
 * up their bytes, prints the sum on COM1, writes it to sector 300, reads that back and ends
 * the machine through the debug exit at 0xf4: 8 on success, 1 on a disk error.
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
	movw	$hello, %si
	call	print

	xorl	%ebx, %ebx              /* the sum */
	movw	$8, %bp                 /* 8 times 32 sectors */
again:	movb	$0x42, %ah
	call	transfer
	jc	failed
	movw	$0x1000, %ax
	movw	%ax, %es
	xorl	%edi, %edi
	xorl	%eax, %eax
2:	movb	%es:(%edi), %al
	addl	%eax, %ebx
	incl	%edi
	cmpl	$32 * 512, %edi
	jne	2b
	addl	$32, sector
	decw	%bp
	jnz	again

	call	print_sum
	movl	$300, sector
	movw	$1, count
	xorl	%edi, %edi
	movl	%ebx, %es:(%edi)
	movb	$0x43, %ah
	call	transfer
	jc	failed
	movl	$0, %es:(%edi)
	movb	$0x42, %ah
	call	transfer
	jc	failed
	cmpl	%ebx, %es:(%edi)
	jne	failed
	movb	$8, %al
	jmp	end
failed:	movw	$error, %si
	call	print
	movb	$1, %al
end:	outb	%al, $0xf4
	hlt
	jmp	end

/* One INT 13h, function %ah, with the packet. */
transfer:
	pushal
	movb	drive, %dl
	movb	$0, %al
	movw	$packet, %si
	int	$0x13
	popal
	ret

print_sum:
	movl	%ebx, %edx
	movw	$8, %cx
3:	roll	$4, %edx
	movb	%dl, %al
	andb	$15, %al
	cmpb	$10, %al
	jb	4f
	addb	$'a' - '0' - 10, %al
4:	addb	$'0', %al
	call	putc
	loop	3b
	movw	$newline, %si
print:	lodsb
	testb	%al, %al
	jz	5f
	call	putc
	jmp	print
putc:	pushw	%dx
	movw	$0x3f8, %dx
	outb	%al, %dx
	popw	%dx
5:	ret

hello:	.asciz	"mbr: sum "
error:	.asciz	"mbr: disk error"
newline: .asciz	"\r\n"
drive:	.byte	0
	.balign	4
packet:	.byte	16, 0
count:	.word	32
	.word	0, 0x1000               /* to 1000:0000 */
sector:	.long	1, 0
	.org	510
	.word	0xaa55
