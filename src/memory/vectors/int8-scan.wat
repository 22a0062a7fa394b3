;; int8-scan.wat -- finds the rows of one block whose scaled dot product with a query reaches a floor.
;;
;; A row has `stride` signed bytes, a multiple of 16; rows follow each other from `row`, their scales (f32) from `scale`.
;; The query has `stride` bytes of 1 to 127: its components (within +-63) plus 64. Four rows are compared at a time, so rows
;; and scales must be readable up to the next multiple of four. Each hit is written to `hit` as its number in the block
;; (i32) and its score (f32); the 16 bytes before `hit` are overwritten. Returns the address after the last hit.
;;
;; Relaxed products of signed and 7-bit bytes are the same on every processor: no sum of two exceeds 16 bits. All sums stay
;; below 2^31 for a stride of at most 8192. int8-scan.ts holds the assembled bytes.
(module
  (import "scan" "memory" (memory 1))
  (func (export "scan")
    (param $query i32) (param $row i32) (param $stride i32) (param $count i32)
    (param $scale i32) (param $floor f32) (param $hit i32) (result i32)
    (local $number i32) (local $rowEnd i32) (local $at i32) (local $found i32) (local $lanes i32)
    (local $second i32) (local $third i32) (local $fourth i32)
    (local $part v128) (local $bytes v128)
    (local $sum1 v128) (local $sum2 v128) (local $sum3 v128) (local $sum4 v128)
    (local $shift1 v128) (local $shift2 v128) (local $shift3 v128) (local $shift4 v128)
    (local.set $lanes (i32.sub (local.get $hit) (i32.const 16)))
    (block $done
      (loop $nextFour
        (br_if $done (i32.ge_u (local.get $number) (local.get $count)))
        (local.set $sum1 (v128.const i32x4 0 0 0 0))
        (local.set $sum2 (v128.const i32x4 0 0 0 0))
        (local.set $sum3 (v128.const i32x4 0 0 0 0))
        (local.set $sum4 (v128.const i32x4 0 0 0 0))
        (local.set $shift1 (v128.const i32x4 0 0 0 0))
        (local.set $shift2 (v128.const i32x4 0 0 0 0))
        (local.set $shift3 (v128.const i32x4 0 0 0 0))
        (local.set $shift4 (v128.const i32x4 0 0 0 0))
        (local.set $at (local.get $query))
        (local.set $rowEnd (i32.add (local.get $row) (local.get $stride)))
        (local.set $second (local.get $rowEnd))
        (local.set $third (i32.add (local.get $second) (local.get $stride)))
        (local.set $fourth (i32.add (local.get $third) (local.get $stride)))
        (loop $nextSixteen
          (local.set $part (v128.load (local.get $at)))
          (local.set $bytes (v128.load (local.get $row)))
          (local.set $sum1
            (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get $bytes) (local.get $part) (local.get $sum1)))
          (local.set $shift1
            (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get $bytes)
              (v128.const i32x4 0x40404040 0x40404040 0x40404040 0x40404040) (local.get $shift1)))
          (local.set $bytes (v128.load (local.get $second)))
          (local.set $sum2
            (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get $bytes) (local.get $part) (local.get $sum2)))
          (local.set $shift2
            (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get $bytes)
              (v128.const i32x4 0x40404040 0x40404040 0x40404040 0x40404040) (local.get $shift2)))
          (local.set $bytes (v128.load (local.get $third)))
          (local.set $sum3
            (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get $bytes) (local.get $part) (local.get $sum3)))
          (local.set $shift3
            (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get $bytes)
              (v128.const i32x4 0x40404040 0x40404040 0x40404040 0x40404040) (local.get $shift3)))
          (local.set $bytes (v128.load (local.get $fourth)))
          (local.set $sum4
            (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get $bytes) (local.get $part) (local.get $sum4)))
          (local.set $shift4
            (i32x4.relaxed_dot_i8x16_i7x16_add_s (local.get $bytes)
              (v128.const i32x4 0x40404040 0x40404040 0x40404040 0x40404040) (local.get $shift4)))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (local.set $row (i32.add (local.get $row) (i32.const 16)))
          (local.set $second (i32.add (local.get $second) (i32.const 16)))
          (local.set $third (i32.add (local.get $third) (i32.const 16)))
          (local.set $fourth (i32.add (local.get $fourth) (i32.const 16)))
          (br_if $nextSixteen (i32.lt_u (local.get $row) (local.get $rowEnd))))
        (local.set $row (local.get $fourth))
        (local.set $sum1 (i32x4.sub (local.get $sum1) (local.get $shift1)))
        (local.set $sum2 (i32x4.sub (local.get $sum2) (local.get $shift2)))
        (local.set $sum3 (i32x4.sub (local.get $sum3) (local.get $shift3)))
        (local.set $sum4 (i32x4.sub (local.get $sum4) (local.get $shift4)))
        ;; Adds the four lanes of each sum: first halves, then lanes.
        (local.set $sum1
          (i32x4.add
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $sum1) (local.get $sum2))
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $sum1) (local.get $sum2))))
        (local.set $sum3
          (i32x4.add
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $sum3) (local.get $sum4))
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $sum3) (local.get $sum4))))
        (local.set $sum1
          (i32x4.add
            (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27 (local.get $sum1) (local.get $sum3))
            (i8x16.shuffle 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31 (local.get $sum1) (local.get $sum3))))
        (local.set $sum1 (f32x4.mul (f32x4.convert_i32x4_s (local.get $sum1)) (v128.load (local.get $scale))))
        (local.set $scale (i32.add (local.get $scale) (i32.const 16)))
        (local.set $found (i32x4.bitmask (f32x4.ge (local.get $sum1) (f32x4.splat (local.get $floor)))))
        (if (local.get $found)
          (then
            (v128.store (local.get $lanes) (local.get $sum1))
            (loop $nextHit
              (local.set $at (i32.ctz (local.get $found)))
              (i32.store (local.get $hit) (i32.add (local.get $number) (local.get $at)))
              (f32.store offset=4 (local.get $hit)
                (f32.load (i32.add (local.get $lanes) (i32.shl (local.get $at) (i32.const 2)))))
              (if (i32.lt_u (i32.add (local.get $number) (local.get $at)) (local.get $count))
                (then (local.set $hit (i32.add (local.get $hit) (i32.const 8)))))
              (local.set $found (i32.and (local.get $found) (i32.sub (local.get $found) (i32.const 1))))
              (br_if $nextHit (local.get $found)))))
        (local.set $number (i32.add (local.get $number) (i32.const 4)))
        (br $nextFour)))
    (local.get $hit)))
