//go:build !purego

#include "textflag.h"

// func dots4AVX2(dst, q, rows *float32, stride, n int)
// The dot products of n numbers, a multiple of 8, with four rows that begin
// stride bytes apart.
TEXT ·dots4AVX2(SB), NOSPLIT, $0-40
	MOVQ   dst+0(FP), DI
	MOVQ   q+8(FP), SI
	MOVQ   rows+16(FP), DX
	MOVQ   stride+24(FP), R9
	MOVQ   n+32(FP), CX
	LEAQ   (R9)(R9*2), R10
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

loop:
	VMOVUPS     (SI), Y4
	VFMADD231PS (DX), Y4, Y0
	VFMADD231PS (DX)(R9*1), Y4, Y1
	VFMADD231PS (DX)(R9*2), Y4, Y2
	VFMADD231PS (DX)(R10*1), Y4, Y3
	ADDQ        $32, SI
	ADDQ        $32, DX
	SUBQ        $8, CX
	JNZ         loop

	VHADDPS      Y1, Y0, Y0
	VHADDPS      Y3, Y2, Y2
	VHADDPS      Y2, Y0, Y0 // the four sums, of either half
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VMOVUPS      X0, (DI)
	VZEROUPPER
	RET

// func sum64AVX2(dst, weights, rows *float32, stride, count int)
// The sum of count rows of 64 numbers, at least one, that begin stride bytes
// apart, each times its weight.
TEXT ·sum64AVX2(SB), NOSPLIT, $0-40
	MOVQ   dst+0(FP), DI
	MOVQ   weights+8(FP), SI
	MOVQ   rows+16(FP), DX
	MOVQ   stride+24(FP), R9
	MOVQ   count+32(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

loop:
	VBROADCASTSS (SI), Y8
	VFMADD231PS  (DX), Y8, Y0
	VFMADD231PS  32(DX), Y8, Y1
	VFMADD231PS  64(DX), Y8, Y2
	VFMADD231PS  96(DX), Y8, Y3
	VFMADD231PS  128(DX), Y8, Y4
	VFMADD231PS  160(DX), Y8, Y5
	VFMADD231PS  192(DX), Y8, Y6
	VFMADD231PS  224(DX), Y8, Y7
	ADDQ         $4, SI
	ADDQ         R9, DX
	DECQ         CX
	JNZ          loop

	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMOVUPS Y7, 224(DI)
	VZEROUPPER
	RET
