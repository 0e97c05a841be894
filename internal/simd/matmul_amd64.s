//go:build !purego

#include "textflag.h"

// One pair of rows of the panel, in Y8 and Y9, times the pair of numbers at
// mem of one row of x, added to the sums a and b.
#define PAIR(mem, a, b) \
	VPBROADCASTD mem, Y10      \
	VPMADDWD     Y8, Y10, Y11  \
	VPMADDWD     Y9, Y10, Y12  \
	VPADDD       Y11, a, a     \
	VPADDD       Y12, b, b

// Scales the sums a and b of one row, adds the offsets and stores them at DI.
// Y8, Y9: column scales; Y10, Y11: offsets; Y12: floor.
#define STORE(step, a, b) \
	VBROADCASTSS step, Y13   \
	VCVTDQ2PS    a, a        \
	VCVTDQ2PS    b, b        \
	VMULPS       Y8, a, a    \
	VMULPS       Y9, b, b    \
	VMULPS       Y13, a, a   \
	VMULPS       Y13, b, b   \
	VADDPS       Y10, a, a   \
	VADDPS       Y11, b, b   \
	VMAXPS       Y12, a, a   \
	VMAXPS       Y12, b, b   \
	VMOVUPS      a, (DI)     \
	VMOVUPS      b, 32(DI)

// func mul4AVX2(y *float32, x *int16, step *float32, w *int8, scale, bias *float32, floor float32, k, n int)
TEXT ·mul4AVX2(SB), NOSPLIT, $0-72
	MOVQ x+8(FP), SI
	MOVQ w+24(FP), DX
	MOVQ k+56(FP), CX
	LEAQ (CX)(CX*1), R9  // bytes of a row of x
	LEAQ (R9)(R9*2), R10
	SHRQ $2, CX          // two pairs a turn

	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7

loop:
	VPMOVSXBW (DX), Y8
	VPMOVSXBW 16(DX), Y9
	PAIR((SI), Y0, Y1)
	PAIR((SI)(R9*1), Y2, Y3)
	PAIR((SI)(R9*2), Y4, Y5)
	PAIR((SI)(R10*1), Y6, Y7)
	VPMOVSXBW 32(DX), Y8
	VPMOVSXBW 48(DX), Y9
	PAIR(4(SI), Y0, Y1)
	PAIR(4(SI)(R9*1), Y2, Y3)
	PAIR(4(SI)(R9*2), Y4, Y5)
	PAIR(4(SI)(R10*1), Y6, Y7)
	ADDQ      $8, SI
	ADDQ      $64, DX
	DECQ      CX
	JNZ       loop

	MOVQ         y+0(FP), DI
	MOVQ         step+16(FP), R8
	MOVQ         scale+32(FP), AX
	MOVQ         bias+40(FP), BX
	MOVQ         n+64(FP), R9
	SHLQ         $2, R9
	VMOVUPS      (AX), Y8
	VMOVUPS      32(AX), Y9
	VMOVUPS      (BX), Y10
	VMOVUPS      32(BX), Y11
	VBROADCASTSS floor+48(FP), Y12
	STORE((R8), Y0, Y1)
	ADDQ         R9, DI
	STORE(4(R8), Y2, Y3)
	ADDQ         R9, DI
	STORE(8(R8), Y4, Y5)
	ADDQ         R9, DI
	STORE(12(R8), Y6, Y7)
	VZEROUPPER
	RET

// func mul1AVX2(y *float32, x *int16, step *float32, w *int8, scale, bias *float32, floor float32, k int)
TEXT ·mul1AVX2(SB), NOSPLIT, $0-64
	MOVQ x+8(FP), SI
	MOVQ w+24(FP), DX
	MOVQ k+56(FP), CX
	SHRQ $2, CX

	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

loop:
	VPMOVSXBW (DX), Y8
	VPMOVSXBW 16(DX), Y9
	PAIR((SI), Y0, Y1)
	VPMOVSXBW 32(DX), Y8
	VPMOVSXBW 48(DX), Y9
	PAIR(4(SI), Y2, Y3)
	ADDQ      $8, SI
	ADDQ      $64, DX
	DECQ      CX
	JNZ       loop

	VPADDD       Y2, Y0, Y0
	VPADDD       Y3, Y1, Y1
	MOVQ         y+0(FP), DI
	MOVQ         step+16(FP), R8
	MOVQ         scale+32(FP), AX
	MOVQ         bias+40(FP), BX
	VMOVUPS      (AX), Y8
	VMOVUPS      32(AX), Y9
	VMOVUPS      (BX), Y10
	VMOVUPS      32(BX), Y11
	VBROADCASTSS floor+48(FP), Y12
	STORE((R8), Y0, Y1)
	VZEROUPPER
	RET
