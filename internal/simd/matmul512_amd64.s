//go:build !purego

#include "textflag.h"

// The pair of numbers at mem of one row of x times the pairs of two panels, in
// Z8 and Z9, added to the sums a and b.
#define PAIR(mem, a, b) \
	VPBROADCASTD mem, Z10    \
	VPDPWSSD     Z8, Z10, a  \
	VPDPWSSD     Z9, Z10, b

// As in matmul_amd64.s. Z8, Z9: column scales; Z10, Z11: offsets; Z12: floor.
#define STORE(step, a, b) \
	VBROADCASTSS step, Z13   \
	VCVTDQ2PS    a, a        \
	VCVTDQ2PS    b, b        \
	VMULPS       Z8, a, a    \
	VMULPS       Z9, b, b    \
	VMULPS       Z13, a, a   \
	VMULPS       Z13, b, b   \
	VADDPS       Z10, a, a   \
	VADDPS       Z11, b, b   \
	VMAXPS       Z12, a, a   \
	VMAXPS       Z12, b, b   \
	VMOVUPS      a, (DI)     \
	VMOVUPS      b, 64(DI)

// func mul4AVX512(y *float32, x *int16, step *float32, w *int8, scale, bias *float32, floor float32, k, n int)
TEXT ·mul4AVX512(SB), NOSPLIT, $0-72
	MOVQ x+8(FP), SI
	MOVQ w+24(FP), DX
	MOVQ k+56(FP), CX
	LEAQ (CX)(CX*1), R9  // bytes of a row of x
	LEAQ (R9)(R9*2), R10
	MOVQ CX, R11
	SHLQ $4, R11         // bytes of a panel
	SHRQ $1, CX

	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7

loop:
	VPMOVSXBW (DX), Z8
	VPMOVSXBW (DX)(R11*1), Z9
	PAIR((SI), Z0, Z1)
	PAIR((SI)(R9*1), Z2, Z3)
	PAIR((SI)(R9*2), Z4, Z5)
	PAIR((SI)(R10*1), Z6, Z7)
	ADDQ      $4, SI
	ADDQ      $32, DX
	DECQ      CX
	JNZ       loop

	MOVQ         y+0(FP), DI
	MOVQ         step+16(FP), R8
	MOVQ         scale+32(FP), AX
	MOVQ         bias+40(FP), BX
	MOVQ         n+64(FP), R9
	SHLQ         $2, R9
	VMOVUPS      (AX), Z8
	VMOVUPS      64(AX), Z9
	VMOVUPS      (BX), Z10
	VMOVUPS      64(BX), Z11
	VBROADCASTSS floor+48(FP), Z12
	STORE((R8), Z0, Z1)
	ADDQ         R9, DI
	STORE(4(R8), Z2, Z3)
	ADDQ         R9, DI
	STORE(8(R8), Z4, Z5)
	ADDQ         R9, DI
	STORE(12(R8), Z6, Z7)
	VZEROUPPER
	RET

// func mul1AVX512(y *float32, x *int16, step *float32, w *int8, scale, bias *float32, floor float32, k int)
TEXT ·mul1AVX512(SB), NOSPLIT, $0-64
	MOVQ x+8(FP), SI
	MOVQ w+24(FP), DX
	MOVQ k+56(FP), CX
	MOVQ CX, R11
	SHLQ $4, R11
	SHRQ $2, CX

	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3

loop:
	VPMOVSXBW (DX), Z8
	VPMOVSXBW (DX)(R11*1), Z9
	PAIR((SI), Z0, Z1)
	VPMOVSXBW 32(DX), Z8
	VPMOVSXBW 32(DX)(R11*1), Z9
	PAIR(4(SI), Z2, Z3)
	ADDQ      $8, SI
	ADDQ      $64, DX
	DECQ      CX
	JNZ       loop

	VPADDD       Z2, Z0, Z0
	VPADDD       Z3, Z1, Z1
	MOVQ         y+0(FP), DI
	MOVQ         step+16(FP), R8
	MOVQ         scale+32(FP), AX
	MOVQ         bias+40(FP), BX
	VMOVUPS      (AX), Z8
	VMOVUPS      64(AX), Z9
	VMOVUPS      (BX), Z10
	VMOVUPS      64(BX), Z11
	VBROADCASTSS floor+48(FP), Z12
	STORE((R8), Z0, Z1)
	VZEROUPPER
	RET
