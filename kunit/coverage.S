/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User mode Linux runs no destructors when it halts, but calls the functions in this section.
 * __gcov_dump() writes the coverage counts to .gcda files beside the objects.
 */
	.section .uml.exitcall.exit, "aw"
	.quad __gcov_dump
