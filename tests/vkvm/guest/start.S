/* SPDX-License-Identifier: MIT */
/* Entry, interrupt entries, and the way of other processors into 64-bit mode. */
	.code64
	.globl _start, interrupt_entries, trampoline, trampoline_end
_start:
	leaq	stack_top(%rip), %rsp
	movq	%rsi, %rdi              /* boot_params */
	call	guest_main
	ud2

/* One entry per vector from VECTOR on: 16 bytes each. */
	.balign 16
interrupt_entries:
	.set	vector, 0
	.rept	18
	.balign 16
	pushq	$vector
	jmp	common
	.set	vector, vector + 1
	.endr

common:	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	movq	72(%rsp), %rdi
	cld
	call	interrupt
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	addq	$8, %rsp
	iretq

/* Copied to 0x8000; the page tables and the descriptor table are those of the first processor. */
	.code16
	.balign 16
trampoline:
	cli
	xorw	%ax, %ax
	movw	%ax, %ds
	movl	$0x9000, %eax
	movl	%eax, %cr3
	movl	$0x20, %eax
	movl	%eax, %cr4
	movl	$0xc0000080, %ecx
	movl	$0x100, %eax
	xorl	%edx, %edx
	wrmsr
	lgdtl	0x8000 + gdt_pointer - trampoline
	movl	$0x80000011, %eax
	movl	%eax, %cr0
	ljmpl	$0x10, $0x8000 + long_mode - trampoline
	.balign 4
gdt_pointer:
	.word	0x27
	.long	0x500
	.code64
long_mode:
	movl	$0x18, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movabsq	$cpu_stack, %rax
	movq	(%rax), %rsp
	movabsq	$cpu_entered, %rax
	call	*%rax
	ud2
trampoline_end:

	.bss
	.balign 16
	.skip	16384
stack_top:
