/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When user mode Linux halts it runs no destructors, such as the one by which libgcov writes its
 * counts, but it calls the functions in this section: __gcov_dump() writes the .gcda files.
 */
	.section .uml.exitcall.exit, "aw"
	.quad __gcov_dump
