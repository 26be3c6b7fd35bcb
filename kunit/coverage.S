/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User mode Linux is a process of its host, but it runs no destructors of ours: what it
 * calls when it halts are these. The counts go to .gcda files beside the objects.
 */
	.section .uml.exitcall.exit, "aw"
	.quad __gcov_dump
